import { assert } from "../base/assert.js";
import { TrawlError } from "../base/errors.js";
import type { HistoryShardRecord } from "../model/history-record.js";
import type { ShardRecord, SymbolRecord } from "../model/shard-record.js";
import { isObjectHash, type ObjectKind, type ObjectName } from "../objects/object-store.js";
import type { ObjectSettings } from "../objects/open-objects.js";
import type { IngestPool } from "../pool/ingest-pool.js";
import type { SharedShard } from "./partition-records.js";
import { type NamedRecord, type NodeShards, symbolsIn } from "./shared-manifest.js";

export interface ObjectTaskServices {
  readonly pool: Pick<IngestPool, "storeObject" | "bringObject">;
  readonly objects: ObjectSettings;
  /** Word 0: the next free shard id, shared with the workers. */
  readonly shardIds: Int32Array;
  readonly stop: Int32Array;
  /** Deletes stored shards that are not live. */
  readonly retire: (shardIds: readonly number[]) => void;
}

/** Shards between the store of this node and the objects of the fleet; ingest workers copy them. */
export class ObjectShards implements NodeShards {
  readonly #services: ObjectTaskServices;
  /** Hashes of what was stored as objects and is not live yet, by kind and id of the shard. */
  readonly #stored = new Map<string, string>();
  /** Shards that were brought for a change that could not be made, and the objects of their symbols: the next attempt finds them. */
  readonly #brought = new Map<string, { readonly id: number; symbols: string | undefined }>();

  constructor(services: ObjectTaskServices) {
    this.#services = services;
  }

  async store<Kept extends ShardRecord | HistoryShardRecord>(record: Kept, kind: SharedShard["kind"]): Promise<Kept> {
    const object = await this.#storeOne(objectKind(kind), record);
    const symbols = symbolsIn(record);
    if (symbols === undefined) return { ...record, object };
    return { ...record, object, symbols: await this.storeSymbols(record.id, symbols) };
  }

  async storeSymbols(id: number, record: SymbolRecord): Promise<SymbolRecord> {
    return {
      ...record,
      object: await this.#storeOne("symbols", { ...record, id }),
    };
  }

  async #storeOne(
    value: ObjectKind,
    { id, checksum, storedBytes, object }: Pick<ShardRecord, "id" | "checksum" | "storedBytes" | "object">,
  ): Promise<string> {
    // The task that has written it has stored it, too.
    if (object !== undefined) return object;
    const key = `${value} ${id} ${checksum}`;
    const known = this.#stored.get(key);
    if (known !== undefined) return known;
    const { pool, objects, stop } = this.#services;
    const { hash, byteCount } = await pool.storeObject({
      kind: "store-object",
      objects,
      value,
      shard: { id, checksum },
      stop,
    });
    assert(byteCount === storedBytes, "a stored value is as long as its record says");
    if (this.#stored.size >= storedMax) this.#stored.clear();
    this.#stored.set(key, hash);
    return hash;
  }

  async bring(name: string, record: NamedRecord, kind: SharedShard["kind"]): Promise<number> {
    const symbols = symbolsIn(record);
    const known = this.#brought.get(name);
    if (known !== undefined) {
      // They may have been extracted since the last attempt.
      if (symbols !== undefined && symbols.object !== known.symbols) await this.bringSymbols(known.id, symbols);
      known.symbols = symbols?.object;
      return known.id;
    }
    const { shardIds, retire } = this.#services;
    const id = Atomics.add(shardIds, 0, 1) >>> 0;
    try {
      await this.#bringWhole(id, record, kind);
    } catch (error) {
      retire([id]);
      throw error;
    }
    this.#brought.set(name, { id, symbols: symbols?.object });
    return id;
  }

  /** Writes a live shard that was damaged again, with its symbols, under the id that it has. */
  restore(record: ShardRecord | HistoryShardRecord, kind: SharedShard["kind"]): Promise<void> {
    return this.#bringWhole(record.id, record, kind);
  }

  async #bringWhole(id: number, record: NamedRecord, kind: SharedShard["kind"]): Promise<void> {
    await this.#bringOne(objectName(objectKind(kind), record), { id, checksum: record.checksum });
    const symbols = symbolsIn(record);
    if (symbols !== undefined) await this.bringSymbols(id, symbols);
  }

  bringSymbols(id: number, record: SymbolRecord): Promise<void> {
    return this.#bringOne(objectName("symbols", record), { id, checksum: record.checksum });
  }

  #bringOne(name: ObjectName, shard: { readonly id: number; readonly checksum: number | undefined }): Promise<void> {
    const { pool, objects, stop } = this.#services;
    return pool.bringObject({ kind: "bring-object", objects, name, shard, stop });
  }

  keep(names: Iterable<string>): void {
    for (const name of names) this.#brought.delete(name);
    // What is left was for a change that is not made any more, because the database has another one.
    const left = [...this.#brought.values()];
    this.#brought.clear();
    this.#services.retire(left.map(({ id }) => id));
  }
}

/** Values that are stored for changes that are never made are forgotten. */
const storedMax = 10_000;

function objectKind(kind: SharedShard["kind"]): ObjectKind {
  return kind === "text" ? "shard" : "history";
}

function objectName(
  kind: ObjectKind,
  { object, storedBytes }: { readonly object?: string | undefined; readonly storedBytes: number },
): ObjectName {
  if (!isObjectHash(object))
    throw new TrawlError("storage", `the manifest has a ${kind} without the hash of its bytes`);
  return { kind, hash: object, byteCount: storedBytes };
}
