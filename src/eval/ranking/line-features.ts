import { countBits, isLetter } from "./query-words.js";

/** Occurrences further apart are not in the same line. */
const lineBytesMax = 400;

const newline = 10;
const underscore = 95;

/** What the lines of a document have of the words. Rows are added in order. */
export class LineFeatures {
  bestBits = 0;
  wholeBits = 0;
  /** The largest number of different words that follow one another. */
  phraseLength = 0;
  readonly #text: Buffer;
  readonly #textStart: number;
  readonly #textEnd: number;
  #bits = 0;
  #bestCount = 0;
  #lastEnd = -1;
  #runBits = 0;

  constructor(text: Buffer, textStart: number, textEnd: number) {
    this.#text = text;
    this.#textStart = textStart;
    this.#textEnd = textEnd;
  }

  add(from: number, to: number, bits: number): void {
    const isNear = this.#lastEnd >= 0 && from - this.#lastEnd < lineBytesMax;
    const isSameLine = isNear && !this.#hasNewline(this.#lastEnd, from);
    this.#bits = isSameLine ? this.#bits | bits : bits;
    const follows = isSameLine && from - this.#lastEnd <= 2 && (this.#runBits & bits) === 0;
    this.#runBits = follows ? this.#runBits | bits : bits;
    this.#lastEnd = to;
    const count = countBits(this.#bits);
    if (count > this.#bestCount) {
      this.#bestCount = count;
      this.bestBits = this.#bits;
    }
    this.phraseLength = Math.max(this.phraseLength, follows ? countBits(this.#runBits) : 0);
    if (this.#isWhole(from, to)) this.wholeBits |= bits;
  }

  #hasNewline(from: number, to: number): boolean {
    for (let i = from; i < to; i++) if (this.#text[i] === newline) return true;
    return false;
  }

  #isWhole(from: number, to: number): boolean {
    const isStart = from === this.#textStart || !isWordByte(this.#text[from - 1]);
    return isStart && (to === this.#textEnd || !isWordByte(this.#text[to]));
  }
}

function isWordByte(byte: number): boolean {
  return byte === underscore || isLetter(byte);
}
