import { lastAtMost, lowerBound } from "../../base/sorted-search.js";
import { cursorWords, type Kernel } from "../../native/kernel/kernel.js";
import type { WindowGroup } from "../../native/kernel/pattern-kernel.js";
import type { StopCheck } from "../../protocol/stop-check.js";
import type { PatternSet } from "../../query/plan/pattern-plan.js";
import { compileTextRegexp } from "../../regexp/match/compile.js";
import type { TextIndex } from "../../shard/text-index.js";
import type { ContentScan } from "./content-scan.js";
import { ContentWork, workBytesMax } from "./content-work.js";
import { foldText } from "./folded-text.js";
import { Labels } from "./labels.js";
import type { LeafPlan } from "./leaf-plan.js";
import { contentMatchCountMax } from "./match-density.js";
import { Rows, segmentRows } from "./rows.js";
import { ScanRanges } from "./scan-ranges.js";

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
