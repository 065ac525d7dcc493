import { open, type Database, type RootDatabase } from "lmdb";
import { TrawlError, errorMessage } from "../base/errors.js";
import { requireAddressSpace, withLimit } from "../base/refusal.js";
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
import type { RecordChange, Records, StoredRecord } from "./records.js";
import { writeFailure, StoreGuard } from "./store-guard.js";

/** Address space reserved for the map of the records: 16 GiB hold about ten million repositories. */
const mapBytes = 16 * 2 ** 30;

/** Records per batch: reading and parsing them takes about a millisecond. */
const batchRecords = 64;

/**
 * The LMDB environment of small records with string keys, which the catalog interprets. One thread writes, any thread
 * reads. Each record has a checksum, which is verified whenever it is read.
 */
export class RecordStore implements Records {
  readonly #root: RootDatabase<Buffer, string>;
  readonly #records: Database<Buffer, string>;
  readonly guard: StoreGuard;
  #changeCount = 0;
  /** The digest of the durable records. */
  #digest: Digest;
  /** Settles when all changes so far have been applied or have failed. */
  #applied: Promise<void> = Promise.resolve();
  /** Set when the durable state is unknown: LMDB would never complete another write. */
  #lost: TrawlError | undefined;
  /** Called with the reason when the durable state is unknown; the process must exit. */
  onLost: (reason: string) => void = () => undefined;

  constructor(folder: string) {
    requireAddressSpace(`cannot open the catalog ${folder}`, mapBytes);
    try {
      // With event-turn batching, a failing commit rejects a promise that cannot be accessed, which would end the
      // process.
      this.#root = open({
        path: folder,
        mapSize: mapBytes,
        maxDbs: 2,
        maxReaders: 512,
        encoding: "binary",
        eventTurnBatching: false,
      });
      this.#records = this.#root.openDB({ name: "records", encoding: "binary" });
      this.guard = new StoreGuard("the catalog", folder);
      this.#digest = this.#readDigest();
    } catch (error) {
      throw new TrawlError("storage", withLimit(`cannot open the catalog ${folder}: ${errorMessage(error)}`), {
        cause: error,
      });
    }
  }

  /**
   * Applies all changes in one transaction and resolves once they are durable. The calling thread only queues them;
   * LMDB's thread writes and syncs. Calls are processed in order. Rejects with `storage` if that fails, in which case
   * none is applied, or with `store-lost` if the outcome is unknown.
   */
  apply(changes: readonly RecordChange[]): Promise<void> {
    const done = this.#applied.then(() => this.#apply(changes));
    this.#applied = done.catch(() => undefined);
    return done;
  }

  async #apply(changes: readonly RecordChange[]): Promise<void> {
    if (changes.length === 0) return;
    this.guard.requireWhole();
    if (this.#lost !== undefined) throw this.#lost;
    const { stored, digest } = this.#stage(changes);
    try {
      await this.#records.batch(() => {
        for (const [key, bytes] of stored) {
          if (bytes === undefined) void this.#records.remove(key);
          else void this.#records.put(key, bytes);
        }
      });
      await this.#records.flushed;
      // LMDB does not report errors of its last page write, the one that records for the next boot that everything
      // before it is durable.
      this.#readAnew();
      this.#digest = digest;
      this.#changeCount++;
      this.guard.recordGrowth();
    } catch (error) {
      const failure = writeFailure("cannot write the catalog", await findCause(error), () => this.#readAnew());
      const isLost = failure.code === "store-lost" || this.#areVisible(changes);
      if (!isLost) throw failure;
      this.#lost = new TrawlError("store-lost", failure.message, { cause: error });
      this.onLost(failure.message);
      throw this.#lost;
    }
  }

  /**
   * Discards lmdb's read transaction, because lmdb would not reread data that it has already read in this turn of the
   * event loop.
   */
  #readAnew(): void {
    this.#records.resetReadTxn();
    this.#records.useReadTransaction().done();
  }

  /** The records to store, by key, with the resulting digest of all records. */
  #stage(changes: readonly RecordChange[]): { stored: ReadonlyMap<string, Buffer | undefined>; digest: Digest } {
    const stored = new Map(
      changes.map(({ key, value }) => [key, value === undefined ? undefined : sealed(key, value)]),
    );
    let digest = this.#digest;
    this.#records.resetReadTxn();
    for (const [key, bytes] of stored) {
      const before = this.#records.get(key);
      if (before !== undefined) {
        unsealed(key, before);
        digest = digestWith(digest, before, -1);
      }
      if (bytes !== undefined) digest = digestWith(digest, bytes, 1);
    }
    return { stored: stored.set(digestKey, sealedDigest(digest)), digest };
  }

  #readDigest(): Digest {
    const stored = this.#records.get(digestKey);
    if (stored !== undefined) return unsealedDigest(stored);
    if (this.#records.getKeysCount({ limit: 1 }) > 0) throw new RangeError("its records have no checksums");
    return emptyDigest;
  }

  /** If a sync fails, the transaction may already be readable: then the records are newer than their owner assumes. */
  #areVisible(changes: readonly RecordChange[]): boolean {
    try {
      this.#records.resetReadTxn();
      return changes.every(({ key, value }) =>
        value === undefined ? this.get(key) === undefined : this.get(key)?.equals(value) === true,
      );
    } catch {
      return true;
    }
  }

  /** The number of applied transactions. */
  get changeCount(): number {
    return this.#changeCount;
  }

  /**
   * Copies the file as of one moment to an empty folder, on a thread of LMDB. Rejects with `storage` if the file is
   * damaged.
   */
  async copyTo(folder: string): Promise<void> {
    this.guard.requireWhole();
    await this.#root.backup(folder, false);
    this.guard.requireWhole();
  }

  /** Throws `storage` if its checksum is wrong; so does `withPrefix`. */
  get(key: string): Buffer | undefined {
    const stored = this.#records.get(key);
    return stored === undefined ? undefined : unsealed(key, stored);
  }

  /** All records whose key starts with `prefix`, in key order. */
  *withPrefix(prefix: string): Generator<StoredRecord> {
    for (const { key, value } of this.#records.getRange({ start: prefix, end: `${prefix}\uffff` })) {
      yield { key, value: unsealed(key, value) };
    }
  }

  /**
   * Like `withPrefix`, but in batches. Each LMDB transaction covers only one batch, so other work may run in between;
   * records written in the meantime may be included.
   */
  *batchesWithPrefix(prefix: string): Generator<readonly StoredRecord[]> {
    let start = prefix;
    for (;;) {
      const range = { start, exclusiveStart: start !== prefix, end: `${prefix}\uffff`, limit: batchRecords };
      const batch = [...this.#records.getRange(range)].map(({ key, value }) => ({ key, value: unsealed(key, value) }));
      if (batch.length > 0) yield batch;
      if (batch.length < batchRecords) return;
      start = batch[batch.length - 1].key;
    }
  }

  async close(): Promise<void> {
    await this.#root.close();
  }
}

/** lmdb reports the cause of a failed commit as a rejected promise in a property of the error; it must be handled. */
function findCause(error: unknown): Promise<unknown> {
  const hasCause = typeof error === "object" && error !== null && "commitError" in error;
  return Promise.resolve(hasCause ? error.commitError : error).catch((cause: unknown) => cause);
}
