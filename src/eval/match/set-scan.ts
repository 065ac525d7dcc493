import { lastAtMost, lowerBound } from "../../base/sorted-search.js";
import { cursorWords, type Kernel } from "../../native/kernel/kernel.js";
import type { WindowGroup } from "../../native/kernel/pattern-kernel.js";
import type { StopCheck } from "../../protocol/control-block.js";
import type { PatternSet } from "../../query/plan/plan.js";
import { compileTextRegexp } from "../../regexp/match/matcher.js";
import type { TextIndex } from "../../shard/text-sections.js";
import { type ContentScan, type ContentSet, ContentWork, unite, workBytesMax } from "./content-scan.js";
import { contentMatchCountMax, Labels, Rows, segmentRows } from "./rows.js";
import { type LeafPlan, type LiteralScan, ScanRanges } from "./leaf-plan.js";

/** The kernel returns after this much work, so that the stop flag is checked. */
const scanBytesMax = 1024 * 1024;

/** Room for the occurrences that one call of the kernel finds. */
const hitCountMin = 4096;

/**
 * Limit on the labels of a block, 12 bytes each. Only a set of many patterns that match nearly everywhere, such as one
 * pattern many times, comes near it; the contents that have the others are excluded.
 */
const labelCountMax = 8 * 1024 * 1024;

/**
 * Finds all patterns of a set in the contents of one shard. Its labels are the ranges that a search for each pattern
 * alone would find; its rows are those of them that do not overlap an earlier one.
 *
 * The kernel finds the literals of the set in one pass. A literal is a pattern, or locates regexps, which RE2 then
 * searches for in that content.
 */
export class SetScan implements ContentScan {
  readonly rows = new Rows(128);
  readonly labels = new Labels();
  rowStart = new Uint32Array(64);
  readonly emptyMatched: ReadonlySet<number> = new Set();
  readonly tooCostly = new Set<number>();
  readonly #set: PatternSet;
  readonly #foldCase: boolean;
  readonly #plan: LeafPlan;
  readonly #reader: TextIndex;
  readonly #kernel: Kernel;
  readonly #stop: StopCheck;
  readonly #work: ContentWork;
  readonly #ranges: ScanRanges;
  readonly #cursor = new Uint32Array(4);
  /** By literal: where its last occurrence ends. */
  readonly #ends: Uint32Array;
  readonly #hits: Uint32Array;
  /** The first label of the group that is being searched for. */
  #labelFrom = 0;
  /** By regexp: the contents of the block in which it is to be searched for. */
  readonly #located = new Map<number, Set<number>>();
  #searchedBytes = 0;

  constructor(set: PatternSet, foldCase: boolean, plan: LeafPlan, reader: TextIndex, kernel: Kernel, stop: StopCheck) {
    this.#set = set;
    this.#foldCase = foldCase;
    this.#plan = plan;
    this.#reader = reader;
    this.#kernel = kernel;
    this.#stop = stop;
    this.#work = new ContentWork(stop);
    this.#ranges = new ScanRanges(plan, reader);
    this.#ends = new Uint32Array(set.table.starts.length);
    this.#hits = new Uint32Array(3 * Math.max(hitCountMin, ...set.table.groups.map(({ bucketMax }) => bucketMax)));
  }

  get scannedBytes(): number {
    return this.#ranges.byteCount + this.#searchedBytes;
  }

  scan(contents: Uint32Array): void {
    this.find(contents);
    if (this.rowStart.length <= contents.length) this.rowStart = new Uint32Array(contents.length * 2);
    segmentRows(this.rows, contents, this.#reader, this.rowStart, this.tooCostly);
  }

  rewind(): void {
    this.#ranges.rewind();
    this.#ends.fill(0);
  }

  find(contents: Uint32Array): void {
    this.rows.clear();
    this.labels.clear();
    this.tooCostly.clear();
    this.#located.clear();
    const { exceptions } = this.#plan;
    for (const [i, group] of this.#set.table.groups.entries()) {
      this.#ranges.fill(contents, i, 3, 0);
      this.#scanGroup(group, this.#reader.content, this.#ranges.words, this.#ranges.count, undefined);
    }
    for (const content of contents) if (isIn(exceptions, content)) this.#scanFolded(content);
    this.#searchRegexps(contents);
    this.labels.sort(this.#kernel);
    this.#fillRows();
  }

  /** Finds the literals of a group; `positionOf` is defined for a text that is a folded content. */
  #scanGroup(
    group: WindowGroup,
    text: Uint8Array,
    ranges: Uint32Array,
    rangeCount: number,
    positionOf: ((at: number) => number) | undefined,
  ): void {
    const { table } = this.#set;
    const cursor = this.#cursor.fill(0);
    this.#labelFrom = this.labels.count;
    const ends = positionOf === undefined ? this.#ends : new Uint32Array(this.#ends.length);
    const call = (): boolean =>
      this.#kernel.scanWindows({
        text,
        ranges,
        rangeCount,
        table,
        group,
        workMax: scanBytesMax,
        ends,
        hits: this.#hits,
        cursor,
      });
    for (let isDone = false; !isDone; ) {
      isDone = call();
      this.#stop.check();
      this.#takeHits(cursor[cursorWords.rows], positionOf);
      cursor[cursorWords.rows] = 0;
      if (!isDone) this.#skipTooCostly(cursor, ranges, rangeCount, positionOf);
    }
  }

  #takeHits(count: number, positionOf: ((at: number) => number) | undefined): void {
    const { targets, targetStarts, count: patternCount } = this.#set;
    const hits = this.#hits;
    for (let i = 0; i < count; i++) {
      const start = positionOf === undefined ? hits[3 * i] : positionOf(hits[3 * i]);
      const end = positionOf === undefined ? hits[3 * i + 1] : positionOf(hits[3 * i + 1]);
      const literal = hits[3 * i + 2];
      if (this.labels.count >= labelCountMax) {
        this.tooCostly.add(this.#contentAt(start));
        continue;
      }
      for (let t = targetStarts[literal]; t < targetStarts[literal + 1]; t++) {
        const target = targets[t];
        if (target >= patternCount) this.#locate(target - patternCount, this.#contentAt(start));
        else this.labels.push(start, end, target);
      }
    }
  }

  #contentAt(position: number): number {
    return lastAtMost(this.#reader.contentStart, position, this.#reader.contentCount);
  }

  #locate(regexp: number, content: number): void {
    const contents = this.#located.get(regexp);
    if (contents === undefined) this.#located.set(regexp, new Set([content]));
    else contents.add(content);
  }

  /** Skips the rest of the kernel's current content if it has taken too much work. */
  #skipTooCostly(
    cursor: Uint32Array,
    ranges: Uint32Array,
    rangeCount: number,
    positionOf: ((at: number) => number) | undefined,
  ): void {
    const end = ranges[cursor[cursorWords.range] * 3 + 2];
    const { contentStart } = this.#reader;
    const content = this.#contentAt((positionOf?.(end) ?? end) - 1);
    const start = contentStart[content];
    if (cursor[cursorWords.work] <= workBytesMax(contentStart[content + 1] - start)) return;
    const { words } = this.labels;
    this.tooCostly.add(content);
    while (cursor[cursorWords.range] < rangeCount && ranges[cursor[cursorWords.range] * 3 + 2] <= end)
      cursor[cursorWords.range]++;
    while (this.labels.count > this.#labelFrom && words[3 * (this.labels.count - 1)] >= start) this.labels.count--;
    cursor[cursorWords.position] = end;
    cursor[cursorWords.work] = 0;
  }

  /** Finds the literals in a content in which ignoring case reaches outside ASCII. */
  #scanFolded(content: number): void {
    const { contentStart, contentCount } = this.#reader;
    if (content >= contentCount) return;
    const [start, end] = [contentStart[content], contentStart[content + 1]];
    const { bytes, positionOf } = foldText(this.#reader.content.subarray(start, end));
    this.#searchedBytes += end - start;
    const ranges = Uint32Array.of(0, bytes.length, bytes.length);
    for (const group of this.#set.table.groups)
      this.#scanGroup(group, bytes, ranges, 1, (at) => start + positionOf(at));
  }

  #searchRegexps(contents: Uint32Array): void {
    const { regexps } = this.#set;
    for (const [i, { source, pattern, isLocated }] of regexps.entries()) {
      const chosen = isLocated ? this.#located.get(i) : contents;
      if (chosen === undefined) continue;
      const matcher = compileTextRegexp(source, this.#foldCase);
      const sink = { push: (start: number, end: number) => this.labels.push(start, end, pattern) };
      for (const content of chosen) {
        if (content >= this.#reader.contentCount || this.tooCostly.has(content)) continue;
        const { contentStart, content: text } = this.#reader;
        const [start, end] = [contentStart[content], contentStart[content + 1]];
        this.#searchedBytes += end - start;
        this.#work.begin(end - start);
        const countMax = Math.min(contentMatchCountMax + 1, labelCountMax - this.labels.count);
        const isDone = countMax > 0 && matcher.findAll(text.subarray(start, end), start, sink, this.#work, countMax);
        if (!isDone || this.labels.count >= labelCountMax) this.tooCostly.add(content);
      }
    }
  }

  /** Fills the rows with ranges that do not overlap: the first of those that do, and the longest of those that start together. */
  #fillRows(): void {
    const { words, count } = this.labels;
    let last = 0;
    for (let i = 0; i < count; i++) {
      if (words[3 * i] < last) continue;
      last = words[3 * i + 1];
      this.rows.push(words[3 * i], last);
    }
  }
}

function isIn(numbers: Uint32Array, number: number): boolean {
  return numbers[lowerBound(numbers, number)] === number;
}

/**
 * Posting lists are read if they have at most this many bytes per 64 KiB of the shard's text; otherwise the whole text is
 * scanned. Reading a list and those that it is intersected with takes about 200 times as long per byte as a scan, and
 * what it excludes is rarely the whole text: the look-up may cost a fifth of the scan. That of a small text may cost more,
 * because it takes microseconds.
 */
const listBytesPerBlock = 64;
const listBytesMin = 4096;
const blockBytes = 64 * 1024;

const noNumbers = new Uint32Array(0);
const noNeedle = Buffer.alloc(0);

/**
 * Plans a set of patterns on a shard; each group of literals has a scan. Sound: a pattern matches a content only if one of
 * the literals that locate it occurs there, or if it has none, and then every content is a candidate; a literal is in the
 * unit lists of all its trigrams; and contents in which ignoring case reaches outside ASCII are always candidates.
 */
export function planSet(
  set: PatternSet,
  foldCase: boolean,
  reader: TextIndex,
  kernel: Kernel,
  useIndex: boolean,
): LeafPlan {
  const exceptions = foldCase ? reader.foldExceptions : noNumbers;
  const method = set.regexps.length === 0 ? "set" : "contents";
  const mayLookUp = useIndex && reader.hasPostings;
  const found = set.table.groups.map((group) => (mayLookUp ? lookUp(set, group, reader, kernel) : undefined));
  const scans = found.map((units) => ({ needle: noNeedle, units: units?.units }));
  const postingBytes = found.reduce((sum, units) => sum + (units?.postingBytes ?? 0), 0);
  const isLocated = set.regexps.every((regexp) => regexp.isLocated);
  const candidates = isLocated ? contentsOfScans(scans, exceptions, reader, kernel) : undefined;
  return { method, scans, candidates, exceptions, postingBytes };
}

function contentsOfScans(
  scans: readonly LiteralScan[],
  exceptions: Uint32Array,
  reader: TextIndex,
  kernel: Kernel,
): ContentSet {
  return scans.reduce((contents: ContentSet, { units }) => {
    if (units === undefined || contents === undefined) return undefined;
    const out = new Uint32Array(Math.min(units.length, reader.contentCount));
    const count = kernel.contentsOfUnits(units, units.length, reader.contentFirstUnit, out);
    return unite(contents, out.subarray(0, count));
  }, exceptions);
}

/** The units in which a literal of the group can start; undefined if it costs less to scan all of them. */
function lookUp(
  { table }: PatternSet,
  { from, to }: WindowGroup,
  reader: TextIndex,
  kernel: Kernel,
): { readonly units: Uint32Array; readonly postingBytes: number } | undefined {
  const unitCount = reader.contentFirstUnit[reader.contentCount];
  const textBytes = reader.contentStart[reader.contentCount];
  const bits = new Uint32Array(Math.ceil(unitCount / 32) + 1);
  const totals = new Uint32Array(2);
  const isFound = kernel.unitsOfPatterns({
    keys: reader.keys,
    starts: reader.postingStart,
    postings: reader.postings,
    table,
    literalFrom: from,
    literalTo: to,
    costMax: Math.max(listBytesMin, Math.ceil(textBytes / blockBytes) * listBytesPerBlock),
    units: bits,
    totals,
  });
  if (!isFound) return undefined;
  const units = positionsOfBits(bits);
  reader.requireUnits(units);
  return { units, postingBytes: totals[1] };
}

function positionsOfBits(bits: Uint32Array): Uint32Array {
  const positions: number[] = [];
  for (let word = 0; word < bits.length; word++)
    for (let left = bits[word]; left !== 0; left &= left - 1) positions.push(32 * word + 31 - Math.clz32(left & -left));
  return Uint32Array.from(positions);
}

/** A content in which each character that folds to an ASCII letter from outside ASCII is replaced by that letter. */
interface FoldedText {
  readonly bytes: Uint8Array;
  /** The position in the content of a position in `bytes`, or of its end. */
  positionOf(folded: number): number;
}

/**
 * Folds U+017F (C5 BF) to s and U+212A (E2 84 AA) to k: the only characters outside ASCII that are equal to an ASCII
 * letter if case is ignored. Their first bytes never continue another character, so they are recognized in any bytes.
 */
function foldText(text: Uint8Array): FoldedText {
  const bytes = new Uint8Array(text.length);
  const shrunkAt: number[] = [];
  const removed: number[] = [0];
  let count = 0;
  for (let at = 0; at < text.length; ) {
    const size = foldedSize(text, at);
    bytes[count++] = size === 2 ? 0x73 : size === 3 ? 0x6b : text[at];
    at += size;
    if (size === 1) continue;
    shrunkAt.push(count);
    removed.push(at - count);
  }
  return { bytes: bytes.subarray(0, count), positionOf: (folded) => folded + removed[countAtMost(shrunkAt, folded)] };
}

function foldedSize(text: Uint8Array, at: number): 1 | 2 | 3 {
  if (text[at] === 0xc5 && text[at + 1] === 0xbf) return 2;
  return text[at] === 0xe2 && text[at + 1] === 0x84 && text[at + 2] === 0xaa ? 3 : 1;
}

/** How many of the ascending numbers are at most `limit`. */
function countAtMost(numbers: readonly number[], limit: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
