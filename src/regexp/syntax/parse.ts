import type { Anchor, ClassNode, Regexp } from "./syntax.js";
import { normalizeRanges, perlClasses, posixClasses, unicodeClasses } from "./class-names.js";
import { TrawlError } from "../../base/errors.js";

/** Longest source; RE2 itself refuses most longer ones because their programs are too large. */
const regexpLengthMax = 65_536;
/** Nesting of groups. It bounds the recursion of everything that walks a tree; at 1,000 some overflow the stack. */
export const regexpDepthMax = 250;
/** Largest count of a repetition, and product of the counts of nested ones. */
const regexpRepeatMax = 1_000;

const escapedAnchors: ReadonlyMap<string, Anchor> = new Map([
  ["A", "text-start"],
  ["z", "text-end"],
  ["b", "word-boundary"],
  ["B", "no-word-boundary"],
]);

const countedRepeat = /\{(0|[1-9]\d*)(?:(,)(0|[1-9]\d*)?)?\}/y;
const groupName = /\(\?P?<([A-Za-z0-9_]+)>/y;

/**
 * Parses a regexp in the syntax of RE2 and Go. `^` and `$` match at line boundaries unless `(?-m)` is set, and `.` does
 * not match a newline. Throws a `RegexpSyntaxError`. Takes time linear in the source.
 */
export function parseRegexp(source: string, foldCase: boolean): Regexp {
  return parserFor(source, foldCase).parse();
}

/** Whether some group of the regexp captures. Throws a `RegexpSyntaxError`. */
export function hasCapture(source: string): boolean {
  const parser = parserFor(source, false);
  parser.parse();
  return parser.hasCapture;
}

/** A lone surrogate becomes U+FFFD, as it does wherever a string is encoded as UTF-8. */
function parserFor(source: string, foldCase: boolean): Parser {
  return new Parser(new SourceText(source.replace(/\p{Surrogate}/gu, "\uFFFD")), foldCase);
}

/**
 * Recursive descent, one level of recursion for each group: alternation, concatenation, repetition, then the atoms.
 * Flags set in a group apply until its end.
 */
class Parser {
  readonly #source: SourceText;
  readonly #text: string;
  readonly #groupNames = new Set<string>();
  /** For nodes that contain a repetition: the largest product of nested counts. */
  readonly #repeatProducts = new WeakMap<Regexp, number>();
  #flags: Flags;
  #at = 0;
  #depth = 0;
  /** Whether a group that captures was read. */
  hasCapture = false;

  constructor(source: SourceText, foldCase: boolean) {
    this.#source = source;
    this.#text = source.text;
    this.#flags = { fold: foldCase, dotNewline: false, multiLine: true, ungreedy: false };
  }

  parse(): Regexp {
    if (this.#text.length > regexpLengthMax) throw this.#source.error("expression too large", 0, 40);
    const regexp = this.#alternation();
    if (this.#at < this.#text.length) throw this.#source.errorAt("unexpected )", this.#at);
    return regexp;
  }

  /** Stops at the end or at a `)`. */
  #alternation(): Regexp {
    const branches = [this.#concatenation()];
    while (this.#text[this.#at] === "|") {
      this.#at++;
      branches.push(this.#concatenation());
    }
    return branches.length === 1 ? branches[0] : this.#parent("alternate", branches);
  }

  /** Stops at the end, at a `|` or at a `)`. */
  #concatenation(): Regexp {
    const items: Regexp[] = [];
    let lastRepeatFrom: number | undefined;
    while (this.#at < this.#text.length && this.#text[this.#at] !== "|" && this.#text[this.#at] !== ")") {
      const from = this.#at;
      const itemCount = items.length;
      const bounds = this.#repeatBounds();
      if (bounds !== undefined) {
        this.#repeat(items, bounds, from, lastRepeatFrom);
        lastRepeatFrom = from;
      } else {
        this.#atom(items);
        // Flags between two repetitions do not separate them: `a*(?i)*` would nest without a group, and so without
        // bound.
        if (items.length > itemCount) lastRepeatFrom = undefined;
      }
    }
    return this.#sequence(items);
  }

  /**
   * Reads `*`, `+`, `?` or `{n,m}`; returns undefined when there is none. A brace that is not a repetition is a
   * literal.
   */
  #repeatBounds(): readonly [min: number, max: number] | undefined {
    switch (this.#text[this.#at]) {
      case "*":
        this.#at++;
        return [0, Infinity];
      case "+":
        this.#at++;
        return [1, Infinity];
      case "?":
        this.#at++;
        return [0, 1];
      case "{":
        return this.#countedBounds();
      default:
        return undefined;
    }
  }

  #countedBounds(): readonly [min: number, max: number] | undefined {
    countedRepeat.lastIndex = this.#at;
    const match = countedRepeat.exec(this.#text);
    if (match === null) return undefined;
    const [whole, low, comma, high] = match;
    const min = Number(low);
    const max = comma === undefined ? min : high === undefined ? Infinity : Number(high);
    if (min > regexpRepeatMax || (max > regexpRepeatMax && max !== Infinity) || min > max) {
      throw this.#source.error("invalid repeat count", this.#at, this.#at + whole.length);
    }
    this.#at += whole.length;
    return [min, max];
  }

  /** Applies a repetition, which begins at `from`, to the last item. */
  #repeat(items: Regexp[], [min, max]: readonly [number, number], from: number, lastRepeatFrom: number | undefined) {
    let lazy = this.#flags.ungreedy;
    if (this.#text[this.#at] === "?") {
      lazy = !lazy;
      this.#at++;
    }
    if (lastRepeatFrom !== undefined) {
      throw this.#source.error("invalid nested repetition operator", lastRepeatFrom, this.#at);
    }
    const child = items.pop();
    if (child === undefined) throw this.#source.error("missing argument to repetition operator", from, this.#at);
    const product = Math.max(1, max === Infinity ? min : max) * (this.#repeatProducts.get(child) ?? 1);
    if (product > regexpRepeatMax && max !== 0) throw this.#source.error("invalid repeat count", from, this.#at);
    const isEmpty = max === 0 || child.kind === "empty";
    const node: Regexp = isEmpty ? { kind: "empty" } : { kind: "repeat", child, min, max, lazy };
    if (!isEmpty && product > 1) this.#repeatProducts.set(node, product);
    items.push(node);
  }

  /** Reads one atom, flags, or a `\Q...\E` of any length. */
  #atom(items: Regexp[]): void {
    const character = this.#text[this.#at];
    switch (character) {
      case "(":
        return this.#parenthesis(items);
      case "[":
        return this.#class(items, parseBracketClass(this.#source, this.#at, this.#flags.fold));
      case "\\":
        return this.#escape(items);
      case ".":
        this.#at++;
        items.push({ kind: "any", newline: this.#flags.dotNewline });
        return;
      case "^":
        this.#at++;
        items.push({ kind: "anchor", at: this.#flags.multiLine ? "line-start" : "text-start" });
        return;
      case "$":
        this.#at++;
        items.push({ kind: "anchor", at: this.#flags.multiLine ? "line-end" : "text-end" });
        return;
      default:
        return this.#character(items);
    }
  }

  #character(items: Regexp[]): void {
    const text = String.fromCodePoint(this.#text.codePointAt(this.#at) ?? 0);
    this.#at += text.length;
    items.push({ kind: "literal", text, fold: this.#flags.fold });
  }

  #class(items: Regexp[], { value, next }: Parsed<ClassNode>): void {
    this.#at = next;
    const { ranges, named, negated, fold } = value;
    const isOneCharacter = !negated && named.length === 0 && ranges.length === 2 && ranges[0] === ranges[1];
    items.push(isOneCharacter ? { kind: "literal", text: String.fromCodePoint(ranges[0]), fold } : value);
  }

  #escape(items: Regexp[]): void {
    const letter = this.#text.charAt(this.#at + 1);
    if (letter === "Q") return this.#quoted(items);
    const anchor = escapedAnchors.get(letter);
    if (anchor !== undefined) {
      this.#at += 2;
      items.push({ kind: "anchor", at: anchor });
      return;
    }
    const named = parseEscapedClass(this.#source, this.#at, this.#flags.fold);
    if (named !== undefined) return this.#class(items, named);
    const { value, next } = parseEscapedCharacter(this.#source, this.#at);
    this.#at = next;
    items.push({ kind: "literal", text: String.fromCodePoint(value), fold: this.#flags.fold });
  }

  /**
   * `\Q` up to `\E` or the end. One item for each character, so that a following repetition applies to the last one.
   */
  #quoted(items: Regexp[]): void {
    const from = this.#at + 2;
    const end = this.#text.indexOf("\\E", from);
    const to = end < 0 ? this.#text.length : end;
    for (const text of this.#text.slice(from, to)) items.push({ kind: "literal", text, fold: this.#flags.fold });
    this.#at = end < 0 ? to : to + 2;
  }

  /** Reads a group, or flags for the rest of the enclosing group. */
  #parenthesis(items: Regexp[]): void {
    const open = this.#at;
    const before = this.#flags;
    const isNamed = /^\(\?P?<(?![=!])/.test(this.#text.slice(open, open + 5));
    if (isNamed) this.#name();
    else if (!this.#text.startsWith("(?", open)) this.#at++;
    else if (this.#readFlags()) return;
    this.hasCapture ||= isNamed || !this.#text.startsWith("(?", open);
    if (++this.#depth > regexpDepthMax) throw this.#source.error("expression nests too deeply", open, open + 1);
    const child = this.#alternation();
    this.#depth--;
    if (this.#text[this.#at] !== ")") throw this.#source.errorAt("missing closing )", open);
    this.#at++;
    this.#flags = before;
    items.push(child);
  }

  /** Checks the name of a capturing group, and drops it. */
  #name(): void {
    groupName.lastIndex = this.#at;
    const match = groupName.exec(this.#text);
    if (match === null) {
      const end = this.#text.indexOf(">", this.#at);
      throw this.#source.error("invalid named capture", this.#at, end < 0 ? this.#text.length : end + 1);
    }
    const [whole, name] = match;
    if (this.#groupNames.has(name)) {
      const from = this.#at + whole.indexOf(name);
      throw this.#source.error("duplicate capture group name", from, from + name.length);
    }
    this.#groupNames.add(name);
    this.#at += whole.length;
  }

  /** Reads `(?flags)` or `(?flags:` and sets the flags; returns true for the former, which is not a group. */
  #readFlags(): boolean {
    const { value, next } = parseFlags(this.#source, this.#at, this.#flags);
    this.#flags = value.flags;
    this.#at = next;
    return value.isClosed;
  }

  /** The concatenation of the items, with adjacent characters joined. */
  #sequence(items: readonly Regexp[]): Regexp {
    const children: Regexp[] = [];
    let run: { texts: string[]; fold: boolean } | undefined;
    const endRun = (): void => {
      if (run !== undefined) children.push({ kind: "literal", text: run.texts.join(""), fold: run.fold });
      run = undefined;
    };
    for (const item of items) {
      if (item.kind === "empty") continue;
      if (item.kind !== "literal") {
        endRun();
        children.push(item);
      } else if (run !== undefined && run.fold === item.fold) {
        run.texts.push(item.text);
      } else {
        endRun();
        run = { texts: [item.text], fold: item.fold };
      }
    }
    endRun();
    if (children.length === 0) return { kind: "empty" };
    return children.length === 1 ? children[0] : this.#parent("concat", children);
  }

  #parent(kind: "concat" | "alternate", children: readonly Regexp[]): Regexp {
    const node: Regexp = { kind, children };
    let product = 1;
    for (const child of children) product = Math.max(product, this.#repeatProducts.get(child) ?? 1);
    if (product > 1) this.#repeatProducts.set(node, product);
    return node;
  }
}

/** The contents of a class while it is being parsed. */
interface ClassItems {
  readonly ranges: number[];
  readonly named: Set<string>;
}

const posixName = /\[:(\^?)(\w+):\]/y;
const unicodeName = /\\([pP])(?:\{(\^?)(\w*)\}|([^{]))/uy;

/** Parses the class whose `[` is at `at`. */
function parseBracketClass(source: SourceText, at: number, fold: boolean): Parsed<ClassNode> {
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
function parseEscapedClass(source: SourceText, at: number, fold: boolean): Parsed<ClassNode> | undefined {
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

const controlEscapes: ReadonlyMap<string, number> = new Map([
  ["a", 7],
  ["f", 12],
  ["n", 10],
  ["r", 13],
  ["t", 9],
  ["v", 11],
]);

/**
 * `\0` with up to two more octal digits; a digit from 1 on requires a second one, because alone it would be a
 * back-reference.
 */
const octal = /\\(0[0-7]{0,2}|[1-7][0-7]{1,2})/y;
const hexadecimal = /\\x(?:\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{2}))/y;
const escapeExcerpt = /\\(?:x(?:\{[0-9a-fA-F]*.?|[0-9a-fA-F]?.?)|.)/suy;

/** Parses the escape sequence at `at`, which must denote a single character. */
function parseEscapedCharacter(source: SourceText, at: number): Parsed<number> {
  const { text } = source;
  const letter = text.charAt(at + 1);
  if (letter === "") throw source.error("trailing backslash at end of expression", text.length, text.length);
  const control = controlEscapes.get(letter);
  if (control !== undefined) return { value: control, next: at + 2 };
  if (letter < "\x80" && !/[0-9A-Za-z]/.test(letter)) return { value: letter.charCodeAt(0), next: at + 2 };
  const number = parseNumber(text, at);
  if (number === undefined || number.value > 0x10ffff || isSurrogate(number.value)) throw invalidEscape(source, at);
  return number;
}

function parseNumber(text: string, at: number): Parsed<number> | undefined {
  octal.lastIndex = at;
  const eight = octal.exec(text);
  if (eight !== null) return { value: Number.parseInt(eight[1], 8), next: at + eight[0].length };
  hexadecimal.lastIndex = at;
  const sixteen = hexadecimal.exec(text);
  if (sixteen === null) return undefined;
  return { value: Number.parseInt(sixteen[1] ?? sixteen[2], 16), next: at + sixteen[0].length };
}

/** UTF-8 text contains no surrogates, so a reference to one is an error. */
function isSurrogate(codePoint: number): boolean {
  return codePoint >= 0xd800 && codePoint <= 0xdfff;
}

function invalidEscape(source: SourceText, at: number): Error {
  escapeExcerpt.lastIndex = at;
  const excerpt = escapeExcerpt.exec(source.text)?.[0] ?? "\\";
  return source.error("invalid escape sequence", at, at + excerpt.length);
}

/** The flags that apply at a position: `(?i)`, `(?s)`, `(?m)`, `(?U)`. */
export interface Flags {
  readonly fold: boolean;
  readonly dotNewline: boolean;
  readonly multiLine: boolean;
  readonly ungreedy: boolean;
}

const flagNames: ReadonlyMap<string, keyof Flags> = new Map([
  ["i", "fold"],
  ["s", "dotNewline"],
  ["m", "multiLine"],
  ["U", "ungreedy"],
]);

/** The flags after a group of flags, and whether they end the group: `(?i)` does, `(?i:` begins a group. */
export interface FlagGroup {
  readonly flags: Flags;
  readonly isClosed: boolean;
}

/** Parses `(?flags)` or `(?flags:` at `open`, where `before` applies. */
function parseFlags(source: SourceText, open: number, before: Flags): Parsed<FlagGroup> {
  const { text } = source;
  const flags = { ...before };
  let on = true;
  let sawFlag = false;
  for (let at = open + 2; ; at++) {
    const character = text.charAt(at);
    const flag = flagNames.get(character);
    if (flag !== undefined) {
      flags[flag] = on;
      sawFlag = true;
    } else if (character === "-" && on) {
      on = false;
      sawFlag = false;
    } else if ((character === ":" || character === ")") && (on || sawFlag)) {
      return { value: { flags, isClosed: character === ")" }, next: at + 1 };
    } else if (character === "") {
      throw source.errorAt("missing closing )", open);
    } else {
      throw source.error("invalid or unsupported Perl syntax", open, lookaroundEnd(text, open, at + 1));
    }
  }
}

/** Where an error excerpt of a group that starts with `(?` ends: look-behind is shown as `(?<=`, not as `(?<`. */
function lookaroundEnd(text: string, open: number, end: number): number {
  return /^\(\?<[=!]/.test(text.slice(open, open + 4)) ? open + 4 : end;
}

/** A node and the position after it. */
export interface Parsed<T> {
  readonly value: T;
  readonly next: number;
}

/** A regexp that does not parse. The message is that of Go's regexp package, if it has one. */
export class RegexpSyntaxError extends TrawlError {
  /** Offset of the error in the source, in bytes of its UTF-8 form. */
  readonly byteOffset: number;

  constructor(reason: string, excerpt: string, byteOffset: number) {
    super("bad-query", `error parsing regexp: ${reason}: \`${excerpt}\``);
    this.name = "RegexpSyntaxError";
    this.byteOffset = byteOffset;
  }
}

/** The source to which an error refers; positions in it are JavaScript string indexes. */
class SourceText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The error about `text[from, to)`; positions are in UTF-16 code units. */
  error(reason: string, from: number, to: number): RegexpSyntaxError {
    return new RegexpSyntaxError(reason, this.text.slice(from, to), this.#byteOffset(from));
  }

  /** The error about the source as a whole, at one position in it. */
  errorAt(reason: string, at: number): RegexpSyntaxError {
    return new RegexpSyntaxError(reason, this.text, this.#byteOffset(at));
  }

  #byteOffset(at: number): number {
    return Buffer.byteLength(this.text.slice(0, at));
  }
}
