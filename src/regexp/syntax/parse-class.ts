import { normalizeRanges } from "./char-ranges.js";
import { perlClasses, posixClasses, unicodeClasses } from "./class-names.js";
import { parseEscapedCharacter } from "./parse-escape.js";
import type { SourceText } from "./syntax-error.js";
import type { ClassNode } from "./syntax.js";
import type { Parsed } from "./parsed.js";

/** The contents of a class while it is being parsed. */
interface ClassItems {
  readonly ranges: number[];
  readonly named: Set<string>;
}

const posixName = /\[:(\^?)(\w+):\]/y;
const unicodeName = /\\([pP])(?:\{(\^?)(\w*)\}|([^{]))/uy;

/** Parses the class whose `[` is at `at`. */
export function parseBracketClass(source: SourceText, at: number, fold: boolean): Parsed<ClassNode> {
  const { text } = source;
  const items: ClassItems = { ranges: [], named: new Set() };
  const negated = text[at + 1] === "^";
  const first = negated ? at + 2 : at + 1;
  let next = first;
  // A `]` right after the opening bracket is an ordinary character.
  while (text[next] !== "]" || next === first) {
    if (next >= text.length) throw source.error("missing closing ]", at, text.length);
    next = addNamedClass(source, next, items) ?? addRange(source, at, next, items);
  }
  return { value: classNode(items, negated, fold), next: next + 1 };
}

/** Parses a class outside brackets (`\d`, `\pL`, `\P{Greek}`); undefined if there is none at `at`. */
export function parseEscapedClass(source: SourceText, at: number, fold: boolean): Parsed<ClassNode> | undefined {
  const items: ClassItems = { ranges: [], named: new Set() };
  const next = addNamedClass(source, at, items);
  return next === undefined ? undefined : { value: classNode(items, false, fold), next };
}

function classNode(items: ClassItems, negated: boolean, fold: boolean): ClassNode {
  return { kind: "class", ranges: normalizeRanges(items.ranges), named: [...items.named].sort(), negated, fold };
}

/** Adds the named class at `at`, and returns the position after it; undefined if there is none. */
function addNamedClass(source: SourceText, at: number, items: ClassItems): number | undefined {
  const { text } = source;
  if (text[at] === "[") return addPosixClass(source, at, items);
  if (text[at] !== "\\") return undefined;
  const letter = text.charAt(at + 1);
  const perl = perlClasses.get(letter.toLowerCase());
  if (perl !== undefined) {
    if (letter === letter.toLowerCase()) items.ranges.push(...perl);
    else items.named.add(`\\${letter}`);
    return at + 2;
  }
  return letter === "p" || letter === "P" ? addUnicodeClass(source, at, items) : undefined;
}

/**
 * Negated classes stay named instead of becoming ranges: under folding, RE2 folds the class before it negates it, and
 * the ranges of a complement would be folded afterwards.
 */
function addPosixClass(source: SourceText, at: number, items: ClassItems): number | undefined {
  posixName.lastIndex = at;
  const match = posixName.exec(source.text);
  if (match === null) return undefined;
  const [whole, caret, name] = match;
  const ranges = posixClasses.get(name);
  if (ranges === undefined) throw source.error("invalid character class range", at, at + whole.length);
  if (caret === "") items.ranges.push(...ranges);
  else items.named.add(`[:^${name}:]`);
  return at + whole.length;
}

function addUnicodeClass(source: SourceText, at: number, items: ClassItems): number {
  unicodeName.lastIndex = at;
  const match = unicodeName.exec(source.text);
  if (match === null) throw source.error("invalid character class range", at, at + 2);
  const [whole, letter, caret = "", long, short] = match;
  const name = long ?? short;
  if (!unicodeClasses.has(name)) throw source.error("invalid character class range", at, at + whole.length);
  const sign = (letter === "p") === (caret === "") ? "p" : "P";
  items.named.add(name.length === 1 ? `\\${sign}${name}` : `\\${sign}{${name}}`);
  return at + whole.length;
}

/** Adds the character or the range at `at`, and returns the position after it. */
function addRange(source: SourceText, open: number, at: number, items: ClassItems): number {
  const { text } = source;
  const low = parseClassCharacter(source, open, at);
  let high = low;
  // A dash before the closing bracket is an ordinary character.
  if (text[low.next] === "-" && low.next + 1 < text.length && text[low.next + 1] !== "]") {
    high = parseClassCharacter(source, open, low.next + 1);
    if (high.value < low.value) throw source.error("invalid character class range", at, high.next);
  }
  items.ranges.push(low.value, high.value);
  return high.next;
}

function parseClassCharacter(source: SourceText, open: number, at: number): Parsed<number> {
  const codePoint = source.text.codePointAt(at);
  if (codePoint === undefined) throw source.error("missing closing ]", open, source.text.length);
  if (codePoint === 0x5c) return parseEscapedCharacter(source, at);
  return { value: codePoint, next: at + (codePoint > 0xffff ? 2 : 1) };
}
