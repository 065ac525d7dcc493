import { assert } from "../../base/assert.js";
import type { RecordChange, Records } from "../../store/records.js";

/** A change to a table: the record to write, and the function that makes it visible once it is durable. */
export interface RecordWrite {
  readonly record: RecordChange;
  readonly show: () => void;
}

/** Called for each record that is added, changed or removed. */
export type RecordObserver<T> = (before: T | undefined, after: T | undefined) => void;

/** Records of one kind, by id: held in memory and persisted in the record store. */
export class RecordTable<T extends { readonly id: number | string }> {
  readonly #prefix: string;
  readonly #observe: RecordObserver<T>;
  readonly #records = new Map<T["id"], T>();

  constructor(prefix: string, observe: RecordObserver<T>) {
    this.#prefix = prefix;
    this.#observe = observe;
  }

  /** Loads the stored records, in steps. */
  *load(store: Records): Generator<void, void> {
    for (const batch of store.batchesWithPrefix(this.#prefix)) {
      // Records were written by this program and are protected by LMDB's transactions, so their structure is trusted.
      for (const { key, value } of batch) {
        const record = JSON.parse(value.toString()) as T;
        assert(this.#prefix + record.id === key, `the record ${key} is stored with its own id`);
        assert(!this.#records.has(record.id), `the record ${key} is stored once`);
        this.#set(record);
      }
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
    assert(record.id !== "", `a record below ${this.#prefix} has an id`);
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

/** The tables of one record store. All are created first, and then loaded in that order. */
export class RecordTables {
  readonly #store: Records;
  readonly #prefixes: string[] = [];
  readonly #unloaded: { load(store: Records): Generator<void, void> }[] = [];

  constructor(store: Records) {
    this.#store = store;
  }

  /** Adds an empty table; `observe` is also called for the records loaded into it. */
  add<T extends { readonly id: number | string }>(prefix: string, observe: RecordObserver<T>): RecordTable<T> {
    for (const other of this.#prefixes)
      assert(!other.startsWith(prefix) && !prefix.startsWith(other), `the keys below ${prefix} are those of one table`);
    this.#prefixes.push(prefix);
    const table = new RecordTable<T>(prefix, observe);
    this.#unloaded.push(table);
    return table;
  }

  /** Loads the stored records, in steps. */
  *load(): Generator<void, void> {
    for (const table of this.#unloaded.splice(0)) yield* table.load(this.#store);
  }
}

/** Maintains an index by other keys than the id, using a table observer. */
export function reindex<T extends { readonly id: number }>(
  index: Map<string, number>,
  before: T | undefined,
  after: T | undefined,
  keysOf: (record: T) => readonly string[],
): void {
  if (before !== undefined)
    for (const key of keysOf(before)) {
      assert(index.get(key) === before.id, "a key leads to the record that has it");
      index.delete(key);
    }
  if (after !== undefined)
    for (const key of keysOf(after)) {
      assert(!index.has(key), "a key belongs to one record");
      index.set(key, after.id);
    }
}

/** The ids of records by the ids of their owners or members, such as organizations by member. */
export class GroupIndex<T extends { readonly id: number }> {
  readonly #ownersOf: (record: T) => readonly number[];
  readonly #ids = new Map<number, Set<number>>();

  constructor(ownersOf: (record: T) => readonly number[]) {
    this.#ownersOf = ownersOf;
  }

  /** Ordered by id. */
  of(owner: number): readonly number[] {
    return [...(this.#ids.get(owner) ?? [])].sort((a, b) => a - b);
  }

  count(owner: number): number {
    return this.#ids.get(owner)?.size ?? 0;
  }

  /** Called when a record was added, changed or removed, with the arguments of a table observer. */
  change(before: T | undefined, after: T | undefined): void {
    if (before !== undefined) for (const owner of this.#ownersOf(before)) this.#remove(owner, before.id);
    if (after !== undefined) for (const owner of this.#ownersOf(after)) this.#add(owner, after.id);
  }

  #add(owner: number, id: number): void {
    const ids = this.#ids.get(owner);
    if (ids === undefined) this.#ids.set(owner, new Set([id]));
    else ids.add(id);
  }

  #remove(owner: number, id: number): void {
    const ids = this.#ids.get(owner);
    ids?.delete(id);
    if (ids?.size === 0) this.#ids.delete(owner);
  }
}
