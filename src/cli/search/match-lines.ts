import type { ChunkMatch, LineMatch, StreamMatch } from "../../model/stream-events.js";
import { codePoints } from "./marked-text.js";

/** A line of a file to print. */
export interface PrintedLine extends LineMatch {
  /** False for a line of context. */
  readonly isMatch: boolean;
  /** Whether lines were left out before this one, since the previous line of the file. */
  readonly followsGap: boolean;
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

export const wholeLines: LineLayout = { each: "line", hasName: true, hasNumber: true, hasColumn: false };

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
    if (previous !== undefined && previous.lineNumber >= line.lineNumber) continue;
    printed.push({ ...line, followsGap: previous !== undefined && previous.lineNumber + 1 < line.lineNumber });
  }
  return printed;
}

/** The lines that the layout prints instead of these. */
export function layOut(lines: readonly PrintedLine[], { each, hasColumn }: LineLayout): readonly LaidOutLine[] {
  if (each === "line" && !hasColumn) return lines;
  return lines.flatMap((line) => {
    const points = codePoints(line.line);
    const column = ([from]: readonly [number, number]) =>
      hasColumn ? 1 + Buffer.byteLength(points.slice(0, from)) : undefined;
    if (each === "line" || !line.isMatch) {
      const [first] = line.offsetAndLengths;
      return each === "text" ? [] : [{ ...line, column: first === undefined ? undefined : column(first) }];
    }
    if (each === "match")
      return line.offsetAndLengths.map((range) => ({ ...line, offsetAndLengths: [range], column: column(range) }));
    // A pattern may match the empty text, of which there is nothing to print.
    return line.offsetAndLengths.flatMap((range) => {
      const [from, length] = range;
      const text = points.slice(from, from + length);
      return length === 0
        ? []
        : [{ ...line, line: text, offsetAndLengths: [[0, length] as const], column: column(range) }];
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
  return printedLines(match, { before: 0, after: 0 }).length;
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
  const shown = new Set<number>();
  for (const at of marks.keys()) {
    for (let i = Math.max(0, at - before); i <= Math.min(lines.length - 1, at + after); i++) shown.add(i);
  }
  return lines.flatMap((line, at) => {
    if (!shown.has(at)) return [];
    const lineNumber = chunk.contentStart.line + at;
    const offsetAndLengths = marks.get(at) ?? [];
    return [{ line, lineNumber, offsetAndLengths, isMatch: marks.has(at), followsGap: false }];
  });
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
      const from = line === start.line ? start.column : 0;
      // Code points are no more than UTF-16 units, so the rest of a line is never longer than this.
      const to = line === end.line ? end.column : text.length;
      const own = marks.get(at);
      if (own === undefined) marks.set(at, [[from, to - from]]);
      else own.push([from, to - from]);
    }
  }
  for (const own of marks.values()) own.sort(([a], [b]) => a - b);
  return marks;
}
