/** Fewer pairs are copied one by one, which is cheaper than to make a view of them. */
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

  /** Doubles the capacity; the pairs stay. */
  grow(): void {
    const grown = new Uint32Array(Math.max(this.words.length * 2, 64));
    grown.set(this.words.subarray(0, this.count * 2));
    this.words = grown;
  }

  clear(): void {
    this.count = 0;
  }

  /** Sorts pairs `[from, count)` by start, the longer first, and drops those that overlap an earlier one. */
  makeDisjoint(from: number): void {
    const pairs: [number, number][] = [];
    for (let i = from; i < this.count; i++) pairs.push([this.words[i * 2], this.words[i * 2 + 1]]);
    pairs.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
    this.count = from;
    let last = -1;
    for (const [start, end] of pairs) {
      if (start < last) continue;
      this.push(start, end);
      last = end;
    }
  }
}
