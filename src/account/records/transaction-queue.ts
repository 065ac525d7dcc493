import { assert } from "../../base/assert.js";
import type { Records } from "../../store/records.js";
import type { AuditEntry, AuditLog } from "./audit-log.js";
import type { RecordWrite } from "./record-table.js";

/** The writes of a change, and the result for its caller. */
export interface Transaction<T> {
  readonly steps: readonly RecordWrite[];
  readonly result: T;
}

const countersKey = "account-counters";

/**
 * Applies changes to account records one after another: each is decided on the state after all earlier ones, becomes
 * durable, and is then visible immediately. Therefore, of two callers that create the same name at the same time, one
 * is refused.
 *
 * Ids are shared by all kinds of records and are never reused.
 */
export class TransactionQueue {
  readonly #store: Records;
  readonly #audit: AuditLog;
  #nextId = 1;
  /** The next id, as stored on disk. */
  #storedNextId = 1;
  #changes: Promise<unknown> = Promise.resolve();

  constructor(store: Records, audit: AuditLog) {
    this.#store = store;
    this.#audit = audit;
    const counters = store.get(countersKey);
    if (counters !== undefined) this.#nextId = (JSON.parse(counters.toString()) as { nextId: number }).nextId;
    assert(Number.isSafeInteger(this.#nextId) && this.#nextId > 0, "the stored counter is the next id");
    this.#storedNextId = this.#nextId;
  }

  /** An id for a new record. Caller guarantees: it is deciding a change whose writes store that record. */
  newId(): number {
    return this.#nextId++;
  }

  /**
   * Decides a change when all earlier ones are visible, records it, makes it durable, and makes it visible. Rejects
   * without any change if it cannot be recorded; `entryOf` returns undefined for changes that need no record.
   */
  commit<T>(decide: () => Transaction<T>, entryOf: (result: T) => AuditEntry | undefined): Promise<T> {
    const done = this.#changes.then(async () => {
      const { steps, result } = decide();
      const entry = entryOf(result);
      if (entry === undefined) await this.#apply(steps);
      else await this.#audit.around(entry, () => this.#apply(steps));
      return result;
    });
    this.#changes = done.catch(() => undefined);
    return done;
  }

  /** Resolves when all changes so far have been applied or refused. */
  async settled(): Promise<void> {
    await this.#changes;
  }

  async #apply(steps: readonly RecordWrite[]): Promise<void> {
    const nextId = this.#nextId;
    assert(nextId >= this.#storedNextId, "ids are never used again");
    const records = steps.map(({ record }) => record);
    const counters =
      nextId === this.#storedNextId ? [] : [{ key: countersKey, value: Buffer.from(JSON.stringify({ nextId })) }];
    await this.#store.apply([...counters, ...records]);
    assert(this.#storedNextId <= nextId, "changes become durable one after another");
    this.#storedNextId = nextId;
    for (const { show } of steps) show();
  }
}
