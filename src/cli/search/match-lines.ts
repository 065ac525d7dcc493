import type { ChunkMatch, LineMatch, StreamMatch } from "../../model/stream-events.js";
import { visible } from "../terminal/output.js";

/** A line of a file to print. */
export interface PrintedLine extends LineMatch {
  /** False for a line of context. */
  readonly isMatch: boolean;
  /** Whether lines were left out before this one, since the previous line of the file. */
  readonly followsGap: boolean;
  /** Bytes of the file in the line before each of its marks; undefined if they are those of the text. */
  readonly bytesBefore?: readonly number[];
}

/** Which lines of a file are printed, and what stands before their text. */
export interface LineLayout {
  /** Each line with matches once, or once for each match; or only the text that matches, without context. */
  readonly each: "line" | "match" | "text";
  readonly hasName: boolean;
  readonly hasNumber: boolean;
  /** The column of the first match, in bytes and from 1, as editors expect it. */
  readonly hasColumn: boolean;
}

/** How many lines of context to print. */
export interface ContextLines {
  readonly before: number;
  readonly after: number;
}

/** The lines of a match in a file: those with matches, and the context that comes with chunks. */
export function printedLines(match: StreamMatch, context: ContextLines): readonly PrintedLine[] {
  if (match.chunkMatches === undefined)
    return (match.lineMatches ?? []).map((line) => ({ ...line, isMatch: true, followsGap: false }));
  const chunks = [...match.chunkMatches].sort((a, b) => a.contentStart.line - b.contentStart.line);
  const printed: PrintedLine[] = [];
  for (const line of chunks.flatMap((chunk) => linesInContext(chunk, context))) {
    const previous = printed.at(-1);
    // A line that two chunks have is printed once, but each part of a long line.
    const isPart = line.lineStart !== undefined && previous?.lineNumber === line.lineNumber;
    if (previous !== undefined && previous.lineNumber >= line.lineNumber && !isPart) continue;
    printed.push({ ...line, followsGap: previous !== undefined && previous.lineNumber + 1 < line.lineNumber });
  }
  return printed;
}

/** The lines that the layout prints instead of these. */
export function layOut(lines: readonly PrintedLine[], { each, hasColumn }: LineLayout): readonly LaidOutLine[] {
  if (each === "line" && !hasColumn) return lines;
  return lines.flatMap((line) => {
    const points = codePoints(line.line);
    const column = ([from]: readonly [number, number], mark: number) =>
      hasColumn
        ? 1 + (line.lineStart?.byte ?? 0) + (line.bytesBefore?.[mark] ?? Buffer.byteLength(points.slice(0, from)))
        : undefined;
    if (each === "line" || !line.isMatch) {
      const [first] = line.offsetAndLengths;
      return each === "text" ? [] : [{ ...line, column: first === undefined ? undefined : column(first, 0) }];
    }
    if (each === "match")
      return line.offsetAndLengths.map((range, mark) => ({
        ...line,
        offsetAndLengths: [range],
        column: column(range, mark),
      }));
    // A pattern may match the empty text, of which there is nothing to print.
    return line.offsetAndLengths.flatMap((range, mark) => {
      const [from, length] = range;
      const text = points.slice(from, from + length);
      return length === 0
        ? []
        : [{ ...line, line: text, offsetAndLengths: [[0, length] as const], column: column(range, mark) }];
    });
  });
}

export interface LaidOutLine extends PrintedLine {
  /** Undefined if it is not printed, or if nothing in the line is marked. */
  readonly column?: number | undefined;
}

/** How many lines have matches; for a commit, lines of its message or diff; for symbols, their number. */
export function countLines(match: StreamMatch): number {
  if (match.oid !== undefined) return new Set((match.ranges ?? []).map(([line]) => line)).size;
  if (match.symbols !== undefined) return match.symbols.length;
  return new Set(printedLines(match, { before: 0, after: 0 }).map(({ lineNumber }) => lineNumber)).size;
}

/** The message or the diff of a commit, without its fence. */
export function linesOfCommit({ content = "", ranges = [] }: StreamMatch): readonly LineMatch[] {
  const marks = new Map<number, (readonly [number, number])[]>();
  for (const [line, from, length] of ranges) {
    const own = marks.get(line);
    if (own === undefined) marks.set(line, [[from, length]]);
    else own.push([from, length]);
  }
  return content
    .split("\n")
    .map((line, lineNumber) => ({ line, lineNumber, offsetAndLengths: marks.get(lineNumber) ?? [] }))
    .slice(1, -1);
}

function linesInContext(chunk: ChunkMatch, { before, after }: ContextLines): readonly PrintedLine[] {
  const lines = chunk.content.split("\n");
  const marks = marksByLine(chunk, lines);
  const bytes = chunk.content.includes(replacement) ? bytesBeforeMarks(chunk, lines) : undefined;
  const shown = new Set<number>();
  for (const at of marks.keys()) {
    for (let i = Math.max(0, at - before); i <= Math.min(lines.length - 1, at + after); i++) shown.add(i);
  }
  return lines.flatMap((line, at) => {
    if (!shown.has(at)) return [];
    const lineNumber = chunk.contentStart.line + at;
    const offsetAndLengths = marks.get(at) ?? [];
    const bytesBefore = bytes && offsetAndLengths.map(([from]) => bytes.get(`${at}:${from}`) ?? 0);
    const part = chunk.lineStart === undefined ? {} : { lineStart: chunk.lineStart };
    return [{ line, lineNumber, offsetAndLengths, isMatch: marks.has(at), followsGap: false, bytesBefore, ...part }];
  });
}

/** Stands for bytes that are no UTF-8, mostly for one; as a character of the file it has three. */
const replacement = "\ufffd";

/**
 * By `line:column` of a match in the chunk: the bytes of the file before it in its line. The offsets of matches tell how many
 * bytes are between two of them; where U+FFFD stands on both sides of the start of a line, all are taken to have equally many.
 */
function bytesBeforeMarks({ contentStart, ranges }: ChunkMatch, lines: readonly string[]): Map<string, number> {
  const found = new Map<string, number>();
  const starts = ranges.map(({ start }) => start).sort((a, b) => a.offset - b.offset);
  let last = { line: 0, column: 0, offset: contentStart.offset, bytes: 0 };
  for (const { line: lineNumber, column, offset } of starts) {
    const line = lineNumber - contentStart.line;
    const inLine = codePoints(lines[line] ?? "").slice(0, column);
    let bytes = last.bytes + offset - last.offset;
    if (line > last.line) {
      const rest = [
        codePoints(lines[last.line]).slice(last.column, Infinity),
        ...lines.slice(last.line + 1, line),
        "",
      ].join("\n");
      const before = countBytes(rest);
      const own = countBytes(inLine);
      const unknown = offset - last.offset - before.known - own.known;
      bytes =
        own.known + (own.unknown === 0 ? 0 : Math.round((unknown * own.unknown) / (before.unknown + own.unknown)));
    }
    // Of a part of a line, marks count from the start of the part.
    found.set(`${line}:${column - contentStart.column}`, bytes);
    last = { line, column, offset, bytes };
  }
  return found;
}

/** The bytes of all characters but U+FFFD, and how many of these there are. */
function countBytes(text: string): { readonly known: number; readonly unknown: number } {
  const parts = text.split(replacement);
  return { known: Buffer.byteLength(parts.join("")), unknown: parts.length - 1 };
}

/** The marks of each line of a chunk that has a match, by its index; a range of several lines is divided. */
function marksByLine(chunk: ChunkMatch, lines: readonly string[]): Map<number, (readonly [number, number])[]> {
  const marks = new Map<number, (readonly [number, number])[]>();
  for (const { start, end } of chunk.ranges) {
    const last = end.column === 0 && end.line > start.line ? end.line - 1 : end.line;
    for (let line = start.line; line <= last; line++) {
      const at = line - chunk.contentStart.line;
      const text = lines[at];
      if (text === undefined) continue;
      // Only a part of a line begins at a later column.
      const before = chunk.contentStart.column;
      const from = line === start.line ? start.column - before : 0;
      // Code points are no more than UTF-16 units, so the rest of a line is never longer than this.
      const to = line === end.line ? end.column - before : text.length;
      const own = marks.get(at);
      if (own === undefined) marks.set(at, [[from, to - from]]);
      else own.push([from, to - from]);
    }
  }
  for (const own of marks.values()) own.sort(([a], [b]) => a - b);
  return marks;
}

/** A text and the ranges to mark: start and length in code points, in order. */
export interface MarkedText {
  readonly line: string;
  readonly offsetAndLengths: readonly (readonly [start: number, length: number])[];
}

export interface TextStyle {
  readonly mark: (text: string) => string;
  readonly rest: (text: string) => string;
  /** A longer text is cut around its first mark; 0 for no limit. In code points. */
  readonly columnsMax: number;
}

/** The text with its marks. Overlapping ranges are marked once. */
export function printMarked({ line, offsetAndLengths }: MarkedText, style: TextStyle): string {
  const points = codePoints(line);
  const first = offsetAndLengths[0]?.[0] ?? 0;
  const isLong = style.columnsMax > 0 && points.length > style.columnsMax;
  // A quarter of what is printed stands before the first mark.
  const from = isLong ? Math.max(0, Math.min(first - (style.columnsMax >> 2), points.length - style.columnsMax)) : 0;
  const to = isLong ? from + style.columnsMax : points.length;
  let text = from > 0 ? "…" : "";
  let done = from;
  for (const [start, length] of offsetAndLengths) {
    const end = Math.min(start + length, to);
    const begin = Math.max(start, done);
    if (end <= begin) continue;
    text += style.rest(visible(points.slice(done, begin))) + style.mark(visible(points.slice(begin, end)));
    done = end;
  }
  return text + style.rest(visible(points.slice(done, to))) + (to < points.length ? ` … ${points.length} columns` : "");
}

export interface CodePoints {
  readonly length: number;
  slice(from: number, to: number): string;
}

/** Length and `slice` by code points, because JavaScript's count UTF-16 code units. */
export function codePoints(text: string): CodePoints {
  if (!/[\ud800-\udfff]/.test(text)) return text;
  const points = Array.from(text);
  return { length: points.length, slice: (from, to) => points.slice(from, to).join("") };
}
