import { parseBracketClass, parseEscapedClass } from "./parse-class.js";
import type { Parsed } from "./parsed.js";
import { parseEscapedCharacter } from "./parse-escape.js";
import { parseFlags, type Flags } from "./parse-flags.js";
import { SourceText } from "./syntax-error.js";
import type { Anchor, ClassNode, Regexp } from "./syntax.js";

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
  // A lone surrogate becomes U+FFFD, as it does wherever a string is encoded as UTF-8.
  const text = source.replace(/\p{Surrogate}/gu, "\uFFFD");
  return new Parser(new SourceText(text), foldCase).parse();
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
    if (!this.#text.startsWith("(?", open)) this.#at++;
    else if (/^\(\?P?<(?![=!])/.test(this.#text.slice(open, open + 5))) this.#name();
    else if (this.#readFlags()) return;
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
