import { BoundedMap } from "../../base/bounded-map.js";
import { expandRanges } from "../syntax/class-names.js";
import { isCaseless, lowerAscii } from "../syntax/class-names.js";
import { parseRegexp } from "../syntax/parse.js";
import type { ClassNode, LiteralNode, Regexp } from "../syntax/syntax.js";

/** Receives one match after another, as byte offsets. A plain array of numbers satisfies it. */
export interface RangeSink {
  push(start: number, end: number): unknown;
}

/**
 * A regexp that expands to more chains than this is left to RE2, which tests a path in the time of about thirty of
 * them.
 */
const chainCountMax = 32;

const classCharactersMax = 8;

/** Per thread; a form takes a few hundred bytes, and a few KiB if the texts are long. */
const cacheSizeMax = 256;

/** Texts in order, with at least `gaps[i]` characters between `texts[i]` and the next. */
interface Chain {
  readonly atStart: boolean;
  readonly texts: readonly string[];
  readonly gaps: readonly number[];
  readonly atEnd: boolean;
}

const emptyChain: Chain = { atStart: false, texts: [""], gaps: [], atEnd: false };

/**
 * A regexp as a few chains of texts, which are found in a short text without RE2, because a call of RE2 takes longer
 * than the search. `\.(c|h)$` is two chains, `^drivers/.*\.c$` is one.
 *
 * Contract: the searched texts are ASCII without newlines, and in lower case if the regexp folds case. In them it finds
 * what RE2 finds: `^` and `$` are their ends, and no character folds into ASCII from outside it.
 */
export class PlainForm {
  readonly #chains: readonly Chain[];
  /** The match found by `#next`. */
  #start = 0;
  #end = 0;

  private constructor(chains: readonly Chain[]) {
    this.#chains = chains;
  }

  /** Undefined for a regexp that has no plain form. */
  static of(tree: Regexp, foldCase: boolean): PlainForm | undefined {
    const chains = extend([emptyChain], tree, foldCase);
    return chains === undefined || chains.some(isEmpty) ? undefined : new PlainForm(chains);
  }

  /**
   * Whether `findAll` may be called. With several alternatives with gaps, the one tried first determines how far a gap
   * extends, which the chains do not represent, unless all extend to the end.
   */
  get findsRanges(): boolean {
    return (
      this.#chains.length === 1 ||
      this.#chains.every(({ gaps }) => gaps.length === 0) ||
      this.#chains.every(({ atEnd }) => atEnd)
    );
  }

  test(text: string): boolean {
    for (const chain of this.#chains) if (this.#matches(chain, text, 0)) return true;
    return false;
  }

  /** Passes every non-empty match to the sink, leftmost first and without overlap. */
  findAll(text: string, sink: RangeSink): void {
    for (let at = 0; at < text.length && this.#next(text, at); at = this.#end) sink.push(this.#start, this.#end);
  }

  /** The leftmost match at or after `at`; of several with the same start, that of the first chain. */
  #next(text: string, at: number): boolean {
    let start = -1;
    let end = -1;
    for (const chain of this.#chains) {
      if (!this.#matches(chain, text, at) || (start >= 0 && this.#start >= start)) continue;
      start = this.#start;
      end = this.#end;
    }
    this.#start = start;
    this.#end = end;
    return start >= 0;
  }

  /**
   * If there is a match, the leftmost one starts at the first occurrence of the first text, because starting later
   * leaves less room for the rest. A gap is greedy, so the match ends with the last occurrence of the last text.
   */
  #matches({ atStart, texts, gaps, atEnd }: Chain, text: string, at: number): boolean {
    const start = placeOfFirst(texts[0], text, at, atStart, atEnd && gaps.length === 0);
    if (start < 0) return false;
    let from = start + texts[0].length;
    for (let i = 1; i < gaps.length; i++) {
      const position = text.indexOf(texts[i], from + gaps[i - 1]);
      if (position < from + gaps[i - 1]) return false; // A search for "" that starts past the end of the text also finds it at the end.
      from = position + texts[i].length;
    }
    if (gaps.length > 0) {
      const last = texts[gaps.length];
      const position = atEnd ? placeAtEnd(last, text) : text.lastIndexOf(last);
      if (position < from + gaps[gaps.length - 1]) return false;
      from = position + last.length;
    }
    this.#start = start;
    this.#end = from;
    return true;
  }
}

function placeOfFirst(first: string, text: string, at: number, atStart: boolean, atEnd: boolean): number {
  if (atStart && (at > 0 || (atEnd && text.length > first.length))) return -1;
  if (atStart) return text.startsWith(first) ? 0 : -1;
  if (!atEnd) return text.indexOf(first, at);
  const position = placeAtEnd(first, text);
  return position < at ? -1 : position;
}

function placeAtEnd(last: string, text: string): number {
  return text.endsWith(last) ? text.length - last.length : -1;
}

const cache = new BoundedMap<string, { readonly form: PlainForm | undefined }>(cacheSizeMax, () => 1);

/** The plain form of a regexp in RE2 syntax; undefined if it has none. Recent results are cached. */
export function toPlainForm(source: string, foldCase: boolean): PlainForm | undefined {
  const key = (foldCase ? "i" : "c") + source;
  let known = cache.get(key);
  if (known === undefined) cache.set(key, (known = { form: PlainForm.of(parseRegexp(source, foldCase), foldCase) }));
  return known.form;
}

/** It would be found everywhere. */
function isEmpty({ texts, gaps }: Chain): boolean {
  return gaps.length === 0 && texts[0] === "";
}

/** The chains extended by the regexp, those of earlier alternatives first; undefined if it is not plain. */
function extend(chains: readonly Chain[], tree: Regexp, foldCase: boolean): readonly Chain[] | undefined {
  switch (tree.kind) {
    case "empty":
      return chains;
    case "literal":
      return withTexts(chains, textsOfLiteral(tree, foldCase));
    case "class":
      return withTexts(chains, textsOfClass(tree, foldCase));
    case "any":
      return undefined;
    case "anchor": {
      switch (tree.at) {
        case "line-start":
        case "text-start":
          return chains.every(isUnbound) ? chains.map((chain) => ({ ...chain, atStart: true })) : undefined;
        case "line-end":
        case "text-end":
          return chains.map((chain) => ({ ...chain, atEnd: true }));
        default:
          return undefined;
      }
    }
    case "concat":
      return tree.children.reduce<readonly Chain[] | undefined>(
        (all, child) => (all === undefined ? undefined : extend(all, child, foldCase)),
        chains,
      );
    case "alternate":
      return alternatives(chains, tree.children, foldCase);
    case "repeat": {
      const { child, min, max, lazy } = tree;
      if (child.kind === "any" && max === Infinity && !lazy) return withGap(chains, min);
      if (min !== 0 || max !== 1) return undefined;
      return alternatives(chains, lazy ? [{ kind: "empty" }, child] : [child, { kind: "empty" }], foldCase);
    }
  }
}

function isUnbound(chain: Chain): boolean {
  return isEmpty(chain) && !chain.atEnd;
}

function withTexts(chains: readonly Chain[], texts: readonly string[] | undefined): readonly Chain[] | undefined {
  if (texts === undefined || chains.length * texts.length > chainCountMax || chains.some(({ atEnd }) => atEnd))
    return undefined;
  return chains.flatMap((chain) =>
    texts.map((text) => ({ ...chain, texts: [...chain.texts.slice(0, -1), chain.texts[chain.gaps.length] + text] })),
  );
}

function withGap(chains: readonly Chain[], min: number): readonly Chain[] | undefined {
  if (chains.some(({ atEnd }) => atEnd)) return undefined;
  return chains.map((chain) => ({ ...chain, texts: [...chain.texts, ""], gaps: [...chain.gaps, min] }));
}

function alternatives(
  chains: readonly Chain[],
  children: readonly Regexp[],
  foldCase: boolean,
): readonly Chain[] | undefined {
  const all: Chain[] = [];
  for (const chain of chains) {
    for (const child of children) {
      const extended = extend([chain], child, foldCase);
      if (extended === undefined || all.length + extended.length > chainCountMax) return undefined;
      all.push(...extended);
    }
  }
  return all;
}

function textsOfLiteral({ text, fold }: LiteralNode, foldCase: boolean): readonly string[] | undefined {
  return isPlain(text, fold, foldCase) ? [foldCase ? lowerAscii(text) : text] : undefined;
}

function textsOfClass({ ranges, named, negated, fold }: ClassNode, foldCase: boolean): readonly string[] | undefined {
  const characters = negated || named.length > 0 ? undefined : expandRanges(ranges, classCharactersMax);
  if (characters?.every((character) => isPlain(character, fold, foldCase)) !== true) return undefined;
  return [...new Set(foldCase ? characters.map(lowerAscii) : characters)];
}

/**
 * Whether the text is ASCII without newlines, and a search of the text in a single case finds what the node matches.
 */
function isPlain(text: string, fold: boolean, foldCase: boolean): boolean {
  return /^[\x00-\x09\x0b-\x7f]*$/.test(text) && (fold === foldCase || isCaseless(text)); // eslint-disable-line no-control-regex
}
