import type { RecordStore } from "../store/record-store.js";
import type { Step } from "./record-table.js";

/** What a change does, and what its caller gets. */
export interface Decision<T> {
  readonly steps: readonly Step[];
  readonly result: T;
}

const countersKey = "account-counters";

/**
 * Changes to the records of accounts, applied one after the other: each is decided on what is visible when those before it
 * are done, is durable, and then visible at once. So of two that create the same name at the same time one is refused.
 *
 * Ids are shared by all kinds of records and are never used again.
 */
export class Changes {
  readonly #store: RecordStore;
  #nextId = 1;
  /** The next id that the disk knows of. */
  #storedNextId = 1;
  #changes: Promise<unknown> = Promise.resolve();

  constructor(store: RecordStore) {
    this.#store = store;
    const counters = store.get(countersKey);
    if (counters !== undefined) this.#nextId = (JSON.parse(counters.toString()) as { nextId: number }).nextId;
    this.#storedNextId = this.#nextId;
  }

  /** An id for a new record. Caller guarantees: it is deciding a change, whose steps store that record. */
  newId(): number {
    return this.#nextId++;
  }

  /** Decides a change when all earlier ones are visible, makes it durable, shows it, and notes it. */
  commit<T>(decide: () => Decision<T>, note: (result: T) => void): Promise<T> {
    const done = this.#changes.then(async () => {
      const { steps, result } = decide();
      const nextId = this.#nextId;
      const records = steps.map(({ record }) => record);
      const counters = nextId === this.#storedNextId ? [] : [{ key: countersKey, value: Buffer.from(JSON.stringify({ nextId })) }];
      await this.#store.apply([...counters, ...records]);
      this.#storedNextId = nextId;
      for (const { show } of steps) show();
      note(result);
      return result;
    });
    this.#changes = done.catch(() => undefined);
    return done;
  }

  /** Resolves when all changes so far are done or refused. */
  async settled(): Promise<void> {
    await this.#changes;
  }
}
