/**
 * Length of the well-formed sequence of two to four bytes at `at` that ends by `to`, or 0. Overlong forms, surrogates
 * and code points past U+10FFFF are not well-formed; each of their bytes counts by itself.
 */
export function sequenceLength(text: Uint8Array, at: number, to: number): number {
  const lead = text[at];
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (at + length > to) return 0;
  for (let i = 1; i < length; i++) if ((text[at + i] & 0xc0) !== 0x80) return 0;
  const second = text[at + 1];
  if (lead === 0xe0 && second < 0xa0) return 0;
  if (lead === 0xed && second >= 0xa0) return 0;
  if (lead === 0xf0 && second < 0x90) return 0;
  if (lead === 0xf4 && second >= 0x90) return 0;
  return length;
}

/** The largest position up to `from + bytesMax` that does not split a code point of `text[from, to)`. */
export function cutAtCodePoint(text: Uint8Array, from: number, to: number, bytesMax: number): number {
  if (to - from <= bytesMax) return to;
  const cut = from + bytesMax;
  for (let back = 1; back <= Math.min(3, bytesMax); back++) {
    if (sequenceLength(text, cut - back, to) > back) return cut - back;
  }
  return cut;
}

/** Counts the code points from the start of a line to each of several increasing positions, in one pass. */
export class Columns {
  readonly #text: Uint8Array;
  readonly #lineEnd: number;
  #at: number;
  #column = 0;

  constructor(text: Uint8Array, lineStart: number, lineEnd: number) {
    this.#text = text;
    this.#lineEnd = lineEnd;
    this.#at = lineStart;
  }

  /** Number of code points that start before `to`. */
  columnAt(to: number): number {
    while (this.#at < to) {
      this.#at += sequenceLength(this.#text, this.#at, this.#lineEnd) || 1;
      this.#column++;
    }
    return this.#column;
  }
}
