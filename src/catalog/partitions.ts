import { assert } from "../base/assert.js";
import { hashText } from "../base/text.js";

/** So many partitions can a fleet have: what is made for each of them stays small. */
export const partitionsMax = 4096;

/** Shares that are kept, so that what is derived from one is found again. */
const keptSharesMax = 256;

/** A name as queries compare it that are in ASCII: they ignore case, and beside it only U+017F and U+212A are letters of theirs. */
function foldCase(name: string): string {
  return name.toLowerCase().replaceAll("\u017f", "s");
}

/** Some of the partitions, as one node searches them for another one. Equal shares are one object. */
export class PartitionShare {
  readonly #partitions: Partitions;
  /** By partition. */
  readonly #isIn: Uint8Array;

  constructor(partitions: Partitions, numbers: readonly number[]) {
    this.#partitions = partitions;
    this.#isIn = new Uint8Array(partitions.count);
    for (const number of numbers) this.#isIn[number] = 1;
  }

  has(repositoryId: number): boolean {
    return this.#isIn[this.#partitions.find(repositoryId)] === 1;
  }
}

/**
 * The parts into which the repositories of a fleet are divided, and the ids that new repositories get. A repository is placed by its name
 * when it is added; from then on its id says where it is: partition `p` of `count` gives those of which `(id - 1) % count` is `p`.
 *
 * A single host has one partition, and gives 1, 2, 3.
 */
export class Partitions {
  readonly count: number;
  /** The next id of each. */
  readonly #next: number[];
  #largest: number;
  /** By their numbers; the oldest first. */
  readonly #shares = new Map<string, PartitionShare>();

  constructor(count: number) {
    assert(Number.isInteger(count) && count >= 1 && count <= partitionsMax, "a fleet has some partitions");
    this.count = count;
    this.#next = Array.from({ length: count }, (_, partition) => partition + 1);
    this.#largest = 1;
  }

  /** No id is above it, or is given above it, before the next one is taken. */
  get nextRepositoryId(): number {
    return this.#largest;
  }

  /** That of the repository with this id. */
  find(repositoryId: number): number {
    return (repositoryId - 1) % this.count;
  }

  /** That of a new repository with this name; the same one for all names that are equal but for the case of their letters. */
  place(name: string): number {
    return this.count === 1 ? 0 : Math.floor((hashText(foldCase(name)) / 2 ** 32) * this.count);
  }

  /** These partitions. Caller guarantees: they are numbers of partitions. */
  share(numbers: readonly number[]): PartitionShare {
    const key = numbers.join();
    const share = this.#shares.get(key) ?? new PartitionShare(this, numbers);
    this.#shares.delete(key);
    this.#shares.set(key, share);
    const [oldest] = this.#shares.keys();
    if (this.#shares.size > keptSharesMax && oldest !== undefined) this.#shares.delete(oldest);
    return share;
  }

  /** An id for a new repository with this name. */
  take(name: string): number {
    const partition = this.place(name);
    const id = this.#next[partition];
    assert(id !== undefined, "a repository is placed in one of the partitions");
    this.#next[partition] = id + this.count;
    this.#largest = Math.max(this.#largest, id + 1);
    return id;
  }

  /** Gives only ids above this one from now on. */
  reserve(repositoryId: number): void {
    for (const [partition, next] of this.#next.entries())
      if (next <= repositoryId)
        this.#next[partition] = next + Math.ceil((repositoryId + 1 - next) / this.count) * this.count;
    this.#largest = Math.max(this.#largest, repositoryId + 1);
  }
}
