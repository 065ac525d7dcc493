import { gallop, lastAtMost } from "../../base/sorted-search.js";
import { cursorWords, type Kernel } from "../../native/kernel/kernel.js";
import type { StopCheck } from "../../protocol/control-block.js";
import type { Leaf } from "../../query/plan/plan.js";
import { compileTextRegexp, type Matcher } from "../../regexp/match/matcher.js";
import { StoppableWork } from "../match/content-scan.js";
import { type LeafPlan, planLeaf, ScanRanges } from "../match/leaf-plan.js";
import { Rows } from "../match/rows.js";
import { newlineStepBytes } from "../../shard/format.js";
import type { HistoryReader } from "../../history/history-reader.js";
import type { TextIndex } from "../../shard/text-sections.js";

/** The kernel returns after this much work, so that the stop flag is checked. */
const scanBytesMax = 4 * 1024 * 1024;

/** Blocks that are scanned by one call of the kernel: about a MiB. */
const blocksPerScan = 16;

/** RE2 gets a whole block only if it reads that at its usual speed. */
const usualWindowBytes = 1024 * 1024;

const nothing = Buffer.alloc(0);

/**
 * Which records one pattern matches, decided from the first record on, as far as is needed: entries refer to lines in
 * the order of their first use, so the newest commits need only the first lines.
 *
 * Sound because a record with a match contains one of the literals of each clause, its block contains one too, and the
 * blocks for which ignoring case reaches outside ASCII are searched completely.
 */
export class RecordLeaf {
  /** One bit per record with a match, which may be empty; valid for those from `first` to below the argument of `decide`. */
  readonly bits: Uint32Array;
  /** One bit per record with a match to report: those of `bits`, unless a match may be empty. */
  readonly #reportedBits: Uint32Array;
  /** Records with a match, of those that are decided. */
  matchCount = 0;
  readonly leaf: Leaf;
  readonly #records: Records;
  readonly #kernel: Kernel;
  readonly #stop: StopCheck;
  readonly #plan: LeafPlan;
  readonly #ranges: ScanRanges;
  readonly #rows = new Rows(256);
  readonly #cursor = new Uint32Array(4);
  readonly #work: StoppableWork;
  /** Null before RE2 is needed. */
  #matcher: Matcher | null = null;
  #doneBlocks = 0;
  #candidateAt = 0;
  #exceptionAt = 0;

  /** Records below `first` are not decided, except some of its block. */
  constructor(leaf: Leaf, records: Records, kernel: Kernel, useIndex: boolean, stop: StopCheck, first: number) {
    this.leaf = leaf;
    this.#records = records;
    this.#kernel = kernel;
    this.#stop = stop;
    this.#work = new StoppableWork(stop);
    // A match lies within one record, even if the pattern could cross lines: locating records by a literal suffices.
    const analysis = { ...leaf.analysis, crossesLines: false };
    this.#plan = planLeaf({ ...leaf, analysis }, records.text, kernel, useIndex, stop);
    this.#ranges = new ScanRanges(this.#plan, records.text);
    this.bits = new Uint32Array(Math.ceil(records.count / 32));
    this.#reportedBits = leaf.analysis.matchesEmpty ? new Uint32Array(this.bits.length) : this.bits;
    if (first > 0) this.#skipTo(records.start(Math.min(first, records.count)));
  }

  #skipTo(offset: number): void {
    const { contentCount, contentStart } = this.#records.text;
    this.#doneBlocks = Math.max(0, lastAtMost(contentStart, offset, contentCount));
    this.#nextBlocks(this.#doneBlocks);
  }

  /** Bytes of posting lists that were read. */
  get postingBytes(): number {
    return this.#plan.postingBytes;
  }

  get scannedBytes(): number {
    return this.#ranges.byteCount;
  }

  has(record: number): boolean {
    return hasBit(this.bits, record);
  }

  /** Whether a match in the record is reported: an empty one is not. */
  reports(record: number): boolean {
    return hasBit(this.#reportedBits, record);
  }

  /** Whether one of the records `[from, to)` matches. */
  hasAny(from: number, to: number): boolean {
    return hasAnyBit(this.bits, from, to);
  }

  reportsAny(from: number, to: number): boolean {
    return hasAnyBit(this.#reportedBits, from, to);
  }

  /** Decides all records below `end`. Throws `cancelled` when the search is stopped. */
  decide(end: number): void {
    const { contentCount, contentStart } = this.#records.text;
    if (end === 0 || this.#doneBlocks === contentCount) return;
    const endOffset = this.#records.start(Math.min(end, this.#records.count));
    while (this.#doneBlocks < contentCount && contentStart[this.#doneBlocks] < endOffset) {
      const to = Math.min(contentCount, this.#doneBlocks + blocksPerScan);
      this.#scanBlocks(this.#nextBlocks(to));
      this.#doneBlocks = to;
    }
  }

  /** The ranges of all non-empty matches in a record's text, relative to its start. */
  findAll(text: Uint8Array, rows: Rows): void {
    const { either, foldCase } = this.leaf;
    if (either.length === 0) this.#regexp.findAll(text, 0, rows, this.#work);
    else for (const one of either) compileTextRegexp(one, foldCase).findAll(text, 0, rows, this.#work);
  }

  get #regexp(): Matcher {
    return (this.#matcher ??= compileTextRegexp(this.leaf.source, this.leaf.foldCase));
  }

  /** The candidates from the first block that is not done to before `to`. */
  #nextBlocks(to: number): Uint32Array {
    const { candidates } = this.#plan;
    if (candidates === undefined)
      return Uint32Array.from({ length: to - this.#doneBlocks }, (_, i) => this.#doneBlocks + i);
    const from = this.#candidateAt;
    this.#candidateAt = gallop(candidates, from, to, candidates.length);
    return candidates.subarray(from, this.#candidateAt);
  }

  #scanBlocks(blocks: Uint32Array): void {
    if (blocks.length === 0) return;
    const { method, scans, exceptions } = this.#plan;
    if (method === "contents") {
      for (const block of blocks) this.#searchBlock(block);
      return;
    }
    for (let i = 0; i < scans.length; i++) {
      if (method === "literals" && scans[i].needle.includes(this.#records.delimiter)) continue;
      this.#ranges.fill(blocks, i, 4, this.#exceptionAt);
      this.#scanLiteral(scans[i].needle, method === "literals");
    }
    for (const block of blocks) {
      while (exceptions[this.#exceptionAt] < block) this.#exceptionAt++;
      if (exceptions[this.#exceptionAt] === block) this.#searchBlock(block);
    }
  }

  /** Marks the records in the ranges that contain the literal and, unless it suffices, match the regexp. */
  #scanLiteral(needle: Buffer, suffices: boolean): void {
    const rows = this.#rows;
    const { text, delimiter } = this.#records;
    const cursor = this.#cursor.fill(0);
    for (let isDone = false; !isDone; ) {
      rows.clear();
      cursor[cursorWords.rows] = 0;
      isDone = this.#kernel.scanLines(
        text.content,
        this.#ranges.words,
        this.#ranges.count,
        needle,
        this.leaf.foldCase,
        delimiter,
        scanBytesMax,
        rows.words,
        cursor,
      );
      this.#stop.check();
      for (let i = 0; i < cursor[cursorWords.rows]; i++) {
        const [from, to] = [rows.words[i * 2], rows.words[i * 2 + 1]];
        if (suffices || this.#matches(from, to)) this.#mark(this.bits, this.#records.recordAt(from));
      }
    }
  }

  /** Whether the text has a match that is reported. */
  #matches(from: number, to: number): boolean {
    this.#stop.check();
    const text = this.#records.text.content.subarray(from, to);
    // A match that is empty or consists of newlines is none, unless the regexp asks for newlines.
    const { crossesLines, matchesEmpty } = this.leaf.analysis;
    if (!crossesLines && !matchesEmpty && text.length <= usualWindowBytes) return this.#regexp.test(text);
    return this.#hasNonEmpty(text);
  }

  /** Whether any match is in a line of the record. A changed line without text is one, a message without text has none. */
  #matchesInLine(from: number, to: number): boolean {
    this.#stop.check();
    if (from === to) return this.#records.areLines && this.#regexp.test(nothing);
    return this.#regexp.matchesInLine(this.#records.text.content.subarray(from, to), this.#work) === true;
  }

  #hasNonEmpty(text: Uint8Array): boolean {
    const rows = new Rows(1);
    this.#regexp.findAll(text, 0, rows, this.#work, 1);
    return rows.count > 0;
  }

  /** Tries the regexp on all records of a block. */
  #searchBlock(block: number): void {
    const { contentStart, content } = this.#records.text;
    const [start, end] = [contentStart[block], contentStart[block + 1]];
    const regexp = this.#regexp;
    const { crossesLines, matchesEmpty } = this.leaf.analysis;
    // Then the first match of each line can be searched in the block: what precedes and follows the line is not seen.
    const isLocal =
      this.#records.areLines &&
      !crossesLines &&
      !matchesEmpty &&
      regexp.isLocal &&
      regexp.windowBytesMax >= usualWindowBytes;
    if (!isLocal || end - start > usualWindowBytes) {
      this.#searchRecords(start, end);
      return;
    }
    const text = content.subarray(start, end);
    for (let at = 0; at < text.length; ) {
      this.#stop.check();
      const found = regexp.startFrom(text, at);
      if (found < 0) return;
      this.#mark(this.bits, this.#records.recordAt(start + found));
      at = findEnd(text, this.#records.delimiter, found) + 1;
    }
  }

  #searchRecords(start: number, end: number): void {
    const { content } = this.#records.text;
    const { matchesEmpty } = this.leaf.analysis;
    let record = this.#records.recordAt(start);
    for (let from = start; from < end; record++) {
      const to = findEnd(content, this.#records.delimiter, from);
      const isReported = to > from && this.#matches(from, to);
      if (isReported || (matchesEmpty && this.#matchesInLine(from, to))) this.#mark(this.bits, record);
      if (isReported && matchesEmpty) this.#mark(this.#reportedBits, record);
      from = to + 1;
    }
  }

  #mark(bits: Uint32Array, record: number): void {
    const bit = 1 << (record & 31);
    if ((bits[record >>> 5] & bit) !== 0) return;
    bits[record >>> 5] |= bit;
    if (bits === this.bits) this.matchCount++;
  }
}

function hasBit(bits: Uint32Array, record: number): boolean {
  return ((bits[record >>> 5] >>> (record & 31)) & 1) === 1;
}

/** Whether a bit of `[from, to)` is set. */
function hasAnyBit(bits: Uint32Array, from: number, to: number): boolean {
  let word = from >>> 5;
  const last = (to - 1) >>> 5;
  let mask = -1 << (from & 31);
  for (; word < last; word++, mask = -1) if ((bits[word] & mask) !== 0) return true;
  return (bits[word] & mask & (-1 >>> (31 - ((to - 1) & 31)))) !== 0;
}

/** Where the record that contains `from` ends. */
function findEnd(text: Buffer, delimiter: number, from: number): number {
  const end = text.indexOf(delimiter, from);
  return end < 0 ? text.length : end;
}

/** Texts of a history shard that are searched one by one: messages or distinct lines. Each ends with a delimiter. */
export interface Records {
  readonly text: TextIndex;
  readonly delimiter: number;
  readonly count: number;
  /** Whether a text is one line. */
  readonly areLines: boolean;
  /** The number of the record that contains this byte. */
  recordAt(offset: number): number;
  /** Where a record starts; for `count`, the end of the text. */
  start(record: number): number;
}

const newline = 10;

export function lineRecords(reader: HistoryReader, kernel: Kernel): Records {
  const { lines, newlines } = reader;
  return {
    text: lines,
    delimiter: newline,
    count: reader.lineCount,
    areLines: true,
    recordAt: (offset) => {
      const step = Math.floor(offset / newlineStepBytes);
      return newlines[step] + kernel.countNewlines(lines.content, step * newlineStepBytes, offset);
    },
    start: (record) => reader.lineStart(record),
  };
}

export function messageRecords({ messages, messageStart, commitCount }: HistoryReader): Records {
  return {
    text: messages,
    delimiter: 0,
    count: commitCount,
    areLines: false,
    recordAt: (offset) => lastAtMost(messageStart, offset, commitCount),
    start: (record) => messageStart[record],
  };
}
