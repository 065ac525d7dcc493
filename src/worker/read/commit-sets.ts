/** Sets of commits of one chain, numbered from 1; 0 is the empty set, and set 1 contains all commits. */
export class CommitSets {
  readonly #numberOf = new Map<string, number>();
  readonly #starts: number[] = [0, 0];
  readonly #ranges: number[] = [];
  readonly all: number;

  constructor(commitCount: number) {
    this.all = this.add([0, commitCount]);
  }

  /** `ranges`: pairs (from, to), ascending and disjoint. Equal sets get the same number. */
  add(ranges: readonly number[]): number {
    if (ranges.length === 0) return 0;
    const key = ranges.join();
    const known = this.#numberOf.get(key);
    if (known !== undefined) return known;
    const number = this.#starts.length - 1;
    this.#numberOf.set(key, number);
    this.#ranges.push(...ranges);
    this.#starts.push(this.#ranges.length / 2);
    return number;
  }

  /** In the form used by `FoundDocuments`. */
  encode(): { setStarts: Uint32Array; setRanges: Uint32Array } {
    return { setStarts: Uint32Array.from(this.#starts), setRanges: Uint32Array.from(this.#ranges) };
  }
}
