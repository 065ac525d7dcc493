import { runSignBits, runSigns } from "./format.js";
import type { HistoryReader } from "./history-reader.js";

/** No text follows the numbers of the hunk. */
export const noSection = -1;

/**
 * Reads the hunks of one entry after another. `nextHunk` and `nextRun` move on and return false at the end; the fields
 * describe the hunk and the run that they moved to. Throws `corrupt-shard` for a line that does not exist.
 */
export class HunkReader {
  /** The first lines of the hunk in the old and in the new file, from 1. */
  oldStart = 0;
  newStart = 0;
  /** Number of the line that git shows after them, or `noSection`. */
  section = noSection;
  /** One of `runSigns`. */
  sign = 0;
  /** The lines of the run are numbered `[first, end)`. */
  first = 0;
  end = 0;
  readonly #reader: HistoryReader;
  readonly #hunks: Buffer;
  #at = 0;
  #to = 0;
  #last = 0;
  #next = 0;
  /** The lines after the last hunk. */
  #oldLine = 1;
  #newLine = 1;
  #isInHunk = false;

  constructor(reader: HistoryReader) {
    this.#reader = reader;
    this.#hunks = reader.hunks;
  }

  begin(entry: number): void {
    this.#at = this.#reader.entryStart[entry];
    this.#to = this.#reader.entryStart[entry + 1];
    this.#next = this.#reader.entryFirstLine[entry];
    this.#last = this.#next - 1;
    this.#oldLine = 1;
    this.#newLine = 1;
    this.#isInHunk = false;
  }

  /** Skips the runs of the previous hunk that were not read. */
  nextHunk(): boolean {
    while (this.#isInHunk) this.nextRun();
    if (this.#at >= this.#to) return false;
    const gap = this.#varint();
    this.oldStart = this.#oldLine += gap;
    this.newStart = this.#newLine += gap;
    const code = this.#varint();
    this.section = code === 0 ? noSection : this.#lineOf(code - 1);
    if (code !== 0) this.#use(this.section, this.section + 1);
    this.#isInHunk = true;
    return true;
  }

  nextRun(): boolean {
    const head = this.#varint();
    if (head === 0) {
      this.#isInHunk = false;
      return false;
    }
    const length = head >>> runSignBits;
    this.sign = head & ((1 << runSignBits) - 1);
    this.first = this.#lineOf(this.#varint());
    this.end = this.first + length;
    this.#last = this.end - 1;
    this.#use(this.first, this.end);
    if (this.sign !== runSigns.added) this.#oldLine += length;
    if (this.sign !== runSigns.removed) this.#newLine += length;
    return true;
  }

  #lineOf(code: number): number {
    if (code === 0) return this.#last + 1;
    if (code === 1) return this.#next;
    const folded = code - 1;
    const distance = (folded & 1) === 0 ? folded / 2 : -(folded + 1) / 2;
    return this.#last + 1 + distance;
  }

  #use(first: number, end: number): void {
    if (first < 0 || end > this.#reader.lineCount) this.#reader.fail("a hunk names a line that does not exist");
    if (end > this.#next) this.#next = end;
  }

  #varint(): number {
    const hunks = this.#hunks;
    let value = 0;
    for (let scale = 1; scale <= 2 ** 28; scale *= 128) {
      if (this.#at >= this.#to) this.#reader.fail("a hunk is not complete");
      const byte = hunks[this.#at++];
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    return this.#reader.fail("a hunk has a number that is too large");
  }
}
