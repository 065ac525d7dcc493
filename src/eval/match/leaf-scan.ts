import { computeBorders } from "../../native/kernel/borders.js";
import type { Kernel } from "../../native/kernel/kernel.js";
import type { Leaf } from "../../query/plan/plan.js";
import { compileRegexp } from "../../regexp/match/compile.js";
import type { Matcher } from "../../regexp/match/matcher.js";
import { unitBytes } from "../../shard/format.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import type { StopCheck } from "../../protocol/stop-check.js";
import { ContentWork, workBytesMax } from "./content-work.js";
import type { LeafPlan, LiteralScan } from "./leaf-plan.js";
import { contentMatchCountMax } from "./match-density.js";
import { Rows } from "./rows.js";
import { gallop, lastAtMost } from "../../base/sorted-search.js";

const newline = 10;

/** The kernel returns after so much work, for a look at the stop flag: 0.4 ms at its speed in memory. */
const scanBytesMax = 4 * 1024 * 1024;

/** Capacity that a leaf's rows begin with: most shards hold few matches, and what is dense makes it grow quickly. */
const rowCountInitial = 128;

/**
 * Finds the rows of one leaf in the contents of one shard, a block of contents at a time.
 *
 * Contract: `scan` is called with ascending contents, and over all calls contents only ascend. After it, the rows of
 * `contents[i]` are pairs `[rowStart[i], rowStart[i + 1])` of `rows`, sorted, until the next `scan`. Those of one
 * pattern are disjoint; of an `or` of texts those of each text are. Rows of contents in `tooCostly` are not all there.
 */
export class LeafScan {
  readonly rows = new Rows(rowCountInitial);
  rowStart = new Uint32Array(64);
  /**
   * Contents of the last call in which the search took more work than `workBytesMax`, or found more than is held; it
   * was given up.
   */
  readonly tooCostly = new Set<number>();
  /** Bytes of text looked at, over all calls. */
  scannedBytes = 0;
  readonly #plan: LeafPlan;
  readonly #reader: ShardReader;
  readonly #kernel: Kernel;
  readonly #matcher: Matcher;
  readonly #foldCase: boolean;
  /** The texts of an `or`; empty for one pattern. */
  readonly #either: readonly string[];
  /** True when one row of each text that RE2 searches is enough, as none is reported. */
  readonly #firstSuffices: boolean;
  readonly #stop: StopCheck;
  readonly #work: ContentWork;
  readonly #cursor = new Uint32Array(4);
  readonly #lines = new Rows(rowCountInitial);
  readonly #unitCursors: number[];
  #ranges = new Uint32Array(256);
  #rangeCount = 0;
  #exceptionCursor = 0;

  constructor(
    plan: LeafPlan,
    reader: ShardReader,
    kernel: Kernel,
    matcher: Matcher,
    leaf: Pick<Leaf, "either" | "foldCase" | "highlighted">,
    stop: StopCheck,
  ) {
    this.#plan = plan;
    this.#reader = reader;
    this.#kernel = kernel;
    this.#matcher = matcher;
    this.#foldCase = leaf.foldCase;
    this.#either = leaf.either;
    this.#firstSuffices = !leaf.highlighted;
    this.#unitCursors = plan.scans.map(() => 0);
    this.#stop = stop;
    this.#work = new ContentWork(stop);
  }

  /** Throws `cancelled` when the search is stopped. */
  scan(contents: Uint32Array): void {
    this.rows.clear();
    this.tooCostly.clear();
    if (this.rowStart.length <= contents.length) this.rowStart = new Uint32Array(contents.length * 2);
    switch (this.#plan.method) {
      case "literals":
        this.#scanLiterals(contents);
        break;
      case "lines":
        this.#scanLines(contents);
        break;
      case "contents":
        for (const content of contents) this.#searchContent(content);
        break;
    }
    this.#segment(contents);
  }

  #scanLiterals(contents: Uint32Array): void {
    const { scans, exceptions } = this.#plan;
    const rows = this.rows;
    for (let i = 0; i < scans.length; i++) {
      const before = rows.count;
      this.#makeRanges(contents, scans[i], i, 3);
      this.#runKernel(
        rows,
        (cursor) =>
          this.#kernel.scan(
            this.#reader.content,
            this.#ranges,
            this.#rangeCount,
            scans[i].needle,
            this.#foldCase,
            scanBytesMax,
            rows.words,
            cursor,
          ),
        3,
      );
      if (scans.length > 1 && this.#either.length === 0) this.#addOverlapping(contents, scans[i].needle, before);
    }
    if (scans.length > 1) this.#order();
    if (exceptions.length > 0) this.#searchExceptions(contents);
  }

  /**
   * The kernel leaves out a place of the needle that overlaps the one before it, which another needle may drop. Such a
   * place begins within a found row, as far behind its start as the needle fits itself.
   */
  #addOverlapping(contents: Uint32Array, needle: Buffer, rowFrom: number): void {
    const shifts = computeShifts(needle);
    if (shifts.length === 0) return;
    const { contentStart } = this.#reader;
    const rowTo = this.rows.count;
    let at = -1;
    for (let row = rowFrom; row < rowTo; row++) {
      const start = this.rows.words[row * 2];
      if (at < 0 || contentStart[contents[at] + 1] <= start) {
        do at++;
        while (contents[at] >= this.#reader.contentCount || contentStart[contents[at] + 1] <= start);
        this.#work.begin(contentStart[contents[at] + 1] - contentStart[contents[at]]);
      }
      if (this.tooCostly.has(contents[at])) continue;
      if (!this.#addShifted(start, contentStart[contents[at] + 1], needle, shifts)) this.tooCostly.add(contents[at]);
    }
  }

  /** False when that took too much work. */
  #addShifted(start: number, contentEnd: number, needle: Buffer, shifts: readonly number[]): boolean {
    for (const shift of shifts) {
      if (!this.#work.spend(needle.length)) return false;
      const end = start + shift + needle.length;
      if (end <= contentEnd && this.#isAt(start + shift, needle)) this.rows.push(start + shift, end);
    }
    return true;
  }

  #isAt(start: number, needle: Buffer): boolean {
    const { content } = this.#reader;
    for (let i = 0; i < needle.length; i++) {
      const byte = content[start + i];
      const folded = this.#foldCase && byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
      if (folded !== needle[i]) return false;
    }
    return true;
  }

  #scanLines(contents: Uint32Array): void {
    const lines = this.#lines;
    lines.clear();
    const scans = this.#plan.scans;
    for (let i = 0; i < scans.length; i++) {
      this.#makeRanges(contents, scans[i], i, 4);
      this.#runKernel(
        lines,
        (cursor) =>
          this.#kernel.scanLines(
            this.#reader.content,
            this.#ranges,
            this.#rangeCount,
            scans[i].needle,
            this.#foldCase,
            newline,
            scanBytesMax,
            lines.words,
            cursor,
          ),
        4,
      );
    }
    if (scans.length > 1) lines.makeDisjoint(0);
    this.#searchLines(contents);
    this.#searchExceptions(contents);
  }

  /** Lets the kernel go on until all ranges are done, of `width` words each; appends to `rows`. */
  #runKernel(rows: Rows, call: (cursor: Uint32Array) => boolean, width: 3 | 4): void {
    const cursor = this.#cursor;
    cursor.fill(0);
    cursor[2] = rows.count;
    while (!call(cursor)) {
      rows.count = cursor[2];
      this.#stop.check();
      this.#skipTooCostly(cursor, width, rows);
      if (rows.count * 2 === rows.words.length) rows.grow();
    }
    rows.count = cursor[2];
  }

  /**
   * Goes on behind the content that the kernel is in, when it has taken too much work, as a long needle that nearly
   * fits everywhere, or has too many rows.
   */
  #skipTooCostly(cursor: Uint32Array, width: 3 | 4, rows: Rows): void {
    const end = this.#ranges[cursor[0] * width + 2];
    const content = lastAtMost(this.#reader.contentStart, end - 1, this.#reader.contentCount);
    const start = this.#reader.contentStart[content];
    const tooMany =
      rows.count > contentMatchCountMax && rows.words[2 * (rows.count - contentMatchCountMax - 1)] >= start;
    if (!tooMany && cursor[3] <= workBytesMax(end - start)) return;
    this.tooCostly.add(content);
    while (cursor[0] < this.#rangeCount && this.#ranges[cursor[0] * width + 2] <= end) cursor[0]++;
    while (rows.count > 0 && rows.words[2 * (rows.count - 1)] >= start) rows.count--;
    cursor[1] = end;
    cursor[2] = rows.count;
    cursor[3] = 0;
  }

  /** Searches the lines that hold a literal, which are in the order of `contents`. */
  #searchLines(contents: Uint32Array): void {
    const { contentStart } = this.#reader;
    const { words, count } = this.#lines;
    let at = -1;
    let end = 0;
    for (let i = 0; i < count; i++) {
      const [start, lineEnd] = [words[i * 2], words[i * 2 + 1]];
      if (at < 0 || start >= end) {
        do at++;
        while (contents[at] >= this.#reader.contentCount || contentStart[contents[at] + 1] <= start);
        end = contentStart[contents[at] + 1];
        this.#work.begin(end - contentStart[contents[at]]);
      }
      if (this.tooCostly.has(contents[at])) continue;
      if (!this.#search(start, lineEnd)) this.tooCostly.add(contents[at]);
    }
  }

  /** Searches the exceptions among `contents` whole, and sorts what was found in among the rest. */
  #searchExceptions(contents: Uint32Array): void {
    const exceptions = this.#plan.exceptions;
    let found = false;
    for (const content of contents) {
      while (this.#exceptionCursor < exceptions.length && exceptions[this.#exceptionCursor] < content)
        this.#exceptionCursor++;
      if (exceptions[this.#exceptionCursor] !== content) continue;
      found = true;
      this.#searchContent(content);
    }
    // An exception's whole content was left out of the ranges, so no row is there twice.
    if (found) this.#order();
  }

  #order(): void {
    if (this.#either.length === 0) this.rows.makeDisjoint(0);
    else this.rows.sort(0);
  }

  #searchContent(content: number): void {
    if (content >= this.#reader.contentCount) return;
    const [start, end] = [this.#reader.contentStart[content], this.#reader.contentStart[content + 1]];
    this.#work.begin((end - start) * Math.max(1, this.#either.length));
    if (!this.#search(start, end)) this.tooCostly.add(content);
  }

  /** False when that took too much work. */
  #search(from: number, to: number): boolean {
    this.scannedBytes += to - from;
    const text = this.#reader.content.subarray(from, to);
    const countMax = this.#firstSuffices ? 1 : contentMatchCountMax + 1;
    return this.#either.length === 0
      ? this.#matcher.findAll(text, from, this.rows, this.#work, countMax)
      : this.#either.every((source) =>
          compileRegexp(source, this.#foldCase).findAll(text, from, this.rows, this.#work, countMax),
        );
  }

  /**
   * Ranges of the scan's units in `contents`, `width` words each (`from`, `to`, `end`, and for 4 the content's start).
   */
  #makeRanges(contents: Uint32Array, scan: LiteralScan, scanNumber: number, width: 3 | 4): void {
    const reader = this.#reader;
    const { exceptions } = this.#plan;
    let exceptionCursor = this.#exceptionCursor;
    this.#rangeCount = 0;
    for (const content of contents) {
      if (content >= reader.contentCount) continue;
      while (exceptionCursor < exceptions.length && exceptions[exceptionCursor] < content) exceptionCursor++;
      if (exceptions[exceptionCursor] === content) continue;
      const start = reader.contentStart[content];
      const end = reader.contentStart[content + 1];
      if (scan.units === undefined) this.#addRange(width, start, end, end, start);
      else this.#addUnits(scan.units, scanNumber, content, start, end, width);
    }
  }

  #addUnits(units: Uint32Array, scanNumber: number, content: number, start: number, end: number, width: 3 | 4): void {
    const firstUnit = this.#reader.contentFirstUnit[content];
    const endUnit = this.#reader.contentFirstUnit[content + 1];
    let at = gallop(units, this.#unitCursors[scanNumber], firstUnit, units.length);
    while (at < units.length && units[at] < endUnit) {
      const from = units[at++];
      let to = from + 1;
      while (at < units.length && units[at] === to && to < endUnit) {
        at++;
        to++;
      }
      this.#addRange(
        width,
        start + (from - firstUnit) * unitBytes,
        Math.min(end, start + (to - firstUnit) * unitBytes),
        end,
        start,
      );
    }
    this.#unitCursors[scanNumber] = at;
  }

  #addRange(width: 3 | 4, from: number, to: number, end: number, floor: number): void {
    const at = this.#rangeCount * width;
    if (at + width > this.#ranges.length) {
      const grown = new Uint32Array(this.#ranges.length * 2);
      grown.set(this.#ranges);
      this.#ranges = grown;
    }
    this.#ranges[at] = from;
    this.#ranges[at + 1] = to;
    this.#ranges[at + 2] = end;
    if (width === 4) this.#ranges[at + 3] = floor;
    this.#rangeCount++;
    this.scannedBytes += to - from;
  }

  /** Notes where each content's rows begin, and which has too many. */
  #segment(contents: Uint32Array): void {
    const { words, count } = this.rows;
    let row = 0;
    for (let i = 0; i < contents.length; i++) {
      this.rowStart[i] = row;
      const end = contents[i] < this.#reader.contentCount ? this.#reader.contentStart[contents[i] + 1] : 0;
      while (row < count && words[row * 2] < end) row++;
      if (row - this.rowStart[i] > contentMatchCountMax) this.tooCostly.add(contents[i]);
    }
    this.rowStart[contents.length] = row;
  }
}

/** The distances at which the needle overlaps itself: 3 for `abba`. */
function computeShifts(needle: Buffer): number[] {
  const borders = computeBorders(needle);
  const shifts: number[] = [];
  for (let border = borders[needle.length]; border > 0; border = borders[border]) shifts.push(needle.length - border);
  return shifts;
}
