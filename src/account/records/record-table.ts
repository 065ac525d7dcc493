import type { RecordChange, RecordStore } from "../../store/record-store.js";

/** A change to a table: what is written, and what makes it visible once the disk has it. */
export interface RecordWrite {
  readonly record: RecordChange;
  readonly show: () => void;
}

/** Told of each record that comes, changes or goes. */
export type RecordObserver<T> = (before: T | undefined, after: T | undefined) => void;

/** Records of one kind, under their ids: in memory for reading, in the record store for keeping. */
export class RecordTable<T extends { readonly id: number | string }> {
  readonly #prefix: string;
  readonly #observe: RecordObserver<T>;
  readonly #records = new Map<T["id"], T>();

  constructor(prefix: string, observe: RecordObserver<T>) {
    this.#prefix = prefix;
    this.#observe = observe;
  }

  /** Reads what is stored, in steps. */
  *load(store: RecordStore): Generator<void, void> {
    for (const batch of store.batchesWithPrefix(this.#prefix)) {
      // Records are our own writing, checked by LMDB's transaction, so their shape is taken as it was written.
      for (const { value } of batch) this.#set(JSON.parse(value.toString()) as T);
      yield;
    }
  }

  get count(): number {
    return this.#records.size;
  }

  get(id: T["id"]): T | undefined {
    return this.#records.get(id);
  }

  values(): IterableIterator<T> {
    return this.#records.values();
  }

  put(record: T): RecordWrite {
    return {
      record: { key: this.#prefix + record.id, value: Buffer.from(JSON.stringify(record)) },
      show: () => this.#set(record),
    };
  }

  remove({ id }: T): RecordWrite {
    return {
      record: { key: this.#prefix + id, value: undefined },
      show: () => {
        this.#observe(this.#records.get(id), undefined);
        this.#records.delete(id);
      },
    };
  }

  #set(record: T): void {
    this.#observe(this.#records.get(record.id), record);
    this.#records.set(record.id, record);
  }
}

/** The tables of one record store. All are made first, and then loaded in that order. */
export class RecordTables {
  readonly #store: RecordStore;
  readonly #unloaded: { load(store: RecordStore): Generator<void, void> }[] = [];

  constructor(store: RecordStore) {
    this.#store = store;
  }

  /** An empty table; `observe` is told of what is loaded into it, too. */
  add<T extends { readonly id: number | string }>(prefix: string, observe: RecordObserver<T>): RecordTable<T> {
    const table = new RecordTable<T>(prefix, observe);
    this.#unloaded.push(table);
    return table;
  }

  /** Reads what is stored, in steps. */
  *load(): Generator<void, void> {
    for (const table of this.#unloaded.splice(0)) yield* table.load(this.#store);
  }
}

/** Keeps an index of what is found by other keys than its id, by an observer of the table. */
export function reindex<T extends { readonly id: number }>(
  index: Map<string, number>,
  before: T | undefined,
  after: T | undefined,
  keysOf: (record: T) => readonly string[],
): void {
  if (before !== undefined) for (const key of keysOf(before)) index.delete(key);
  if (after !== undefined) for (const key of keysOf(after)) index.set(key, after.id);
}
