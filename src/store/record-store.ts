import { open, type Database, type RootDatabase } from "lmdb";
import { TrawlError, errorMessage } from "../base/errors.js";
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
import { writeFailure } from "./store-failure.js";
import { StoreGuard } from "./store-guard.js";

/** Address space reserved for the map of the records: 16 GiB hold some ten million repositories. */
const mapBytes = 16 * 2 ** 30;

/** Records of one batch: reading them, and their JSON, takes about a millisecond. */
const batchRecords = 64;

/** A change to one record: a value to store, or `undefined` to delete it. */
export interface RecordChange {
  readonly key: string;
  readonly value: Buffer | undefined;
}

/**
 * The LMDB environment of small records under string keys; the catalog decides what they mean. One thread writes,
 * any thread reads. Each record has a checksum, which is compared whenever it is read.
 */
export class RecordStore {
  readonly #root: RootDatabase<Buffer, string>;
  readonly #records: Database<Buffer, string>;
  readonly guard: StoreGuard;
  #changeCount = 0;
  /** Of what the disk has. */
  #digest: Digest;
  /** Settles when all changes so far were applied, or have failed. */
  #applied: Promise<void> = Promise.resolve();
  /** Set when nobody knows any more what the disk has: LMDB would never answer a write from then on. */
  #lost: TrawlError | undefined;
  /** Told why nobody knows any more what the disk has; the process must end. */
  onLost: (reason: string) => void = () => undefined;

  constructor(folder: string) {
    try {
      // With event-turn batching a commit that fails rejects a promise that nobody can reach, which would end the
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
      throw new TrawlError("storage", `cannot open the catalog ${folder}: ${errorMessage(error)}`, { cause: error });
    }
  }

  /**
   * Applies all changes in one transaction and resolves once the disk has them. The calling thread only queues them;
   * LMDB's own thread writes and syncs. Calls are served one after the other. Rejects with `storage` when that fails,
   * and then none is applied; or with `store-lost`, when nobody knows.
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
      // LMDB says nothing of the last page that it writes: the one that tells the next boot of the system that all
      // before it is on the disk.
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

  /** What lmdb has read before in this turn of the event loop it would not look at again. */
  #readAnew(): void {
    this.#records.resetReadTxn();
    this.#records.useReadTransaction().done();
  }

  /** What is to be stored, by key, with the digest of all records after it. */
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

  /**
   * A sync that fails does so after the transaction can be read: then the records are ahead of what their owner knows.
   */
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

  /** How often something was applied. */
  get changeCount(): number {
    return this.#changeCount;
  }

  /**
   * Copies the file as it is at one moment to an empty folder, by a thread of LMDB's own. Rejects with `storage` when
   * the file is damaged.
   */
  async copyTo(folder: string): Promise<void> {
    this.guard.requireWhole();
    await this.#root.backup(folder, false);
    this.guard.requireWhole();
  }

  /** Throws `storage` when its checksum is wrong, as does `withPrefix`. */
  get(key: string): Buffer | undefined {
    const stored = this.#records.get(key);
    return stored === undefined ? undefined : unsealed(key, stored);
  }

  /** All records whose key starts with `prefix`, in key order. */
  *withPrefix(prefix: string): Generator<{ key: string; value: Buffer }> {
    for (const { key, value } of this.#records.getRange({ start: prefix, end: `${prefix}\uffff` })) {
      yield { key, value: unsealed(key, value) };
    }
  }

  /**
   * The same, some at a time. A transaction of LMDB lasts no longer than one batch, so work may come between them; what
   * is written meanwhile may be among them.
   */
  *batchesWithPrefix(prefix: string): Generator<readonly { key: string; value: Buffer }[]> {
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

/** What lmdb says of a failed commit is a rejected promise in a property of the error; it must be taken up. */
function findCause(error: unknown): Promise<unknown> {
  const hasCause = typeof error === "object" && error !== null && "commitError" in error;
  return Promise.resolve(hasCause ? error.commitError : error).catch((cause: unknown) => cause);
}
