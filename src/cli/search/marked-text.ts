import { visible } from "./visible.js";

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
