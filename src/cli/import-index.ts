import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { TrawlError } from "../base/errors.js";
import { resultWhileYielding } from "../base/yielding.js";
import { writeHistoryShard, writePosition, writeShard } from "../catalog/catalog-records.js";
import { Catalog } from "../catalog/catalog.js";
import { HistoryReader } from "../history/history-reader.js";
import type { HistoryShardRecord } from "../model/history-record.js";
import type { ShardRecord } from "../model/shard-record.js";
import { hashObject, type ObjectKind, type Objects } from "../objects/object-store.js";
import { ShardReader } from "../shard/shard-reader.js";
import { SymbolReader } from "../shard/symbols/symbol-reader.js";
import { inspectStore } from "../store/inspect-store.js";
import { RecordStore } from "../store/record-store.js";
import type { RecordChange } from "../store/records.js";
import { ShardStore } from "../store/shard-store.js";
import { withoutDaemon } from "./check/offline-check.js";

/** Records that are written in one transaction. */
const recordsAtOnce = 500;

/** Progress is told after so many shards. */
const toldShards = 50;

const remedy = "start the daemon without fleet.database first, which builds it again";

const neverStops = (): boolean => false;

/**
 * Stores everything that the catalog of a data directory names as objects, and their hashes in its records; then calls `work` with the
 * catalog. Nothing else in the directory changes, so that a single host can go on with it. What an earlier attempt has stored is read and
 * compared, and not stored again.
 *
 * Throws `conflict` if a daemon runs or there is no index, `not-found` or `format-version` for a directory that this program does not support, and
 * `corrupt-shard` for what it has lost.
 */
export async function withStoredIndex<T>(
  dataFolder: string,
  objects: Objects,
  tell: (line: string) => void,
  work: (catalog: Catalog) => Promise<T>,
): Promise<T> {
  if (!existsSync(join(dataFolder, "version")))
    throw new TrawlError("not-found", `${dataFolder} is not a data directory of trawld: there is nothing to import`);
  return await withoutDaemon(dataFolder, async () => {
    for (const [kind, name] of [
      ["records", "catalog"],
      ["shards", "shards"],
    ] as const) {
      const state = await inspectStore(kind, join(dataFolder, name));
      if (state.kind === "damaged" || state.kind === "absent")
        throw new TrawlError(
          "conflict",
          `${join(dataFolder, name)} is ${state.kind}: start the daemon without fleet.database first, which repairs it`,
        );
    }
    const records = new RecordStore(join(dataFolder, "catalog"));
    try {
      await storeIndex(dataFolder, records, await load(records), objects, tell);
      return await work(await load(records));
    } finally {
      await records.close();
    }
  });
}

async function load(records: RecordStore): Promise<Catalog> {
  const catalog = new Catalog(records);
  await resultWhileYielding(catalog.load());
  return catalog;
}

async function storeIndex(
  dataFolder: string,
  records: RecordStore,
  catalog: Catalog,
  objects: Objects,
  tell: (line: string) => void,
): Promise<void> {
  const all = [...catalog.shards().map(({ record }) => record), ...catalog.historyShards()];
  if (all.length === 0) throw new TrawlError("conflict", `${dataFolder} has no index: there is nothing to import`);
  const shards = new ShardStore(join(dataFolder, "shards"));
  try {
    let changes: RecordChange[] = [];
    let byteCount = 0;
    for (const [i, record] of all.entries()) {
      const stored = await storeShard(shards, objects, record);
      byteCount += record.storedBytes;
      changes.push("repositoryId" in stored ? writeHistoryShard(stored) : writeShard(stored));
      if (changes.length >= recordsAtOnce) {
        await records.apply(changes);
        changes = [];
      }
      if ((i + 1) % toldShards === 0 || i + 1 === all.length)
        tell(`stored ${i + 1} of ${all.length} shards, ${Math.ceil(byteCount / 2 ** 20)} MiB`);
    }
    // Nodes that begin with nothing read the manifest as it is, and not its first flip, which is that of another index.
    const { version, flipId } = catalog.position;
    if (version < 2 || flipId === "")
      changes.push(writePosition(0, { version: Math.max(2, version), flipId: randomUUID() }));
    await records.apply(changes);
  } finally {
    await shards.close();
  }
}

/** Verifies a shard and its symbols, and stores them as objects; resolves with its record, in which their names are. */
async function storeShard(
  store: ShardStore,
  objects: Objects,
  record: ShardRecord | HistoryShardRecord,
): Promise<ShardRecord | HistoryShardRecord> {
  const { id, checksum, storedBytes } = record;
  const bytes = readCopy(store, id, false);
  if ("repositoryId" in record) {
    const history = new HistoryReader(id, bytes);
    history.requireChecksum(checksum);
    history.verify("index");
    history.verify("text");
    return { ...record, object: await storeValue(objects, "history", id, bytes, storedBytes) };
  }
  const shard = new ShardReader(id, bytes);
  shard.requireChecksum(checksum);
  shard.verify("index");
  shard.verify("content");
  const object = await storeValue(objects, "shard", id, bytes, storedBytes);
  const { symbols } = record;
  if (symbols === undefined) return { ...record, object };
  const symbolBytes = readCopy(store, id, true);
  if (new SymbolReader(shard, symbolBytes).checksum !== symbols.checksum)
    throw new TrawlError("corrupt-shard", `the symbols of shard ${id} are not those of its record: ${remedy}`);
  const symbolObject = await storeValue(objects, "symbols", id, symbolBytes, symbols.storedBytes);
  return { ...record, object, symbols: { ...symbols, object: symbolObject } };
}

function readCopy(store: ShardStore, id: number, areSymbols: boolean): Buffer {
  const snapshot = store.read();
  try {
    const bytes = areSymbols ? snapshot.symbols(id) : snapshot.get(id);
    if (bytes === undefined)
      throw new TrawlError(
        "corrupt-shard",
        `${areSymbols ? "the symbols of shard" : "shard"} ${id} cannot be found: ${remedy}`,
      );
    return Buffer.from(bytes);
  } finally {
    snapshot.close();
  }
}

/** A store that confirms bytes and loses them is found out now, while the directory is that of a single host. */
async function storeValue(
  objects: Objects,
  kind: ObjectKind,
  id: number,
  bytes: Buffer,
  storedBytes: number,
): Promise<string> {
  if (bytes.length !== storedBytes)
    throw new TrawlError("corrupt-shard", `shard ${id} has ${bytes.length} bytes, and ${storedBytes} in its record`);
  const name = hashObject(kind, bytes);
  if (await objects.put(name, bytes, neverStops)) await objects.get(name, neverStops);
  return name.hash;
}
