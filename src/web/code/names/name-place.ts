import { lowerBoundBy } from "../../../base/sorted-search.js";
import { element } from "../../ui/element.js";

/** A name in a file that is shown, and where it is. */
export interface NamePlace {
  readonly name: string;
  /** From 0. */
  readonly line: number;
  /** Code points before it in its line. */
  readonly character: number;
  /** The same in UTF-16 code units. */
  readonly from: number;
}

/** Longer ones are no names. */
const nameLengthMax = 200;

const nameCharacter = /[\p{L}\p{N}_$]/u;
const wholeName = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;

/** What is coloured as one of these is no name, with all that is in it. */
const otherTokens = ["keyword", "comment", "string", "number", "literal", "regexp", "doctag"];

/** The name at a point of the window; undefined if none is there. */
export function nameAtPoint(x: number, y: number): NamePlace | undefined {
  const caret = caretAt(x, y);
  if (caret === undefined || caret.node.nodeType !== Node.TEXT_NODE) return undefined;
  const code = caret.node.parentElement?.closest<HTMLElement>(".file-lines .line > code");
  if (code === null || code === undefined) return undefined;
  const found = nameAt(code, caret.node, caret.offset);
  // The nearest caret may be far from the pointer, such as behind the end of a line.
  const rect = found && rangeOfName(code, found)?.getBoundingClientRect();
  if (rect === undefined || x < rect.left - 1 || x > rect.right + 1 || y < rect.top - 2 || y > rect.bottom + 2)
    return undefined;
  return found;
}

interface Caret {
  readonly node: Node;
  readonly offset: number;
}

function caretAt(x: number, y: number): Caret | undefined {
  const position = document.caretPositionFromPoint?.(x, y);
  if (position) return { node: position.offsetNode, offset: position.offset };
  // The older name of the same in some browsers.
  const from = (document as { caretRangeFromPoint?: (x: number, y: number) => Range | null }).caretRangeFromPoint;
  const range = from?.call(document, x, y);
  return range ? { node: range.startContainer, offset: range.startOffset } : undefined;
}

function nameAt(code: HTMLElement, node: Node, offset: number): NamePlace | undefined {
  if (isOtherToken(node)) return undefined;
  const before = document.createRange();
  before.setStart(code, 0);
  before.setEnd(node, offset);
  const at = before.toString().length;
  const text = code.textContent ?? "";
  let from = at;
  let to = at;
  while (from > 0 && at - from <= nameLengthMax && nameCharacter.test(text.charAt(from - 1))) from--;
  while (to < text.length && to - at <= nameLengthMax && nameCharacter.test(text.charAt(to))) to++;
  return makePlace(code, text, from, to);
}

function makePlace(code: HTMLElement, text: string, from: number, to: number): NamePlace | undefined {
  const name = text.slice(from, to);
  const line = Number(code.parentElement?.dataset["line"]) - 1;
  if (!wholeName.test(name) || name.length > nameLengthMax || !(line >= 0)) return undefined;
  return { name, line, character: [...text.slice(0, from)].length, from };
}

/** Whether the innermost token around a text is one that holds no names. */
function isOtherToken(node: Node): boolean {
  const token = node.parentElement?.closest("[class^=hljs-]");
  return token != null && otherTokens.some((kind) => token.classList.contains(`hljs-${kind}`));
}

/** Names of a line that keys step through. */
const steppedNamesMax = 500;

/** The names of a line, in its order. */
export function namesOfLine(code: HTMLElement): readonly NamePlace[] {
  const found: NamePlace[] = [];
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  const whole = code.textContent ?? "";
  let start = 0;
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const text = node.nodeValue ?? "";
    if (!isOtherToken(node))
      for (const { index, 0: name } of text.matchAll(/[\p{L}_$][\p{L}\p{N}_$]*/gu)) {
        const place = makePlace(code, whole, start + index, start + index + name.length);
        if (place !== undefined) found.push(place);
        if (found.length >= steppedNamesMax) return found;
      }
    start += text.length;
  }
  return found;
}

export function codeOfLine(host: HTMLElement, line: number): HTMLElement | undefined {
  return host.querySelector<HTMLElement>(`.line[data-line="${line + 1}"] > code`) ?? undefined;
}

/** The part of the document that is the name; undefined if the line has changed. */
export function rangeOfName(code: HTMLElement, { from, name }: Pick<NamePlace, "from" | "name">): Range | undefined {
  const range = document.createRange();
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  let start = 0;
  let hasStart = false;
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const { length } = node.nodeValue ?? "";
    if (!hasStart && from < start + length) {
      range.setStart(node, from - start);
      hasStart = true;
    }
    if (hasStart && from + name.length <= start + length) {
      range.setEnd(node, from + name.length - start);
      return range;
    }
    start += length;
  }
  return undefined;
}

const highlightName = "trawl-name";
const highlightUses = "trawl-name-uses";

/**
 * Marks the name, and where it stands in the lines in sight, without a change of the document; undefined takes the marks away.
 */
export function markName(range: Range | undefined, uses: readonly Range[] = []): void {
  const highlights = (globalThis.CSS as { readonly highlights?: HighlightRegistry }).highlights;
  highlights?.delete(highlightUses);
  if (range === undefined) {
    highlights?.delete(highlightName);
    return;
  }
  if (uses.length > 0) highlights?.set(highlightUses, new Highlight(...uses));
  const mark = new Highlight(range);
  mark.priority = 1;
  highlights?.set(highlightName, mark);
}

/** Where a name stands in the lines in sight. A long line is left out: looking through it would be felt. */
export function usesInSight(host: HTMLElement, name: string): readonly Range[] {
  const lines = host.querySelectorAll<HTMLElement>(".line");
  const isBelow = (at: number, edge: number): boolean =>
    (lines[at]?.getBoundingClientRect().bottom ?? Infinity) >= edge;
  const uses: Range[] = [];
  for (let at = lowerBoundBy(lines.length, (index) => !isBelow(index, 0)); at < lines.length; at++) {
    const code = lines[at]?.querySelector<HTMLElement>(":scope > code");
    if (code != null && (code.textContent ?? "").length <= searchedLengthMax)
      for (const place of namesOfLine(code)) {
        const range = place.name === name ? rangeOfName(code, place) : undefined;
        if (range !== undefined) uses.push(range);
      }
    if (isBelow(at, window.innerHeight)) break;
  }
  return uses;
}

const searchedLengthMax = 2_000;

/** The preview of a line with its uses marked; `ranges` count code points. */
export function markedPreview(
  preview: string,
  ranges: readonly { readonly start: number; readonly end: number }[],
): readonly (string | HTMLElement)[] {
  const points = [...preview];
  const parts: (string | HTMLElement)[] = [];
  let at = 0;
  for (const { start, end } of ranges) {
    if (start < at || end > points.length) continue;
    parts.push(points.slice(at, start).join(""), element("mark", {}, points.slice(start, end).join("")));
    at = end;
  }
  return [...parts, points.slice(at).join("")];
}
