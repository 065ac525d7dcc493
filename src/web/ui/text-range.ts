import { withoutReordering, withoutSuffix } from "../../base/text.js";
import { formatCount } from "./numbers.js";

/** Positions in lines. The daemon counts code points, and JavaScript UTF-16 code units. */

/** A part of a line in UTF-16 code units; `to` is exclusive. */
export interface TextRange {
  readonly from: number;
  readonly to: number;
}

/** The index of a code point; the end of the line if it has fewer. */
export function unitIndex(line: string, column: number): number {
  let index = 0;
  for (let left = column; left > 0 && index < line.length; left--)
    index += (line.codePointAt(index) ?? 0) > 0xffff ? 2 : 1;
  return index;
}

/** Sorted, without overlap and without empty ranges. */
export function mergeRanges(ranges: readonly TextRange[]): readonly TextRange[] {
  const merged: { from: number; to: number }[] = [];
  for (const { from, to } of [...ranges].sort((one, other) => one.from - other.from)) {
    const last = merged.at(-1);
    if (to <= from) continue;
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
    else merged.push({ from, to });
  }
  return merged;
}

/** A part of a line with the class of its token, "" for none. */
export interface Token extends TextRange {
  readonly kind: string;
}

/** The tokens of a line as it is shown; none where the file has another text. The end of a line may be CR LF, which the file's lacks. */
export function matchingTokens(
  known: { readonly text: string; readonly tokens: readonly Token[] } | undefined,
  text: string,
): readonly Token[] {
  return known?.text === withoutSuffix(text, "\r") ? known.tokens : [];
}

/** The line as elements: tokens in spans with their class, and the ranges in `mark` elements. */
export function markedText(text: string, marks: readonly TextRange[], tokens: readonly Token[] = []): Node {
  const line = withoutReordering(text);
  const made = document.createDocumentFragment();
  const sorted = mergeRanges(marks);
  let at = 0;
  for (const { from, to } of sorted) {
    addTokens(made, line, at, from, tokens);
    const mark = document.createElement("mark");
    addTokens(mark, line, from, to, tokens);
    made.append(mark);
    at = to;
  }
  addTokens(made, line, at, line.length, tokens);
  return made;
}

function addTokens(parent: Node, line: string, from: number, to: number, tokens: readonly Token[]): void {
  let at = from;
  for (const token of tokens) {
    if (token.to <= at) continue;
    if (token.from >= to) break;
    const [start, end] = [Math.max(token.from, at), Math.min(token.to, to)];
    if (start > at) parent.appendChild(document.createTextNode(line.slice(at, start)));
    const span = document.createElement("span");
    span.className = token.kind;
    span.textContent = line.slice(start, end);
    parent.appendChild(span);
    at = end;
  }
  if (at < to) parent.appendChild(document.createTextNode(line.slice(at, to)));
}

/** Longer lines are cut: they stall every browser. */
const lineLengthMax = 20_000;

/** The line, or its beginning and how much more there is. */
export function cutLine(text: string): string {
  const more = text.length - lineLengthMax;
  return more <= 0 ? text : `${text.slice(0, lineLengthMax)} … ${formatCount(more)} more characters`;
}
