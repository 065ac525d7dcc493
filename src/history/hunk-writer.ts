import { uninitializedBytes } from "../base/bytes.js";
import { TrawlError } from "../base/errors.js";
import { minusSign, plusSign, type PatchFile } from "../git/history/patch-file.js";
import { runSignBits, runSigns } from "./format.js";
import { hashLine, type LineDictionary } from "./line-dictionary.js";

const bytesStart = 1 << 16;

/** A longer context line is cut: it is only shown. */
const contextBytesMax = 512;

/** The varints of one run take at most this many bytes. */
const runBytesMax = 16;

/** Writes the hunks of one entry after another, in the coding that FORMAT.md describes. */
export class HunkWriter {
  bytes: Buffer = uninitializedBytes(bytesStart);
  byteCount = 0;
  readonly #lines: LineDictionary;
  /** The number of the line that was written last. */
  #last = 0;
  /** The number of the first line that was not written yet: new lines are used in the order of their numbers. */
  #next = 0;

  constructor(lines: LineDictionary) {
    this.#lines = lines;
  }

  write(file: PatchFile): void {
    this.#next = this.#lines.count;
    this.#last = this.#next - 1;
    let oldLine = 1;
    let newLine = 1;
    for (let i = 0; i < file.hunkCount; i++) {
      const { oldStart, newStart, sectionFrom, sectionTo, firstLine } = file.hunks[i];
      const end = i + 1 < file.hunkCount ? file.hunks[i + 1].firstLine : file.lineCount;
      const gap = oldStart - oldLine;
      if (gap < 0 || newStart - newLine !== gap) throw new TrawlError("git", "git diff-tree wrote overlapping hunks");
      this.#reserve(runBytesMax);
      this.#varint(gap);
      this.#writeSection(file, sectionFrom, sectionTo);
      this.#writeLines(file, firstLine, end);
      oldLine = oldStart;
      newLine = newStart;
      for (let line = firstLine; line < end; line++) {
        if (file.lineSign[line] !== plusSign) oldLine++;
        if (file.lineSign[line] !== minusSign) newLine++;
      }
    }
  }

  #writeSection({ bytes }: PatchFile, from: number, to: number): void {
    if (from === to) {
      this.#varint(0);
      return;
    }
    const line = this.#lines.add(bytes, from, to, hashLine(bytes, from, to));
    this.#varint(this.#codeOf(line) + 1);
    this.#next = Math.max(this.#next, line + 1);
  }

  /** Runs of lines with the same sign and consecutive numbers, then 0. */
  #writeLines(file: PatchFile, from: number, to: number): void {
    const { lineSign } = file;
    let line = this.#add(file, from);
    for (let at = from; at < to; ) {
      const first = line;
      const sign = lineSign[at];
      let end = at + 1;
      for (; end < to; end++) {
        line = this.#add(file, end);
        if (lineSign[end] !== sign || line !== first + end - at) break;
      }
      this.#writeRun(sign, end - at, first);
      at = end;
    }
    this.#reserve(1);
    this.#varint(0);
  }

  #add({ bytes, lineFrom, lineTo, lineHash, lineSign }: PatchFile, line: number): number {
    const from = lineFrom[line];
    const to = lineTo[line];
    if (to - from <= contextBytesMax || lineSign[line] === plusSign || lineSign[line] === minusSign)
      return this.#lines.add(bytes, from, to, lineHash[line]);
    let end = from + contextBytesMax;
    for (let back = 0; back < 3 && (bytes[end] & 0xc0) === 0x80; back++) end--;
    return this.#lines.add(bytes, from, end, hashLine(bytes, from, end));
  }

  #writeRun(sign: number, length: number, first: number): void {
    const code = sign === plusSign ? runSigns.added : sign === minusSign ? runSigns.removed : runSigns.context;
    this.#reserve(runBytesMax);
    this.#varint(length * 2 ** runSignBits + code);
    this.#varint(this.#codeOf(first));
    this.#last = first + length - 1;
    this.#next = Math.max(this.#next, this.#last + 1);
  }

  /** 0 for the line after the last one, 1 for the next new line, otherwise the distance. */
  #codeOf(line: number): number {
    const distance = line - (this.#last + 1);
    if (distance === 0) return 0;
    if (line === this.#next) return 1;
    return (distance > 0 ? 2 * distance : -2 * distance - 1) + 1;
  }

  #varint(value: number): void {
    let rest = value >>> 0;
    for (; rest >= 0x80; rest >>>= 7) this.bytes[this.byteCount++] = (rest & 0x7f) | 0x80;
    this.bytes[this.byteCount++] = rest;
  }

  #reserve(byteCount: number): void {
    if (this.byteCount + byteCount <= this.bytes.length) return;
    const grown = uninitializedBytes(this.bytes.length * 2);
    this.bytes.copy(grown, 0, 0, this.byteCount);
    this.bytes = grown;
  }
}
