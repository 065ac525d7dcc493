import { assert } from "../../base/assert.js";
import { cursorWords, type Kernel } from "../../native/kernel/kernel.js";
import { requiredLiterals, type Leaf } from "../../query/plan/plan.js";
import { compileTextRegexp, type Matcher } from "../../regexp/match/matcher.js";
import { SymbolView } from "../../shard/symbols/symbol-view.js";
import type { TextIndex } from "../../shard/text-sections.js";
import type { StopCheck } from "../../protocol/control-block.js";
import { type ContentScan, ContentWork, scanBytesMax, workBytesMax } from "./content-scan.js";
import { type LeafPlan, ScanRanges } from "./leaf-plan.js";
import { contentMatchCountMax, Rows, segmentRows } from "./rows.js";
import { lastAtMost } from "../../base/sorted-search.js";
import { findFoldedCharacters, foldedCharacters } from "../../base/ascii-folding.js";
import { computeBorders } from "../../native/kernel/portable-scan.js";

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
      case "automaton":
        this.#scanAutomaton(contents);
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

  #scanAutomaton(contents: Uint32Array): void {
    const { automaton } = this.#plan;
    assert(automaton !== undefined, "a plan with an automaton");
    const lines = this.#lines;
    lines.clear();
    this.#ranges.fill(contents, 0, 4, this.#exceptionCursor);
    this.#runKernel(
      lines,
      (cursor) =>
        this.#kernel.scanAutomaton(
          this.#reader.content,
          this.#ranges.words,
          this.#ranges.count,
          automaton.table,
          automaton.byLine,
          scanBytesMax,
          lines.words,
          cursor,
        ),
      4,
    );
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

  /** Searches the lines, or whole contents, that were found; they are in the order of `contents`. */
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

/** A content with more characters that fold into ASCII is searched by RE2, and so is one for a longer literal. */
const placesMax = 64;
const literalBytesMax = 256;

/** The length of the longest of these characters. */
const characterBytesMax = 3;

/** Where these characters are in a content, as offsets into the text of the shard; undefined if there are too many. */
type Places = readonly number[] | undefined;

/** By content. Valid as long as the readers: their texts do not change. */
const known = new WeakMap<TextIndex, Map<number, Places>>();

const folded = foldedCharacters.map(({ letter, bytes }) => [bytes.toString("latin1"), letter] as const);

/**
 * Whether a content with U+212A or U+017F may match a literal when case is ignored. For most contents it is false, so they
 * need not be searched by RE2, which takes twenty times as long and has to be compiled first.
 *
 * A match is either ASCII, which the kernel finds, or lies around one of these characters, of which most files have few.
 * Caller guarantees: the literal is ASCII in lower case, and the text of `reader` does not change.
 */
export function mayMatchException(
  reader: TextIndex,
  content: number,
  literal: Buffer,
  kernel: Kernel,
  stop: StopCheck,
): boolean {
  const { content: text, contentStart } = reader;
  const [start, end] = [contentStart[content], contentStart[content + 1]];
  const places = literal.length > literalBytesMax ? undefined : findPlaces(reader, content);
  if (places === undefined) return true;
  const needle = literal.toString("latin1");
  const reach = characterBytesMax * literal.length;
  if (places.some((at) => fold(text.subarray(Math.max(start, at - reach), Math.min(end, at + reach))).includes(needle)))
    return true;
  const rows = new Uint32Array(2);
  const cursor = new Uint32Array(4);
  const ranges = Uint32Array.of(start, end, end);
  while (!kernel.scan(text, ranges, 1, literal, true, scanBytesMax, rows, cursor)) {
    if (cursor[cursorWords.rows] > 0) return true;
    stop.check();
  }
  return cursor[cursorWords.rows] > 0;
}

function findPlaces(reader: TextIndex, content: number): Places {
  let ofReader = known.get(reader);
  if (ofReader === undefined) known.set(reader, (ofReader = new Map()));
  if (!ofReader.has(content)) ofReader.set(content, makePlaces(reader, content));
  return ofReader.get(content);
}

function makePlaces({ content: text, contentStart }: TextIndex, content: number): Places {
  const places: number[] = [];
  for (const at of findFoldedCharacters(text, contentStart[content], contentStart[content + 1])) {
    if (places.length === placesMax) return undefined;
    places.push(at);
  }
  return places;
}

/** The text in lower case, one character per byte (latin1), in which these characters are the letters that match them. */
function fold(text: Buffer): string {
  const bytes = text.toString("latin1");
  return folded.reduce((all, [character, letter]) => all.replaceAll(character, letter), bytes).toLowerCase();
}

/** The contents of a shard, and how needles are compared with them. */
interface SearchedText {
  readonly content: Uint8Array;
  readonly contentStart: Uint32Array;
  readonly contentCount: number;
  /** If true, needles are lower case, and A-Z in the text match a-z. */
  readonly foldCase: boolean;
}

/**
 * Adds the occurrences of `needle` that overlap one of its rows from `rowFrom` on; the rows are in the order of
 * `contents`.
 *
 * The kernel returns disjoint occurrences of each needle. If several needles are searched for, the rows of another one
 * may displace an occurrence and so make room for one that overlapped it. An omitted occurrence begins within a found
 * row, at a distance at which the needle overlaps itself.
 *
 * Adds to `tooCostly` the contents for which that takes too much work.
 */
export function addOverlappingRows(
  text: SearchedText,
  contents: Uint32Array,
  needle: Buffer,
  rows: Rows,
  rowFrom: number,
  work: ContentWork,
  tooCostly: Set<number>,
): void {
  const shifts = computeShifts(needle);
  if (shifts.length === 0) return;
  const { contentStart, contentCount } = text;
  const rowTo = rows.count;
  let at = -1;
  for (let row = rowFrom; row < rowTo; row++) {
    const start = rows.words[row * 2];
    if (at < 0 || contentStart[contents[at] + 1] <= start) {
      do at++;
      while (contents[at] >= contentCount || contentStart[contents[at] + 1] <= start);
      work.begin(contentStart[contents[at] + 1] - contentStart[contents[at]]);
    }
    if (tooCostly.has(contents[at])) continue;
    if (!addShifted(text, start, contentStart[contents[at] + 1], needle, shifts, rows, work))
      tooCostly.add(contents[at]);
  }
}

/** Returns false if that took too much work. */
function addShifted(
  text: SearchedText,
  start: number,
  contentEnd: number,
  needle: Buffer,
  shifts: readonly number[],
  rows: Rows,
  work: ContentWork,
): boolean {
  for (const shift of shifts) {
    if (!work.spend(needle.length)) return false;
    const end = start + shift + needle.length;
    if (end <= contentEnd && isAt(text, start + shift, needle)) rows.push(start + shift, end);
  }
  return true;
}

function isAt({ content, foldCase }: SearchedText, start: number, needle: Buffer): boolean {
  for (let i = 0; i < needle.length; i++) {
    const byte = content[start + i];
    const folded = foldCase && byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
    if (folded !== needle[i]) return false;
  }
  return true;
}

/** The distances at which the needle overlaps itself: 3 for `abba`. */
function computeShifts(needle: Buffer): number[] {
  const borders = computeBorders(needle);
  const shifts: number[] = [];
  for (let border = borders[needle.length]; border > 0; border = borders[border]) shifts.push(needle.length - border);
  return shifts;
}
