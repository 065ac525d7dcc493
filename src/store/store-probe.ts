/**
 * Reads whole stores, and exits with 0 if that was possible. It runs in a separate process, because LMDB trusts the
 * pages that it maps: a damaged page may crash the reader.
 *
 * Arguments: the id of the process that waits for the result; then for each store `records` or `shards`, the folder, and
 * `look`, `rewrite` or `upgrade`. The latter two modes apply to records, which are then written to a new file that replaces
 * the old one. Standard output: `startedLine`, then for each store `ProbeResult` as a line of JSON, and at last all results as
 * a line. Without that one, the output says how far the last store came.
 */
import { mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { ABORT, open, type RootDatabase } from "lmdb";
import { errorMessage } from "../base/errors.js";
import { isRefusal } from "../base/refusal.js";
import {
  interrupted,
  refusedCode,
  startedLine,
  unfinishedFolder,
  type ProbedStore,
  type ProbeResult,
} from "./probe-result.js";
import {
  digestKey,
  digestWith,
  emptyDigest,
  sealed,
  sealedDigest,
  unsealed,
  unsealedDigest,
  type Digest,
} from "./record-format.js";
import { syncToDisk } from "../base/sync-to-disk.js";
import { shardMapBytes } from "./shard-store.js";

const [parentId, ...described] = process.argv.slice(2);

/**
 * Values above this size are views over the map: only their first and last bytes are read, which detects truncation.
 */
const viewBytesMin = 16 * 1024 * 1024;

interface ReadRecords {
  readonly count: number;
  /** As they will be stored, without their digest. */
  readonly stored: ReadonlyMap<string, Buffer>;
  readonly digest: Digest;
}

/**
 * Throws if the checksum of a record is wrong or records are missing; `upgrade` accepts records of version 1, which
 * have no checksums.
 */
function readRecords(root: RootDatabase<Buffer, string>, mode: ProbedStore["mode"]): ReadRecords {
  const records = root.openDB<Buffer, string>({ name: "records", encoding: "binary" });
  const sum = records.get(digestKey);
  const isSealed = sum !== undefined || mode !== "upgrade";
  const stored = new Map<string, Buffer>();
  let digest = emptyDigest;
  for (const { key, value } of records.getRange()) {
    if (key === digestKey) continue;
    if (isSealed) unsealed(key, value);
    else requireDecodable(key, value);
    const bytes = isSealed ? value : sealed(key, value);
    stored.set(key, bytes);
    digest = digestWith(digest, bytes, 1);
  }
  const expected = sum === undefined ? emptyDigest : unsealedDigest(sum);
  if (isSealed && (digest.count !== expected.count || digest.sum !== expected.sum)) {
    throw new RangeError(`it has ${digest.count} records instead of the ${expected.count} that were last written`);
  }
  return { count: digest.count, stored, digest };
}

/** The remains of a truncated or overwritten page are seldom valid JSON. */
function requireDecodable(key: string, value: Buffer): void {
  if (!key.startsWith("tombstones/")) JSON.parse(value.toString());
}

/**
 * Writes the records to a new file, which contains none of the deleted or overwritten data, and replaces the old file
 * with it. A crash leaves one or the other.
 */
async function rewrite(folder: string, { stored, digest }: ReadRecords): Promise<void> {
  const target = join(folder, unfinishedFolder);
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { mode: 0o700 });
  try {
    const root = open<Buffer, string>({ path: target, maxDbs: 2, encoding: "binary" });
    const records = root.openDB<Buffer, string>({ name: "records", encoding: "binary" });
    records.transactionSync(() => {
      for (const [key, bytes] of stored) void records.put(key, bytes);
      if (stored.size > 0) void records.put(digestKey, sealedDigest(digest));
    });
    await root.flushed;
    await root.close();
    await syncToDisk([join(target, "data.mdb")]);
    requireParent();
    renameSync(join(target, "data.mdb"), join(folder, "data.mdb"));
    await syncToDisk([folder]);
  } finally {
    rmSync(target, { recursive: true, force: true });
  }
}

/**
 * Throws if the daemon has exited in the meantime: another one may have opened the store by now, and would continue to
 * write to a file that no longer has a name.
 */
function requireParent(): void {
  if (process.ppid !== Number(parentId)) throw new RangeError("the requesting process has exited");
}

function countShards(root: RootDatabase<Buffer, string>): number {
  const shards = root.openDB<Buffer, number>({ name: "shards", encoding: "binary", keyEncoding: "uint32" });
  let count = 0;
  for (const id of shards.getKeys()) {
    const bytes = shards.getBinaryFast(id);
    if (bytes === undefined) throw new RangeError(`shard ${id} has a key but no value`);
    if (bytes.length < viewBytesMin) checksum(bytes);
    else checksum(Buffer.from([bytes[0], bytes[bytes.length - 1]]));
    count++;
  }
  readSymbols(root);
  return count;
}

/** The symbols of shards, which stores of older programs do not have. */
function readSymbols(root: RootDatabase<Buffer, string>): void {
  if (![...root.getKeys()].map(String).includes("symbols")) return;
  const symbols = root.openDB<Buffer, number>({ name: "symbols", encoding: "binary", keyEncoding: "uint32" });
  for (const id of symbols.getKeys()) checksum(symbols.getBinaryFast(id) ?? Buffer.alloc(0));
}

/** Reads every byte. */
function checksum(bytes: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < bytes.length; i += 64) sum += bytes[i];
  return sum;
}

/**
 * Limit on the size of the trial write: larger than most runs of free pages, so that many of LMDB's free-page records are
 * read. No run is larger than the file, and a write costs twice its size in new memory.
 */
const trialBytesMax = { shards: 64 * 1024 * 1024, records: 1024 * 1024 } as const;

/**
 * Writes to the store as its owner would, and deletes what it wrote: LMDB aborts the process if its free-page records
 * are damaged, and nothing else reads them. A store that cannot be opened for writing would not crash its owner in this
 * way.
 */
async function tryToWrite({ kind, folder }: ProbedStore): Promise<void> {
  const writable = openForTrial(folder);
  if (writable === undefined) return;
  const trialBytes = Math.min(trialBytesMax[kind], statSync(join(folder, "data.mdb")).size);
  writable.transactionSync(() => {
    void writable.put("trial", Buffer.alloc(trialBytes));
    return ABORT;
  });
  await writable.close();
}

function openForTrial(path: string): RootDatabase<Buffer, string> | undefined {
  try {
    return open<Buffer, string>({ path, maxDbs: 2, maxReaders: 512, mapSize: shardMapBytes(path), encoding: "binary" });
  } catch {
    return undefined;
  }
}

/** Returns why the store was not rewritten; undefined if it was, or should not be. A full disk is not damage. */
async function tryToRewrite({ folder, mode }: ProbedStore, read: ReadRecords | undefined): Promise<string | undefined> {
  try {
    if (read !== undefined && mode !== "look") await rewrite(folder, read);
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

/**
 * After a power loss the newest transaction may have pages that never came to the disk. LMDB then goes back to the last
 * one that was synced, but only where the store is opened for writing and nobody else has it open.
 */
async function goBackToSynced(path: string): Promise<void> {
  await openForTrial(path)?.close();
}

async function probe(store: ProbedStore): Promise<ProbeResult> {
  const { kind, folder, mode } = store;
  await goBackToSynced(folder);
  const root = open<Buffer, string>({ path: folder, maxDbs: 2, maxReaders: 512, encoding: "binary", readOnly: true });
  const read = kind === "records" ? readRecords(root, mode) : undefined;
  const count = read?.count ?? countShards(root);
  await root.close();
  // LMDB may end this process where a new file meets a full disk, which says nothing of what was read.
  if (mode !== "look")
    process.stdout.write(`${JSON.stringify({ count, unwritten: interrupted } satisfies ProbeResult)}\n`);
  const unwritten = await tryToRewrite(store, read);
  if (mode !== "look") process.stdout.write("\n");
  if (mode === "look" || unwritten !== undefined) await tryToWrite(store);
  return { count, unwritten };
}

async function run(): Promise<void> {
  // LMDB never completes a write that it could not start; Node then finds nothing to wait for, and exits.
  process.exitCode = 1;
  // From here on, a crash may be due to the store.
  process.stdout.write(`${startedLine}\n`);
  try {
    const results: ProbeResult[] = [];
    for (let at = 0; at < described.length; at += 3) {
      const [kind, folder, mode] = described.slice(at, at + 3);
      const result = await probe({ kind, folder, mode } as ProbedStore);
      process.stdout.write(`${JSON.stringify(result)}\n`);
      results.push(result);
    }
    process.stdout.write(`${JSON.stringify(results)}\n`);
    process.exitCode = 0;
  } catch (error) {
    process.stderr.write(`${errorMessage(error)}\n`);
    if (isRefusal(error)) process.exitCode = refusedCode;
  }
}

void run();
