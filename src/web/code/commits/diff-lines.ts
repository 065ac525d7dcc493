import { matchingTokens, mergeRanges, type TextRange, type Token } from "../../ui/text-range.js";
import type { TokenLines } from "../../ui/token-reader.js";

/** Consecutive changed lines with their context. */
export interface DiffHunk {
  readonly oldRange: { readonly startLine: number; readonly lines: number };
  readonly newRange: { readonly startLine: number; readonly lines: number };
  readonly section: string | null;
  readonly body: string;
}

interface FileOfCommit {
  readonly commit?: { readonly oid: string };
}

/** A file that differs. */
export interface FileDiff {
  readonly oldPath: string | null;
  readonly newPath: string | null;
  readonly oldFile: FileOfCommit | null;
  readonly newFile: FileOfCommit | null;
  readonly mostRelevantFile: { readonly url: string };
  readonly stat: { readonly added: number; readonly deleted: number } | null;
  readonly hunks: readonly DiffHunk[] | null;
}

type Kind = "context" | "added" | "removed";

export interface DiffLine {
  readonly kind: Kind;
  readonly text: string;
  readonly tokens: readonly Token[];
  /** What differs from the line in its place on the other side. */
  readonly marks: readonly TextRange[];
  /** 0 where the line does not exist. */
  readonly oldLine: number;
  readonly newLine: number;
}

/** The tokens of the lines of a hunk, on both sides. */
export interface HunkTokens {
  readonly older: TokenLines;
  readonly newer: TokenLines;
}

export function parseLines(
  { body, oldRange, newRange }: DiffHunk,
  tokens: HunkTokens | undefined,
  marks: ReadonlyMap<number, readonly TextRange[]>,
): readonly DiffLine[] {
  let oldLine = oldRange.startLine;
  let newLine = newRange.startLine;
  return linesOfBody(body).map(({ kind, text }, at) => {
    const known =
      kind === "removed" ? tokens?.older[oldLine - oldRange.startLine] : tokens?.newer[newLine - newRange.startLine];
    return {
      kind,
      text,
      tokens: matchingTokens(known, text),
      marks: marks.get(at) ?? [],
      oldLine: kind === "added" ? 0 : oldLine++,
      newLine: kind === "removed" ? 0 : newLine++,
    };
  });
}

type BodyLine = Pick<DiffLine, "kind" | "text">;

export function linesOfBody(body: string): readonly BodyLine[] {
  const texts = (body.endsWith("\n") ? body.slice(0, -1) : body).split("\n");
  return texts
    .filter((text) => !text.startsWith("\\"))
    .map((text) => ({
      kind: text.startsWith("+") ? "added" : text.startsWith("-") ? "removed" : "context",
      text: text.slice(1),
    }));
}

/** Lines of a file that stand before, between or after its hunks, which are the same on both sides. */
export interface Gap {
  /** Lines of the newer file; `to` is exclusive, and unknown after the last hunk. */
  readonly from: number;
  readonly to: number | undefined;
  /** What is added to the number of a line for that of the older file. */
  readonly offset: number;
}

/** Context lines that git shows around a change. */
const contextCount = 3;

/** The gap before each hunk, and the one after the last; none of a file that is new, removed, or shown as two. */
export function gapsOfHunks(hunks: readonly DiffHunk[]): readonly Gap[] {
  if (hunks.some(({ oldRange, newRange }) => oldRange.lines === 0 || newRange.lines === 0)) return [];
  const gaps: Gap[] = [];
  let from = 1;
  let offset = 0;
  for (const { oldRange, newRange } of hunks) {
    offset = oldRange.startLine - newRange.startLine;
    gaps.push({ from, to: Math.max(from, newRange.startLine), offset });
    from = newRange.startLine + newRange.lines;
    offset = oldRange.startLine + oldRange.lines - from;
  }
  const last = hunks.at(-1);
  if (last === undefined) return [];
  // Fewer lines of context are all that there are.
  const end = linesOfBody(last.body).slice(-contextCount);
  const isAtEnd = end.length < contextCount || end.some(({ kind }) => kind !== "context");
  return [...gaps, { from, to: isAtEnd ? from : undefined, offset }];
}

/** How many lines of a gap are shown: after the hunk before it, and before the one after it. */
export interface ShownOfGap {
  readonly top: number;
  readonly bottom: number;
}

/** Work for the marks of one file, in comparisons of two words, of which finding one costs ten: some milliseconds. */
const comparisonsPerFile = 1_000_000;
/** Of two lines. */
const comparisonsPerPair = 20_000;
/** Longer lines are marked as a whole. */
const markedLengthMax = 1_000;
/** So many removed times added lines beside each other are compared, to find which became which. */
const pairsMax = 256;
/** Lines of which less is the same became something else: marks would say nothing. */
const alikeMin = 0.4;

/** What changed within the lines of each hunk, by their place in it. Bounded for all hunks together. */
export function markHunks(hunks: readonly DiffHunk[]): readonly ReadonlyMap<number, readonly TextRange[]>[] {
  const budget = { left: comparisonsPerFile };
  return hunks.map(({ body }) => markLines(linesOfBody(body), budget));
}

function markLines(lines: readonly BodyLine[], budget: { left: number }): ReadonlyMap<number, readonly TextRange[]> {
  const marks = new Map<number, readonly TextRange[]>();
  for (let at = 0; at < lines.length; ) {
    const removedEnd = endOfKind(lines, at, "removed");
    const addedEnd = endOfKind(lines, removedEnd, "added");
    for (const [older, newer] of pairLines(lines, at, removedEnd, addedEnd, budget)) {
      const found = markPair(lines[older]?.text ?? "", lines[newer]?.text ?? "", budget);
      if (found === undefined) continue;
      marks.set(older, found.before);
      marks.set(newer, found.after);
    }
    at = Math.max(at + 1, addedEnd);
  }
  return marks;
}

function endOfKind(lines: readonly BodyLine[], from: number, kind: Kind): number {
  let end = from;
  while (lines[end]?.kind === kind) end++;
  return end;
}

/** Which removed line became which added line: as many, in their order; otherwise those that are most alike, in their order. */
function pairLines(
  lines: readonly BodyLine[],
  from: number,
  middle: number,
  end: number,
  budget: { left: number },
): readonly (readonly [number, number])[] {
  const [olderCount, newerCount] = [middle - from, end - middle];
  const inOrder = () =>
    Array.from({ length: Math.min(olderCount, newerCount) }, (_, i) => [from + i, middle + i] as const);
  const pairCount = olderCount * newerCount;
  if (olderCount === newerCount || pairCount === 0 || pairCount > pairsMax) return inOrder();
  const words: ReadonlyMap<string, number>[] = [];
  for (const { text } of lines.slice(from, end)) {
    if (budget.left <= 0) return inOrder();
    words.push(countWords(text.slice(0, markedLengthMax), budget));
  }
  const alike = (older: number, newer: number): number => {
    const [one, other] = [words[older] ?? new Map(), words[olderCount + newer] ?? new Map()];
    budget.left -= 10 * (one.size + other.size);
    return likeness(one, other);
  };
  // The best sum of the likenesses of the lines from there on.
  const width = newerCount + 1;
  const best = new Float64Array((olderCount + 1) * width);
  const likenesses = new Float64Array((olderCount + 1) * width);
  for (let older = olderCount - 1; older >= 0; older--)
    for (let newer = newerCount - 1; newer >= 0; newer--) {
      if (budget.left <= 0) return inOrder();
      const here = older * width + newer;
      const value = alike(older, newer);
      likenesses[here] = value;
      best[here] = Math.max(
        best[here + width] ?? 0,
        best[here + 1] ?? 0,
        value < alikeMin ? 0 : value + (best[here + width + 1] ?? 0),
      );
    }
  const pairs: (readonly [number, number])[] = [];
  for (let older = 0, newer = 0; older < olderCount && newer < newerCount; ) {
    const here = older * width + newer;
    const value = likenesses[here] ?? 0;
    if (value >= alikeMin && best[here] === value + (best[here + width + 1] ?? 0)) {
      pairs.push([from + older++, middle + newer++]);
    } else if (best[here] === best[here + width]) older++;
    else newer++;
  }
  return pairs;
}

const wordPattern = /[\p{L}\p{M}\p{N}_]+|\s+|./gsu;

function splitWords(text: string): readonly string[] {
  return text.match(wordPattern) ?? [];
}

function countWords(text: string, budget: { left: number }): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const words = splitWords(text);
  budget.left -= 10 * words.length;
  for (const word of words) if (word.trim() !== "") counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** From 0 to 1: the part of the text that both have. */
function likeness(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): number {
  let [same, all] = [0, 0];
  for (const [word, count] of one) {
    same += 2 * word.length * Math.min(count, other.get(word) ?? 0);
    all += word.length * count;
  }
  for (const [word, count] of other) all += word.length * count;
  return all === 0 ? 0 : same / all;
}

/** The words that only one of two lines has, by the longest sequence that both have; undefined if there is nothing to mark. */
export function markPair(
  before: string,
  after: string,
  budget: { left: number } = { left: comparisonsPerPair },
): { readonly before: readonly TextRange[]; readonly after: readonly TextRange[] } | undefined {
  if (before === after || Math.max(before.length, after.length) > markedLengthMax || budget.left <= 0) return undefined;
  const [older, newer] = [splitWords(before), splitWords(after)];
  budget.left -= 10 * (older.length + newer.length);
  let start = 0;
  while (start < older.length && start < newer.length && older[start] === newer[start]) start++;
  let [olderEnd, newerEnd] = [older.length, newer.length];
  while (olderEnd > start && newerEnd > start && older[olderEnd - 1] === newer[newerEnd - 1]) {
    olderEnd--;
    newerEnd--;
  }
  const [rows, columns] = [olderEnd - start, newerEnd - start];
  if (rows * columns > Math.min(comparisonsPerPair, budget.left)) return undefined;
  budget.left -= rows * columns;
  const width = columns + 1;
  // The length of what both have from there on.
  const lengths = new Uint16Array((rows + 1) * width);
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  for (let row = rows - 1; row >= 0; row--)
    for (let column = columns - 1; column >= 0; column--)
      lengths[row * width + column] =
        older[start + row] === newer[start + column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
  const olderIsSame = older.map((_, i) => i < start || i >= olderEnd);
  const newerIsSame = newer.map((_, i) => i < start || i >= newerEnd);
  for (let row = 0, column = 0; row < rows && column < columns; ) {
    if (older[start + row] === newer[start + column]) {
      olderIsSame[start + row++] = true;
      newerIsSame[start + column++] = true;
    } else if (at(row + 1, column) >= at(row, column + 1)) row++;
    else column++;
  }
  const [one, other] = [rangesOfChange(older, olderIsSame), rangesOfChange(newer, newerIsSame)];
  const least = Math.max(one.shown, other.shown) * alikeMin;
  return one.same < least ? undefined : { before: one.ranges, after: other.ranges };
}

/** The words that are not the same as ranges of the line; white space between two of them belongs to both. */
function rangesOfChange(words: readonly string[], isSame: readonly boolean[]) {
  const ranges: TextRange[] = [];
  let [from, same, shown] = [0, 0, 0];
  words.forEach((word, i) => {
    const length = word.trim() === "" ? 0 : word.length;
    shown += length;
    const isBetween = length === 0 && isSame[i - 1] === false && isSame[i + 1] === false;
    if (isSame[i] === true) same += length;
    if (isSame[i] === false || isBetween) ranges.push({ from, to: from + word.length });
    from += word.length;
  });
  return { ranges: mergeRanges(ranges), same, shown };
}
