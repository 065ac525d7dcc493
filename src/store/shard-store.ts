import { statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { open, type Database, type RootDatabase, type Transaction } from "lmdb";
import { TrawlError, errorMessage } from "../base/errors.js";
import { isRefusal, requireAddressSpace, withLimit } from "../base/refusal.js";
import { resultAtOnce } from "../base/yielding.js";
import { readFailure, writeFailure, StoreGuard } from "./store-guard.js";

/** Bounds of the address space that is reserved for the map of the shards. */
const mapBytesMin = 2 ** 40;
/** Processors with addresses of 48 bits have 128 TiB for a process, of which more than half is never free in one piece. */
const mapBytesMax = 2 ** 46;

/** Reserved space on a full disk, because records and logs are written to it as well. */
const roomLeftBytes = 4 * 1024 * 1024;

/** Ids read per step: half a millisecond. */
const idsOfStep = 512;

/**
 * Address space for the map of a store in this folder: at least twice what its disk can hold, because a disk may be extended
 * while it is in use. It takes no memory, and the file grows only as needed.
 */
export function shardMapBytes(folder: string): number {
  const { blocks = 0, bsize = 0 } = attempt(() => statfsSync(folder)) ?? {};
  const { size = 0 } = attempt(() => statSync(join(folder, "data.mdb"))) ?? {};
  let bytes = mapBytesMin;
  while (bytes < Math.min(mapBytesMax, 2 * Math.max(blocks * bsize, size))) bytes *= 2;
  return bytes;
}

/** Undefined if the folder or file does not exist yet. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** A shard or its symbols, and the id of the shard. */
export interface StoredValue {
  readonly id: number;
  readonly bytes: Buffer;
}

/**
 * The LMDB environment of the shards and their symbols, one value each, keyed by the id of the shard. All threads of the process share one environment;
 * each thread opens it separately.
 */
export class ShardStore {
  readonly #folder: string;
  readonly #root: RootDatabase<Buffer, number>;
  readonly #shards: Database<Buffer, number>;
  readonly #symbols: Database<Buffer, number>;
  readonly guard: StoreGuard;

  constructor(folder: string) {
    this.#folder = folder;
    const mapBytes = shardMapBytes(folder);
    requireAddressSpace(`cannot open the shard store ${folder}`, mapBytes);
    try {
      this.#root = open({ path: folder, mapSize: mapBytes, maxDbs: 2, maxReaders: 512, encoding: "binary" });
      this.#shards = this.#root.openDB({ name: "shards", encoding: "binary", keyEncoding: "uint32" });
      this.#symbols = this.#root.openDB({ name: "symbols", encoding: "binary", keyEncoding: "uint32" });
      this.guard = new StoreGuard("the shard store", folder);
    } catch (error) {
      throw new TrawlError("storage", withLimit(`cannot open the shard store ${folder}: ${errorMessage(error)}`), {
        cause: error,
      });
    }
  }

  /**
   * Writes shards durably, all of them or none; blocks this thread until they are durable. Throws `storage` if the disk
   * is full or a write fails, in which case nothing has changed.
   */
  async put(shards: readonly StoredValue[]): Promise<void> {
    await this.#put(this.#shards, shards);
  }

  /** Like `put`, for the symbols of shards, under the ids of their shards. */
  async putSymbols(symbols: readonly StoredValue[]): Promise<void> {
    await this.#put(this.#symbols, symbols);
  }

  async #put(database: Database<Buffer, number>, values: readonly StoredValue[]): Promise<void> {
    this.guard.requireWhole();
    this.#requireRoom(values.reduce((sum, { bytes }) => sum + bytes.length, 0));
    try {
      this.#root.transactionSync(() => {
        for (const { id, bytes } of values) database.putSync(id, bytes);
      });
      await this.#flushed();
      this.guard.recordGrowth();
    } catch (error) {
      throw writeFailure("cannot write shards", error, () => this.read().close());
    }
  }

  /**
   * LMDB does not report errors of its last page write, which records for the next boot that everything before it is
   * durable: it fails the next operation instead.
   */
  async #flushed(): Promise<void> {
    await this.#root.flushed;
    this.read().close();
  }

  /**
   * If LMDB extended the file until the disk was full, the file would stay that large and leave no space for anything
   * else.
   */
  #requireRoom(byteCount: number): void {
    const { bavail, bsize } = statfsSync(this.#folder);
    const room = bavail * bsize - roomLeftBytes;
    if (byteCount <= room) return;
    const mebibytes = (bytes: number): string => `${Math.ceil(Math.max(0, bytes) / 2 ** 20)} MiB`;
    throw new TrawlError(
      "storage",
      `cannot write shards: no space left on the disk of ${this.#folder}: ${mebibytes(byteCount)} are needed, ${mebibytes(room)} are available`,
    );
  }

  /** Deletes shards and their symbols; unknown ids are ignored. */
  async remove(ids: readonly number[]): Promise<void> {
    this.guard.requireWhole();
    try {
      this.#root.transactionSync(() => {
        for (const id of ids) {
          this.#shards.removeSync(id);
          this.#symbols.removeSync(id);
        }
      });
      await this.#flushed();
    } catch (error) {
      throw writeFailure("cannot delete shards", error, () => this.read().close());
    }
  }

  ids(): number[] {
    return resultAtOnce(this.idsInSteps());
  }

  /** The ids of all shards, and of shards of which only symbols are left, in steps. */
  *idsInSteps(): Generator<void, number[]> {
    const ids = yield* readIds(this.#shards);
    const known = new Set(ids);
    for (const id of yield* readIds(this.#symbols)) if (!known.has(id)) ids.push(id);
    return ids;
  }

  /**
   * Starts a snapshot. While it is open, pages freed by later deletions are not reused: keep it short. Throws
   * `store-lost` after a write with an unknown outcome, in any thread.
   */
  read(): ShardSnapshot {
    return new ShardSnapshot(this.#shards, this.#symbols, this.guard);
  }

  async close(): Promise<void> {
    await this.#root.close();
  }
}

/**
 * One read transaction over the shards. `scripts/patch-lmdb.sh` makes LMDB return a view over its map for values of 32 KiB
 * or more; a smaller one is copied into a buffer that the next read overwrites.
 *
 * Contract: bytes that `get` returns are valid until the next `get` or `close` of any snapshot in this thread,
 * whichever comes first. They are read-only: writing to them crashes the process. They must not be posted to another
 * thread or cloned, because that would copy the whole map.
 */
export class ShardSnapshot {
  readonly #shards: Database<Buffer, number>;
  readonly #symbols: Database<Buffer, number>;
  readonly #guard: StoreGuard;
  #transaction: Transaction | undefined;

  constructor(shards: Database<Buffer, number>, symbols: Database<Buffer, number>, guard: StoreGuard) {
    this.#shards = shards;
    this.#symbols = symbols;
    this.#guard = guard;
    try {
      // Without the reset, a thread that does not get to its timers would continue to use an older snapshot.
      shards.resetReadTxn();
      this.#transaction = shards.useReadTransaction();
    } catch (error) {
      throw readFailure("cannot read shards", error);
    }
  }

  /** Throws `corrupt-shard` if LMDB cannot find it because of damage. */
  get(id: number): Buffer | undefined {
    return this.#get(this.#shards, id);
  }

  /** Like `get`, for the symbols of the shard; a copy, which stays valid. */
  symbols(id: number): Buffer | undefined {
    const found = this.#get(this.#symbols, id);
    return found === undefined ? undefined : Buffer.from(found);
  }

  /**
   * Like `symbols`, without copying: the bytes are part of LMDB's map and valid until `close`, also after other reads. Only
   * those of few symbols are a copy, which stays valid.
   */
  symbolsInPlace(id: number): { readonly bytes: Buffer; readonly isCopy: boolean } | undefined {
    const found = this.#get(this.#symbols, id);
    if (found === undefined) return undefined;
    const isCopy = !isMapped(found);
    return { bytes: isCopy ? Buffer.from(found) : found, isCopy };
  }

  #get(database: BinaryValues, id: number): Buffer | undefined {
    if (this.#transaction === undefined) throw new TrawlError("internal", "read from a closed shard snapshot");
    // LMDB would abort the process: it asserts that its first pages are valid.
    if (this.#guard.isHeadLost) throw unreadable(id, "the first pages of the store cannot be read");
    try {
      return this.#read(database, id, this.#transaction);
    } catch (error) {
      if (isRefusal(error)) throw readFailure("cannot read shards", error);
      throw unreadable(id, errorMessage(error));
    }
  }

  #read(database: BinaryValues, id: number, transaction: Transaction): Buffer | undefined {
    const found = database.getBinaryFast(id, { transaction });
    // A small value is returned as a view of the whole shared buffer, of which only the length marks the end.
    return found === undefined ? undefined : Buffer.from(found.buffer, found.byteOffset, found.length);
  }

  /** Ends the transaction; further calls do nothing. */
  close(): void {
    this.#transaction?.done();
    this.#transaction = undefined;
  }
}

/** A database of LMDB, with an option of `getBinaryFast` that its types do not have. */
interface BinaryValues {
  getBinaryFast(id: number, options: { readonly transaction: Transaction }): Buffer | undefined;
}

/** Whether the bytes are in LMDB's map, not in the buffer that the next read overwrites: lmdb marks its views. */
export function isMapped({ buffer }: Buffer): boolean {
  return "isSharedMap" in buffer;
}

function unreadable(id: number, reason: string): TrawlError {
  return new TrawlError(
    "corrupt-shard",
    `shard ${id} cannot be read: ${reason}. The next start of the daemon repairs the store.`,
  );
}

/** All ids, in ascending order, in steps. */
function* readIds(database: Database<Buffer, number>): Generator<void, number[]> {
  const ids: number[] = [];
  for (;;) {
    const last = ids.at(-1);
    const keys = [...database.getKeys({ start: last ?? 0, exclusiveStart: last !== undefined, limit: idsOfStep })];
    ids.push(...keys);
    yield;
    if (keys.length < idsOfStep) return ids;
  }
}
