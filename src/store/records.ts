/** A change to one record: a value to store, or `undefined` to delete it. */
export interface RecordChange {
  readonly key: string;
  readonly value: Buffer | undefined;
}

export interface StoredRecord {
  readonly key: string;
  readonly value: Buffer;
}

/**
 * Small records with string keys, of which several owners have their own prefixes: repositories and shards, accounts, jobs,
 * notifications, uploads. What they need of whatever stores them:
 *
 * Contract:
 * - `apply` makes all changes or none. It resolves when they would survive a crash of the host, in the order of the calls. Of
 *   several changes of one key the last one counts.
 * - What is read is what was applied last and has resolved, or is about to: an owner that has waited for its `apply` reads its
 *   own changes. A value is never a mixture of two.
 * - Keys are ASCII text, and records come in the order of their keys.
 * - An error with the code `storage` says that nothing was changed, or that a record is damaged; after `store-lost` it is
 *   unknown what was changed.
 * - A value that was returned is valid until the next read. Neither it nor one that was passed may be changed.
 * - One process writes.
 */
export interface Records {
  apply(changes: readonly RecordChange[]): Promise<void>;
  get(key: string): Buffer | undefined;
  /** All records whose key starts with `prefix`. */
  withPrefix(prefix: string): Iterable<StoredRecord>;
  /** The same in batches, between which other work may run; records written meanwhile may be included. */
  batchesWithPrefix(prefix: string): Generator<readonly StoredRecord[]>;
}
