import type { PatternKernel } from "../../native/kernel/pattern-kernel.js";

/** A growing list of labelled ranges: triples (start, end, pattern). */
export class Labels {
  words = new Uint32Array(3 * 128);
  count = 0;

  push(start: number, end: number, pattern: number): void {
    const at = 3 * this.count++;
    if (at === this.words.length) this.#grow(at * 2);
    this.words[at] = start;
    this.words[at + 1] = end;
    this.words[at + 2] = pattern;
  }

  /** Appends those of another list. */
  append({ words, count }: Labels): void {
    const at = 3 * this.count;
    if (at + 3 * count > this.words.length) this.#grow(2 * (at + 3 * count));
    this.words.set(words.subarray(0, 3 * count), at);
    this.count += count;
  }

  clear(): void {
    this.count = 0;
  }

  /** Sorts by start, the longer first, then by pattern. */
  sort(kernel: PatternKernel): void {
    if (this.count > 1) kernel.sortLabels(this.words, this.count);
  }

  /** Removes all but one of equal triples, which are sorted. */
  removeDuplicates(): void {
    const { words } = this;
    let kept = 0;
    for (let i = 0; i < this.count; i++) {
      const isEqual = kept > 0 && [0, 1, 2].every((k) => words[3 * i + k] === words[3 * (kept - 1) + k]);
      if (!isEqual) words.copyWithin(3 * kept++, 3 * i, 3 * i + 3);
    }
    this.count = kept;
  }

  #grow(length: number): void {
    const grown = new Uint32Array(length);
    grown.set(this.words);
    this.words = grown;
  }
}

/** The labels of a block whose contents several scans have searched: undefined if none has labels. */
export function joinLabels(all: readonly Labels[], kernel: PatternKernel): Labels | undefined {
  if (all.length <= 1) return all[0];
  const joined = new Labels();
  for (const labels of all) joined.append(labels);
  joined.sort(kernel);
  joined.removeDuplicates();
  return joined;
}
