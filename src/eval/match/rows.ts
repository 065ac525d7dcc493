import type { TextIndex } from "../../shard/text-sections.js";
import type { PatternKernel } from "../../native/kernel/pattern-kernel.js";

/** Fewer pairs are copied one by one, which is cheaper than creating a view of them. */
const copiedPairsMin = 16;

/**
 * A growing list of byte ranges: pairs (start, end) in one `Uint32Array`, so that a match costs eight bytes and no
 * object. `count` is in pairs.
 */
export class Rows {
  words: Uint32Array;
  count = 0;

  constructor(capacity: number) {
    this.words = new Uint32Array(capacity * 2);
  }

  push(start: number, end: number): void {
    if (this.count * 2 === this.words.length) this.grow();
    this.words[this.count * 2] = start;
    this.words[this.count * 2 + 1] = end;
    this.count++;
  }

  /** Appends pairs `[from, to)` of `words`. */
  append(words: Uint32Array, from: number, to: number): void {
    while ((this.count + to - from) * 2 > this.words.length) this.grow();
    if (to - from < copiedPairsMin) {
      for (let i = from * 2; i < to * 2; i++) this.words[this.count * 2 + i - from * 2] = words[i];
    } else {
      this.words.set(words.subarray(from * 2, to * 2), this.count * 2);
    }
    this.count += to - from;
  }

  /** Doubles the capacity, keeping the pairs. */
  grow(): void {
    const grown = new Uint32Array(Math.max(this.words.length * 2, 64));
    grown.set(this.words.subarray(0, this.count * 2));
    this.words = grown;
  }

  clear(): void {
    this.count = 0;
  }

  /** Sorts pairs `[from, count)` by start, the longer first, and removes those that overlap an earlier one. */
  makeDisjoint(from: number): void {
    this.sort(from);
    const { words, count } = this;
    let kept = from;
    let last = -1;
    for (let i = from; i < count; i++) {
      const start = words[i * 2];
      if (start < last) continue;
      last = words[i * 2 + 1];
      words[kept * 2] = start;
      words[kept * 2 + 1] = last;
      kept++;
    }
    this.count = kept;
  }

  /**
   * Sorts pairs `[from, count)` by start, the longer first. They consist of sorted runs, one per pattern, which are
   * merged in pairs until one is left.
   */
  sort(from: number): void {
    let runs = this.#runsFrom(from);
    if (runs.length === 2) return;
    let source: Uint32Array = this.words;
    let target: Uint32Array = new Uint32Array(this.count * 2);
    while (runs.length > 2) {
      const merged = [from];
      for (let run = 0; run + 1 < runs.length; run += 2) {
        const end = runs[Math.min(run + 2, runs.length - 1)];
        mergeRuns(source, target, runs[run], runs[run + 1], end);
        merged.push(end);
      }
      runs = merged;
      [source, target] = [target, source];
    }
    if (source !== this.words) this.words.set(source.subarray(from * 2, this.count * 2), from * 2);
  }

  /** The start of each sorted run, and the end of the last. */
  #runsFrom(from: number): number[] {
    const runs = [from];
    for (let i = from + 1; i < this.count; i++) if (!isOrdered(this.words, i - 1, i)) runs.push(i);
    runs.push(this.count);
    return runs;
  }
}

/**
 * Sets `rowStart[i]` to where the rows of `contents[i]` begin, and `rowStart[contents.length]` to their number; adds the
 * contents with too many to `tooCostly`.
 */
export function segmentRows(
  { words, count }: Rows,
  contents: Uint32Array,
  { contentStart, contentCount }: Pick<TextIndex, "contentStart" | "contentCount">,
  rowStart: Uint32Array,
  tooCostly: Set<number>,
): void {
  let row = 0;
  for (let i = 0; i < contents.length; i++) {
    rowStart[i] = row;
    const end = contents[i] < contentCount ? contentStart[contents[i] + 1] : 0;
    while (row < count && words[row * 2] < end) row++;
    if (row - rowStart[i] > contentMatchCountMax) tooCostly.add(contents[i]);
  }
  rowStart[contents.length] = row;
}

function isOrdered(words: Uint32Array, a: number, b: number): boolean {
  const startA = words[a * 2];
  const startB = words[b * 2];
  return startA < startB || (startA === startB && words[a * 2 + 1] >= words[b * 2 + 1]);
}

/** Merges runs `[left, middle)` and `[middle, right)` of `source` into the same range of `target`. */
function mergeRuns(source: Uint32Array, target: Uint32Array, left: number, middle: number, right: number): void {
  let a = left;
  let b = middle;
  for (let to = left; to < right; to++) {
    const from = b >= right || (a < middle && isOrdered(source, a, b)) ? a++ : b++;
    target[to * 2] = source[from * 2];
    target[to * 2 + 1] = source[from * 2 + 1];
  }
}

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

/** Limit on the matches of one content that are held in memory, eight bytes each, twice: 128 MiB in total. */
export const contentMatchCountMax = 8 * 1024 * 1024 - 1;

/**
 * Limit on the matches sent for one line: they are one element of an event, of which existing clients read up to 10
 * MiB. A range in `chunkMatches` takes about 100 bytes, one in `lineMatches` about 20.
 */
export function lineMatchCountMax(chunkMatches: boolean): number {
  return chunkMatches ? 90_000 : 450_000;
}

const newline = 10;

/** Whether more than `countMax` of the rows `[from, to)`, which are pairs in `words`, begin on one line. */
export function hasFullLine(text: Buffer, words: Uint32Array, from: number, to: number, countMax: number): boolean {
  for (let row = from; row + countMax < to; ) {
    const lineEnd = text.indexOf(newline, words[row * 2]);
    // The rows are sorted: if the row that many positions later is on this line, so are those in between.
    if (lineEnd < 0 || words[(row + countMax) * 2] <= lineEnd) return true;
    while (row < to && words[row * 2] <= lineEnd) row++;
  }
  return false;
}
