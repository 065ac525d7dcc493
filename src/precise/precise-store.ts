import { assert } from "../base/assert.js";
import type { PreciseIndexRecord } from "../model/precise-index.js";
import type { RecordChange, Records } from "../store/records.js";

const recordPrefix = "precise-index/";
const counterKey = "precise-index-counter";

/** The records of uploaded indexes, in memory and in the record store. Ids ascend in the order of the uploads. */
export class PreciseStore {
  readonly #store: Records;
  readonly #records = new Map<number, PreciseIndexRecord>();
  readonly #byRepository = new Map<number, readonly PreciseIndexRecord[]>();
  /** The ids of the indexes that define symbols of a package, and of those that only use some. */
  readonly #defining = new Map<number, Set<number>>();
  readonly #using = new Map<number, Set<number>>();
  #nextId = 1;

  constructor(store: Records) {
    this.#store = store;
  }

  /** Loads the stored records, in steps. */
  *load(): Generator<void, void> {
    const counter = this.#store.get(counterKey);
    if (counter !== undefined) this.#nextId = Number(counter.toString());
    assert(Number.isSafeInteger(this.#nextId) && this.#nextId > 0, "the stored counter is the next id of an index");
    for (const batch of this.#store.batchesWithPrefix(recordPrefix)) {
      for (const { value } of batch) this.#set(JSON.parse(value.toString()) as PreciseIndexRecord);
      yield;
    }
  }

  get(id: number): PreciseIndexRecord | undefined {
    return this.#records.get(id);
  }

  /** In no particular order. */
  values(): IterableIterator<PreciseIndexRecord> {
    return this.#records.values();
  }

  /** Those of a repository, the newest first. */
  forRepository(repositoryId: number): readonly PreciseIndexRecord[] {
    return this.#byRepository.get(repositoryId) ?? [];
  }

  /** Those that define symbols of one of these packages, or, unless `definingOnly`, that use some; the newest first. */
  forPackages(packages: readonly number[], definingOnly: boolean): readonly PreciseIndexRecord[] {
    const maps = definingOnly ? [this.#defining] : [this.#defining, this.#using];
    const ids = new Set(packages.flatMap((number) => maps.flatMap((map) => [...(map.get(number) ?? [])])));
    return [...ids].sort((a, b) => b - a).flatMap((id) => this.#records.get(id) ?? []);
  }

  newId(): number {
    return this.#nextId++;
  }

  /** Adds a new record. Resolves when it is durable; it is visible then. */
  async add(record: PreciseIndexRecord): Promise<void> {
    await this.#write(record);
    this.#set(record);
  }

  /** Replaces a record, unless it has been removed, also in the meantime. Resolves like `add`. */
  async put(record: PreciseIndexRecord): Promise<void> {
    if (!this.#records.has(record.id)) return;
    await this.#write(record);
    // Changes are applied in their order: if it was removed, then after this one.
    if (this.#records.has(record.id)) this.#set(record);
  }

  #write(record: PreciseIndexRecord): Promise<void> {
    return this.#store.apply([
      { key: `${recordPrefix}${record.id}`, value: Buffer.from(JSON.stringify(record)) },
      { key: counterKey, value: Buffer.from(String(this.#nextId)) },
    ]);
  }

  /** They are no longer visible at once, and deleted when the promise resolves. */
  async remove(ids: readonly number[]): Promise<void> {
    const changes: RecordChange[] = [];
    for (const id of ids) {
      const record = this.#records.get(id);
      if (record === undefined) continue;
      this.#records.delete(id);
      this.#listPackages(record, false);
      this.#setGroup(
        record.repositoryId,
        this.forRepository(record.repositoryId).filter((other) => other.id !== id),
      );
      changes.push({ key: `${recordPrefix}${id}`, value: undefined });
    }
    await this.#store.apply(changes);
  }

  #set(record: PreciseIndexRecord): void {
    const before = this.#records.get(record.id);
    if (before !== undefined) this.#listPackages(before, false);
    this.#records.set(record.id, record);
    this.#listPackages(record, true);
    const others = this.forRepository(record.repositoryId).filter(({ id }) => id !== record.id);
    this.#setGroup(
      record.repositoryId,
      [...others, record].sort((a, b) => b.id - a.id),
    );
  }

  #listPackages({ id, counts }: PreciseIndexRecord, isListed: boolean): void {
    const list = (map: Map<number, Set<number>>, packages: readonly number[]): void => {
      for (const number of packages) {
        const ids = map.get(number) ?? new Set();
        if (isListed) map.set(number, ids.add(id));
        else if (ids.delete(id) && ids.size === 0) map.delete(number);
      }
    };
    list(this.#defining, counts?.packages?.defined ?? []);
    list(this.#using, counts?.packages?.used ?? []);
  }

  #setGroup(repositoryId: number, records: readonly PreciseIndexRecord[]): void {
    if (records.length === 0) this.#byRepository.delete(repositoryId);
    else this.#byRepository.set(repositoryId, records);
  }
}
