import type { Span } from "./characters.js";

/** Code points of a long line shown on each side of the position. */
const contextPoints = 60;

/**
 * The line of the query that contains the start of the span, with carets below the span:
 *
 *     1:8 | repo:a or
 *         |        ^^
 *
 * Line and column are 1-based, columns in code points. White space of any kind is printed as one space, so that the
 * carets are aligned; a long line is truncated on both sides.
 */
export function printCaret(query: string, span: Span): string {
  const lineStart = query.lastIndexOf("\n", span.from - 1) + 1;
  const newline = query.indexOf("\n", span.from);
  const lineEnd = newline === -1 ? query.length : newline;
  const points = [...query.slice(lineStart, lineEnd)].map((point) => (/\s/u.test(point) ? " " : point));
  const column = [...query.slice(lineStart, span.from)].length;
  const width = Math.max(1, [...query.slice(span.from, Math.min(span.to, lineEnd))].length);

  const from = Math.max(0, column - contextPoints);
  const to = Math.min(points.length, column + contextPoints);
  const before = from > 0 ? "…" : "";
  const after = to < points.length ? "…" : "";
  const carets = "^".repeat(Math.min(width, Math.max(1, to - column)));

  const label = `${lineNumberAt(query, span.from)}:${column + 1}`;
  const shown = `${label} | ${before}${points.slice(from, to).join("")}${after}`.trimEnd();
  return `${shown}\n${" ".repeat(label.length)} | ${" ".repeat(before.length + column - from)}${carets}`;
}

function lineNumberAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}
