import { isSpaceAt, nextSpace, skipSpaces, type Span } from "./characters.js";
import { fieldAt, type FieldName, fields, type FieldStart } from "./fields.js";
import { queryLimits } from "./limits.js";
import type { PatternType } from "../../model/search-request.js";

export type Token =
  | { readonly kind: "open" | "close" | "and" | "or" | "not"; readonly span: Span }
  | FieldToken
  | PatternToken
  | { readonly kind: "broken"; readonly message: string; readonly span: Span };

export interface FieldToken {
  readonly kind: "field";
  readonly name: FieldName;
  /** The name as typed, without the minus. */
  readonly typed: string;
  readonly negated: boolean;
  readonly value: string;
  /** Set if the value is a predicate such as `has.path(re)`. */
  readonly predicate: Predicate | undefined;
  readonly span: Span;
}

export interface Predicate {
  readonly name: string;
  readonly argument: string;
}

export interface PatternToken {
  readonly kind: "pattern";
  readonly form: "literal" | "regexp";
  readonly value: string;
  readonly span: Span;
}

/**
 * Splits the query text into tokens, in text order. Tokens depend on the pattern type, because each type treats quotes
 * and parentheses differently. With `parenthesesAreText` no parenthesis groups: used in the second attempt for a text
 * such as `open (`. A token of kind `broken` is the last one. Of a text with too many terms or too deep groups, only the
 * tokens are returned with which the grammar rejects it.
 */
export function scan(text: string, type: QueryType, parenthesesAreText: boolean): Token[] {
  return new Scanner(text, type, parenthesesAreText).all();
}

class Scanner {
  readonly #text: string;
  readonly #type: QueryType;
  readonly #parenthesesAreText: boolean;
  readonly #balanced: BalancedScanner;
  readonly #start: number;
  #at: number;
  /** The number of groups that are open. */
  #depth = 0;
  /** The number of parentheses in words so far that open without a group and have no partner in their word. */
  #openInWords = 0;

  constructor(text: string, type: QueryType, parenthesesAreText: boolean) {
    this.#text = text;
    this.#type = type;
    this.#parenthesesAreText = parenthesesAreText;
    this.#balanced = new BalancedScanner(text);
    this.#start = skipSpaces(text, 0);
    this.#at = this.#start;
  }

  all(): Token[] {
    const tokens: Token[] = [];
    let termCount = 0;
    while (termCount <= queryLimits.termCountMax && this.#depth <= queryLimits.groupDepthMax) {
      this.#at = skipSpaces(this.#text, this.#at);
      if (this.#at >= this.#text.length) return tokens;
      const token = this.#next(tokens.at(-1)?.kind === "not");
      if (token.kind === "field" || token.kind === "pattern") termCount++;
      // An empty group is a term. Any other has a term of its own, so the two limits end texts of groups alone as well.
      if (token.kind === "close" && tokens.at(-1)?.kind === "open") termCount++;
      if (token.kind === "open") this.#depth++;
      if (token.kind === "close") this.#depth--;
      tokens.push(token);
      if (token.kind === "broken") return tokens;
    }
    return tokens;
  }

  /** After NOT, a parenthesis is never text, and no operator follows: `NOT or` excludes the word `or`. */
  #next(afterNot: boolean): Token {
    return this.#parenthesis(afterNot) ?? (afterNot ? undefined : this.#operator()) ?? this.#field() ?? this.#pattern();
  }

  #parenthesis(afterNot: boolean): Token | undefined {
    if (this.#parenthesesAreText) return undefined;
    const character = this.#text[this.#at];
    if (character === ")") return this.#closeIsText() ? undefined : { kind: "close", span: this.#take(this.#at + 1) };
    if (character !== "(") return undefined;
    if (this.#type !== "keyword" && !afterNot) {
      const end = this.#balancedEnd(this.#at);
      if (end !== undefined) return this.#word(end);
    }
    return { kind: "open", span: this.#take(this.#at + 1) };
  }

  /**
   * Whether a `)` here closes nothing and is text, as in `});`. In a regexp it is an error, and so it is behind words such
   * as `f(a or b)`, whose parentheses belong together without being a group.
   */
  #closeIsText(): boolean {
    return this.#type !== "regexp" && !this.#parenthesesAreText && this.#depth === 0 && this.#openInWords === 0;
  }

  /** The end of the word with balanced parentheses at `from`, to which a `)` belongs that is text. */
  #balancedEnd(from: number): number | undefined {
    let end = this.#balanced.wordEnd(from);
    if (this.#closeIsText())
      while (end !== undefined && this.#text[end] === ")") end = this.#balanced.restOfWordEnd(end + 1);
    return end;
  }

  #operator(): Token | undefined {
    for (const kind of ["and", "or", "not"] as const) {
      const end = this.#at + kind.length;
      if (this.#text.slice(this.#at, end).toLowerCase() !== kind) continue;
      if (this.#mayPrecede(kind) && this.#mayFollow(kind, end)) return { kind, span: this.#take(end) };
    }
    return undefined;
  }

  #mayPrecede(operator: "and" | "or" | "not"): boolean {
    if (this.#at === this.#start) return operator === "not";
    const previous = this.#text[this.#at - 1];
    return isSpaceAt(this.#text, this.#at - 1) || previous === ")" || (operator === "not" && previous === "(");
  }

  #mayFollow(operator: "and" | "or" | "not", end: number): boolean {
    return isSpaceAt(this.#text, end) || (operator !== "not" && this.#text[end] === "(");
  }

  #field(): Token | undefined {
    const from = this.#at;
    const start = fieldAt(this.#text, from);
    if (start === undefined) return undefined;
    const value = this.#fieldValue(start);
    const span = this.#take(value.end);
    if (value.broken !== undefined) return { kind: "broken", message: value.broken, span };
    const { name, typed, negated } = start;
    return { kind: "field", name, typed, negated, value: value.text, predicate: value.predicate, span };
  }

  #fieldValue({ name, valueFrom }: FieldStart): FieldValue {
    const first = this.#text[valueFrom];
    if (first === '"' || first === "'") {
      const found = scanDelimited(this.#text, valueFrom, true);
      if (found.kind === "text") return { text: found.value, end: found.end };
      return { text: "", end: found.end, broken: found.message };
    }
    const predicateEnd = this.#predicateEnd(name, valueFrom);
    if (predicateEnd !== undefined) {
      const text = this.#text.slice(valueFrom, predicateEnd);
      return { text, end: predicateEnd, predicate: splitPredicate(text) };
    }
    const end = this.#balancedEnd(valueFrom) ?? this.#bareEnd(valueFrom, false);
    return { text: this.#text.slice(valueFrom, end), end };
  }

  #predicateEnd(name: FieldName, valueFrom: number): number | undefined {
    predicateName.lastIndex = valueFrom;
    const found = predicateName.exec(this.#text)?.[1];
    if (found === undefined || !fields[name].predicates.includes(found)) return undefined;
    return this.#balanced.groupEnd(valueFrom + found.length);
  }

  #pattern(): Token {
    return this.#quoted() ?? this.#word(this.#wordEnd());
  }

  /**
   * A regexp between slashes or a quoted literal, if the type has them; if it is not terminated properly, it is a plain
   * word.
   */
  #quoted(): Token | undefined {
    const first = this.#text.charAt(this.#at);
    if (!delimitersOf[this.#type].includes(first) || this.#text.startsWith("//", this.#at)) return undefined;
    const found = scanDelimited(this.#text, this.#at, false);
    if (found.kind === "broken" || !this.#endsPattern(found.end)) return undefined;
    const form = first === "/" ? "regexp" : "literal";
    return { kind: "pattern", form, value: found.value, span: this.#take(found.end) };
  }

  #endsPattern(index: number): boolean {
    if (index >= this.#text.length || isSpaceAt(this.#text, index)) return true;
    return this.#text[index] === ")" && !this.#closeIsText();
  }

  #wordEnd(): number {
    const end = this.#balancedEnd(this.#at);
    const stopsAtParenthesis = end !== undefined && this.#text[end] === ")";
    if (end !== undefined && !(this.#parenthesesAreText && stopsAtParenthesis)) return end;
    if (this.#type === "regexp") return this.#bareEnd(this.#at, this.#parenthesesAreText);
    const spaceAt = nextSpace(this.#text, this.#at);
    this.#openInWords += countUnclosed(this.#text.slice(this.#at, spaceAt));
    return spaceAt;
  }

  /** Up to a space, or a parenthesis unless parentheses are text; a backslash includes the next character. */
  #bareEnd(from: number, parenthesesAreText: boolean): number {
    let at = from;
    while (at < this.#text.length && !isSpaceAt(this.#text, at)) {
      const character = this.#text[at];
      if (!parenthesesAreText && (character === "(" || character === ")")) break;
      at += character === "\\" ? 2 : 1;
    }
    return Math.min(at, this.#text.length);
  }

  #word(end: number): Token {
    const span = this.#take(end);
    const form = this.#type === "regexp" ? "regexp" : "literal";
    return { kind: "pattern", form, value: this.#text.slice(span.from, span.to), span };
  }

  #take(end: number): Span {
    const span = { from: this.#at, to: end };
    this.#at = end;
    return span;
  }
}

interface FieldValue {
  readonly text: string;
  readonly end: number;
  readonly predicate?: Predicate;
  /** Why the value cannot be parsed. */
  readonly broken?: string;
}

function countUnclosed(word: string): number {
  let open = 0;
  for (const character of word) {
    if (character === "(") open++;
    else if (character === ")" && open > 0) open--;
  }
  return open;
}

const predicateName = /([a-z.]+)\(/y;

function splitPredicate(text: string): Predicate {
  const open = text.indexOf("(");
  return { name: text.slice(0, open), argument: text.slice(open + 1, -1) };
}

const delimitersOf: Readonly<Record<QueryType, readonly string[]>> = {
  keyword: ["/", '"', "'"],
  standard: ["/"],
  literal: [],
  regexp: ["/", '"', "'"],
  structural: [],
};

/** Text between delimiters, or why there is none. `end` is the index after the closing delimiter. */
type Delimited =
  | { readonly kind: "text"; readonly value: string; readonly end: number }
  | { readonly kind: "broken"; readonly message: string; readonly end: number };

const controls: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

/** Escapes that have a meaning in regexps and not here: both characters are kept. */
const regexpEscapes = "abfv";

/**
 * Parses from the delimiter at `from` to the first unescaped closing one. Between quotes, `\n`, `\r`, `\t`, a doubled
 * backslash and an escaped delimiter are resolved; any other escape keeps both characters, or is an error if `strict`.
 * Between slashes is a regexp, which has escapes of its own, so only the escaped slash is resolved.
 */
function scanDelimited(text: string, from: number, strict: boolean): Delimited {
  const delimiter = text.charAt(from);
  const pieces: string[] = [];
  let at = from + 1;
  let pieceFrom = at;
  while (at < text.length && text[at] !== delimiter) {
    if (text[at] !== "\\") {
      at++;
      continue;
    }
    const [escaped] = text.slice(at + 1, at + 3);
    if (escaped === undefined) return { kind: "broken", message: "unterminated escape sequence", end: text.length };
    const resolved = resolveEscape(escaped, delimiter, strict);
    if (resolved === undefined)
      return { kind: "broken", message: "unrecognized escape sequence", end: at + 1 + escaped.length };
    pieces.push(text.slice(pieceFrom, at), resolved);
    at += 1 + escaped.length;
    pieceFrom = at;
  }
  if (at >= text.length) {
    return { kind: "broken", message: `unterminated literal: expected ${delimiter}`, end: text.length };
  }
  pieces.push(text.slice(pieceFrom, at));
  return { kind: "text", value: pieces.join(""), end: at + 1 };
}

function resolveEscape(escaped: string, delimiter: string, strict: boolean): string | undefined {
  if (escaped === delimiter) return escaped;
  if (delimiter === "/") return `\\${escaped}`;
  if (escaped === "\\") return escaped;
  const control = controls[escaped];
  if (control !== undefined) return control;
  return strict && !regexpEscapes.includes(escaped) ? undefined : `\\${escaped}`;
}

/**
 * How a query text is parsed. Structural patterns are parsed, so that an error in such a query is detected, and
 * rejected by the planner: no plan has this type.
 */
export type QueryType = PatternType | "structural";

const operatorWord = /(?:and|or|not) /iy;

const unknown = 0;
const refused = -1;

/**
 * Finds words that contain balanced parentheses, such as `foo(a, b)`, and rejects those that look like a group of the
 * query language, such as `(a or b)`.
 *
 * A rejected scan may have examined all of the rest of the text, and the next word starts inside that part. To remain
 * linear, results are cached: how far each parenthesis reaches and, for each position that a scan passed outside
 * parentheses, where the word ends that contains it.
 */
export class BalancedScanner {
  readonly #text: string;
  /** By position of a `(`: the index after its `)`, `refused` or `unknown`. */
  readonly #groupEnds: Int32Array;
  /** By position: the end of the word plus one, `refused` or `unknown`. */
  readonly #wordEnds: Int32Array;
  /** Positions of `(` that no `)` closes, whatever is between. */
  readonly #unclosed = new Set<number>();

  constructor(text: string) {
    this.#text = text;
    this.#groupEnds = new Int32Array(text.length);
    this.#wordEnds = new Int32Array(text.length + 1);
  }

  /**
   * The end of the word that starts at `from`: the first space outside parentheses, or the first unmatched `)`.
   * Undefined if a parenthesis remains open, or if a field or an operator occurs where a group could start.
   */
  wordEnd(from: number): number | undefined {
    return this.#looksLikeQuery(from) ? undefined : this.restOfWordEnd(from);
  }

  /** The same for a position within a word, where neither a field nor an operator begins. */
  restOfWordEnd(from: number): number | undefined {
    const passed: number[] = [];
    let at = from;
    let end = this.#wordEnds[at];
    while (end === unknown) {
      passed.push(at);
      const next = this.#step(at);
      if (next === at) end = at + 1;
      else if (next === refused) end = refused;
      else end = this.#wordEnds[(at = next)];
    }
    for (const index of passed) this.#wordEnds[index] = end;
    return end === refused ? undefined : end - 1;
  }

  /** The next position outside parentheses; `at` itself where the word ends. */
  #step(at: number): number {
    const character = this.#text[at];
    if (character === undefined || character === ")" || isSpaceAt(this.#text, at)) return at;
    if (character === "\\") return Math.min(at + 2, this.#text.length);
    if (character !== "(") return at + 1;
    if (this.#groupEnds[at] === unknown) this.#findGroupEnds(at);
    return this.#groupEnds[at];
  }

  /** Finds the end of the group at `from`, and of all groups in it. */
  #findGroupEnds(from: number): void {
    const open: number[] = [];
    for (let at = from; at < this.#text.length; at++) {
      const character = this.#text[at];
      if (character === "\\") {
        at++;
      } else if (character === "(") {
        const known = this.#groupEnds[at];
        if (known === unknown) open.push(at);
        if (known === refused || this.#looksLikeQuery(at + 1)) break;
        if (known !== unknown) at = known - 1;
      } else if (character === ")") {
        this.#groupEnds[open.pop() ?? from] = at + 1;
        if (open.length === 0) return;
      } else if (isSpaceAt(this.#text, at) && this.#looksLikeQuery(at + 1)) {
        break;
      }
    }
    for (const index of open) this.#groupEnds[index] = refused;
  }

  /** The index after the `)` that closes the `(` at `from`, whatever is between; undefined if none does. */
  groupEnd(from: number): number | undefined {
    const open: number[] = [];
    for (let at = from; at < this.#text.length; at++) {
      const character = this.#text[at];
      if (character === "\\") {
        at++;
      } else if (character === "(") {
        if (this.#unclosed.has(at)) break;
        open.push(at);
      } else if (character === ")") {
        open.pop();
        if (open.length === 0) return at + 1;
      }
    }
    for (const index of open) this.#unclosed.add(index);
    return undefined;
  }

  #looksLikeQuery(at: number): boolean {
    operatorWord.lastIndex = at;
    return operatorWord.test(this.#text) || fieldAt(this.#text, at) !== undefined;
  }
}
