import { cursorWords, type Kernel } from "../../native/kernel/kernel.js";
import { requiredLiterals } from "../../query/plan/leaf-literals.js";
import type { Leaf } from "../../query/plan/plan.js";
import { compileTextRegexp } from "../../regexp/match/compile.js";
import type { Matcher } from "../../regexp/match/matcher.js";
import { SymbolView } from "../../shard/symbols/symbol-view.js";
import type { TextIndex } from "../../shard/text-index.js";
import type { StopCheck } from "../../protocol/stop-check.js";
import type { ContentScan } from "./content-scan.js";
import { ContentWork, scanBytesMax, workBytesMax } from "./content-work.js";
import { mayMatchException } from "./fold-exceptions.js";
import type { LeafPlan } from "./leaf-plan.js";
import { contentMatchCountMax } from "./match-density.js";
import { addOverlappingRows } from "./overlapping-rows.js";
import { Rows, segmentRows } from "./rows.js";
import { ScanRanges } from "./scan-ranges.js";
import { lastAtMost } from "../../base/sorted-search.js";

const newline = 10;

/** Initial capacity of a leaf's rows: most shards hold few matches, and many matches make it grow quickly. */
const rowCountInitial = 128;

/** A pattern, or the texts of an `or` as `either`, which is empty for one pattern. */
type ScannedLeaf = Pick<Leaf, "source" | "either" | "foldCase" | "highlighted" | "analysis">;

/**
 * Finds the rows of one pattern, or of an `or` of texts, in the contents of one shard. The rows of one pattern are
 * disjoint; those of an `or` of texts are disjoint for each text.
 */
export class LeafScan implements ContentScan {
  readonly labels = undefined;
  readonly rows = new Rows(rowCountInitial);
  rowStart = new Uint32Array(64);
  readonly emptyMatched = new Set<number>();
  /**
   * Contents of the last call whose search was abandoned, because it took more work than `workBytesMax` or found more
   * than `contentMatchCountMax` matches.
   */
  readonly tooCostly = new Set<number>();
  readonly #plan: LeafPlan;
  readonly #reader: TextIndex;
  readonly #kernel: Kernel;
  readonly #leaf: ScannedLeaf;
  /** Of the whole leaf; compiled when first needed, because most literals are found by the kernel alone. */
  #matcher: Matcher | undefined;
  /** True when RE2 need only find the first row in each text, because rows are not reported. */
  readonly #firstSuffices: boolean;
  /** Whether contents are searched for an empty match too. */
  readonly #countsEmpty: boolean;
  readonly #stop: StopCheck;
  readonly #work: ContentWork;
  readonly #cursor = new Uint32Array(4);
  readonly #lines = new Rows(rowCountInitial);
  readonly #ranges: ScanRanges;
  /** Bytes of text that RE2 has read, over all calls. */
  #searchedBytes = 0;
  /** Index in the plan's exceptions of the first one that is not before the contents of the last call. */
  #exceptionCursor = 0;

  /** `isCondition`: whether a document can satisfy the whole pattern by an empty match of this leaf. */
  constructor(
    plan: LeafPlan,
    reader: TextIndex,
    kernel: Kernel,
    leaf: ScannedLeaf,
    isCondition: boolean,
    stop: StopCheck,
  ) {
    this.#plan = plan;
    this.#reader = reader;
    this.#kernel = kernel;
    this.#leaf = leaf;
    this.#firstSuffices = !leaf.highlighted;
    this.#countsEmpty = isCondition && leaf.analysis.matchesEmpty;
    this.#ranges = new ScanRanges(plan, reader);
    this.#stop = stop;
    this.#work = new ContentWork(stop);
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
    this.#exceptionCursor = 0;
  }

  find(contents: Uint32Array): void {
    this.rows.clear();
    this.tooCostly.clear();
    this.emptyMatched.clear();
    if (this.#reader instanceof SymbolView) this.#reader.fill(contents, this.#kernel);
    switch (this.#plan.method) {
      case "literals":
        this.#scanLiterals(contents);
        break;
      case "lines":
        this.#scanLines(contents);
        break;
      case "contents":
        for (const content of contents) {
          const before = this.rows.count;
          // The empty match suffices if rows are not reported.
          if (!this.#countsEmpty || !this.#firstSuffices) this.#searchContent(content);
          if (this.#countsEmpty && this.rows.count === before) this.#searchEmpty(content);
        }
        break;
      case "names":
        for (const content of contents) this.#searchNames(content);
        break;
    }
  }

  #scanLiterals(contents: Uint32Array): void {
    const { scans, exceptions } = this.#plan;
    const rows = this.rows;
    for (let i = 0; i < scans.length; i++) {
      const before = rows.count;
      this.#ranges.fill(contents, i, 3, this.#exceptionCursor);
      this.#runKernel(
        rows,
        (cursor) =>
          this.#kernel.scan(
            this.#reader.content,
            this.#ranges.words,
            this.#ranges.count,
            scans[i].needle,
            this.#leaf.foldCase,
            scanBytesMax,
            rows.words,
            cursor,
          ),
        3,
      );
      if (scans.length > 1 && this.#leaf.either.length === 0) {
        const { content, contentStart, contentCount } = this.#reader;
        const text = { content, contentStart, contentCount, foldCase: this.#leaf.foldCase };
        addOverlappingRows(text, contents, scans[i].needle, rows, before, this.#work, this.tooCostly);
      }
    }
    if (scans.length > 1) this.#order();
    if (exceptions.length > 0) this.#searchExceptions(contents);
  }

  #scanLines(contents: Uint32Array): void {
    const lines = this.#lines;
    lines.clear();
    const scans = this.#plan.scans;
    for (let i = 0; i < scans.length; i++) {
      this.#ranges.fill(contents, i, 4, this.#exceptionCursor);
      this.#runKernel(
        lines,
        (cursor) =>
          this.#kernel.scanLines(
            this.#reader.content,
            this.#ranges.words,
            this.#ranges.count,
            scans[i].needle,
            this.#leaf.foldCase,
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

  /** Calls the kernel until all ranges, of `width` words each, are done; it appends to `rows`. */
  #runKernel(rows: Rows, call: (cursor: Uint32Array) => boolean, width: 3 | 4): void {
    const cursor = this.#cursor;
    cursor.fill(0);
    cursor[cursorWords.rows] = rows.count;
    while (!call(cursor)) {
      rows.count = cursor[cursorWords.rows];
      this.#stop.check();
      this.#skipTooCostly(cursor, width, rows);
      if (rows.count * 2 === rows.words.length) rows.grow();
    }
    rows.count = cursor[cursorWords.rows];
  }

  /**
   * Skips the rest of the kernel's current content when that has taken too much work, for example because a long needle
   * nearly matches everywhere, or when it has too many rows.
   */
  #skipTooCostly(cursor: Uint32Array, width: 3 | 4, rows: Rows): void {
    const { words: ranges, count: rangeCount } = this.#ranges;
    const end = ranges[cursor[cursorWords.range] * width + 2];
    const content = lastAtMost(this.#reader.contentStart, end - 1, this.#reader.contentCount);
    const start = this.#reader.contentStart[content];
    const tooMany =
      rows.count > contentMatchCountMax && rows.words[2 * (rows.count - contentMatchCountMax - 1)] >= start;
    if (!tooMany && cursor[cursorWords.work] <= workBytesMax(end - start)) return;
    this.tooCostly.add(content);
    while (cursor[cursorWords.range] < rangeCount && ranges[cursor[cursorWords.range] * width + 2] <= end)
      cursor[cursorWords.range]++;
    while (rows.count > 0 && rows.words[2 * (rows.count - 1)] >= start) rows.count--;
    cursor[cursorWords.position] = end;
    cursor[cursorWords.rows] = rows.count;
    cursor[cursorWords.work] = 0;
  }

  /** Searches the lines that hold a literal; they are in the order of `contents`. */
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

  /** Searches the exceptions among `contents` as a whole, and sorts their rows in among the others. */
  #searchExceptions(contents: Uint32Array): void {
    const exceptions = this.#plan.exceptions;
    let found = false;
    for (const content of contents) {
      while (this.#exceptionCursor < exceptions.length && exceptions[this.#exceptionCursor] < content)
        this.#exceptionCursor++;
      if (exceptions[this.#exceptionCursor] !== content) continue;
      if (!this.#mayMatchException(content)) continue;
      found = true;
      this.#searchContent(content);
    }
    // The ranges exclude the contents of exceptions, so no row occurs twice.
    if (found) this.#order();
  }

  /** False only if an exception has no match. */
  #mayMatchException(content: number): boolean {
    const { exact } = requiredLiterals(this.#leaf);
    // The text of a view of symbols is another one in each block.
    if (exact?.length !== 1 || this.#reader instanceof SymbolView || content >= this.#reader.contentCount) return true;
    this.#searchedBytes += this.#reader.contentStart[content + 1] - this.#reader.contentStart[content];
    return mayMatchException(this.#reader, content, exact[0], this.#kernel, this.#stop);
  }

  #order(): void {
    if (this.#leaf.either.length === 0) this.rows.makeDisjoint(0);
    else this.rows.sort(0);
  }

  #searchContent(content: number): void {
    if (content >= this.#reader.contentCount) return;
    const [start, end] = [this.#reader.contentStart[content], this.#reader.contentStart[content + 1]];
    this.#work.begin((end - start) * Math.max(1, this.#leaf.either.length));
    if (!this.#search(start, end)) this.tooCostly.add(content);
  }

  /** Searches for any match in a line of a content without rows: it is empty, or rows were not wanted. */
  #searchEmpty(content: number): void {
    if (content >= this.#reader.contentCount || this.tooCostly.has(content)) return;
    const [start, end] = [this.#reader.contentStart[content], this.#reader.contentStart[content + 1]];
    this.#searchedBytes += end - start;
    this.#work.begin(end - start);
    this.#matcher ??= compileTextRegexp(this.#leaf.source, this.#leaf.foldCase);
    const matches = this.#matcher.matchesInLine(this.#reader.content.subarray(start, end), this.#work);
    if (matches === undefined) this.tooCostly.add(content);
    else if (matches) this.emptyMatched.add(content);
  }

  #searchNames(content: number): void {
    if (content >= this.#reader.contentCount) return;
    const { contentStart, content: names } = this.#reader;
    const end = contentStart[content + 1];
    this.#work.begin((end - contentStart[content]) * Math.max(1, this.#leaf.either.length));
    for (let from = contentStart[content]; from < end; ) {
      const to = names.indexOf(newline, from);
      if (!this.#search(from, to)) this.tooCostly.add(content);
      from = to + 1;
    }
  }

  /** Returns false when that took too much work. */
  #search(from: number, to: number): boolean {
    this.#searchedBytes += to - from;
    const text = this.#reader.content.subarray(from, to);
    const countMax = this.#firstSuffices ? 1 : contentMatchCountMax + 1;
    const { source, either, foldCase } = this.#leaf;
    if (either.length === 0) {
      this.#matcher ??= compileTextRegexp(source, foldCase);
      return this.#matcher.findAll(text, from, this.rows, this.#work, countMax);
    }
    return either.every((one) => compileTextRegexp(one, foldCase).findAll(text, from, this.rows, this.#work, countMax));
  }
}
