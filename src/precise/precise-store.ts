import { assert } from "../base/assert.js";
import { lowerBoundBy } from "../base/sorted-search.js";
import type { PreciseIndexRecord } from "../model/precise-index.js";
import type { RecordChange, Records } from "../store/records.js";

const recordPrefix = "precise-index/";
const counterKey = "precise-index-counter";

/**
 * Packages of the indexes by which they are found from other repositories, of a repository and of all: each takes some 50 bytes of memory.
 * The newest indexes of a repository are found by theirs.
 */
const repositoryPackagesMax = 40_000;
const listedPackagesMax = 1_000_000;

/** The records of uploaded indexes, in memory and in the record store. Ids ascend in the order of the uploads. */
export class PreciseStore {
  readonly #store: Records;
  readonly #records = new Map<number, PreciseIndexRecord>();
  readonly #byRepository = new Map<number, readonly PreciseIndexRecord[]>();
  /** The ids of the indexes that define symbols of a package, and of those that only use some: of the listed ones. */
  readonly #defining: IdsByPackage = new Map();
  readonly #using: IdsByPackage = new Map();
  readonly #listed = new Set<number>();
  /** Packages of all listed indexes. */
  #listedCount = 0;
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
      for (const { value } of batch) this.#keep(JSON.parse(value.toString()) as PreciseIndexRecord);
      yield;
    }
    for (const repositoryId of this.#byRepository.keys()) {
      this.#listRepository(repositoryId);
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

  /**
   * Those that define symbols of one of these packages, or, unless `definingOnly`, that use some; the newest first. They are found as
   * they are taken, so that what is not needed costs nothing.
   */
  *forPackages(packages: readonly number[], definingOnly: boolean): Generator<PreciseIndexRecord, void> {
    const maps = definingOnly ? [this.#defining] : [this.#defining, this.#using];
    const lists = packages.flatMap((number) =>
      maps.map((map) => {
        const ids = idsIn(map, number);
        return { ids, left: ids.length };
      }),
    );
    for (;;) {
      const id = lists.reduce((newest, { ids, left }) => Math.max(newest, ids[left - 1] ?? 0), 0);
      if (id === 0) return;
      for (const list of lists) if (list.ids[list.left - 1] === id) list.left--;
      const record = this.#records.get(id);
      if (record !== undefined) yield record;
    }
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
      this.#unlist(record);
      this.#setGroup(
        record.repositoryId,
        this.forRepository(record.repositoryId).filter((other) => other.id !== id),
      );
      this.#listRepository(record.repositoryId);
      changes.push({ key: `${recordPrefix}${id}`, value: undefined });
    }
    await this.#store.apply(changes);
  }

  #set(record: PreciseIndexRecord): void {
    const before = this.#records.get(record.id);
    if (before !== undefined) this.#unlist(before);
    this.#keep(record);
    this.#listRepository(record.repositoryId);
  }

  #keep(record: PreciseIndexRecord): void {
    this.#records.set(record.id, record);
    const others = this.forRepository(record.repositoryId).filter(({ id }) => id !== record.id);
    this.#setGroup(
      record.repositoryId,
      [...others, record].sort((a, b) => b.id - a.id),
    );
  }

  /** Lists the packages of the newest indexes of a repository, as many as there is room for. */
  #listRepository(repositoryId: number): void {
    let left = repositoryPackagesMax;
    const missing: PreciseIndexRecord[] = [];
    for (const record of this.forRepository(repositoryId)) {
      const count = countPackages(record);
      if (count === 0) continue;
      left -= count;
      if (left < 0) this.#unlist(record);
      else if (!this.#listed.has(record.id)) missing.push(record);
    }
    for (const record of missing) {
      const count = countPackages(record);
      if (this.#listedCount + count > listedPackagesMax) continue;
      this.#listedCount += count;
      this.#listed.add(record.id);
      for (const number of record.counts?.packages?.defined ?? []) addId(this.#defining, number, record.id);
      for (const number of record.counts?.packages?.used ?? []) addId(this.#using, number, record.id);
    }
  }

  #unlist(record: PreciseIndexRecord): void {
    if (!this.#listed.delete(record.id)) return;
    this.#listedCount -= countPackages(record);
    for (const number of record.counts?.packages?.defined ?? []) removeId(this.#defining, number, record.id);
    for (const number of record.counts?.packages?.used ?? []) removeId(this.#using, number, record.id);
  }

  #setGroup(repositoryId: number, records: readonly PreciseIndexRecord[]): void {
    if (records.length === 0) this.#byRepository.delete(repositoryId);
    else this.#byRepository.set(repositoryId, records);
  }
}

function countPackages({ counts }: PreciseIndexRecord): number {
  return (counts?.packages?.defined.length ?? 0) + (counts?.packages?.used.length ?? 0);
}

/** The ids of the indexes that have a package, ascending; most packages are in one index. */
type IdsByPackage = Map<number, number | number[]>;

function idsIn(map: IdsByPackage, number: number): readonly number[] {
  const ids = map.get(number) ?? [];
  return typeof ids === "number" ? [ids] : ids;
}

function addId(map: IdsByPackage, number: number, id: number): void {
  const ids = map.get(number);
  if (ids === undefined) map.set(number, id);
  else if (typeof ids === "number") map.set(number, ids < id ? [ids, id] : [id, ids]);
  else
    ids.splice(
      lowerBoundBy(ids.length, (at) => (ids[at] ?? 0) < id),
      0,
      id,
    );
}

function removeId(map: IdsByPackage, number: number, id: number): void {
  const ids = map.get(number);
  if (ids === id) map.delete(number);
  if (typeof ids !== "object") return;
  const at = lowerBoundBy(ids.length, (other) => (ids[other] ?? 0) < id);
  assert(ids[at] === id, "the index is listed for its package");
  ids.splice(at, 1);
  const [only] = ids;
  if (ids.length === 1 && only !== undefined) map.set(number, only);
}
