import { foldedCharacters } from "../../base/ascii-folding.js";
import type { Leaf } from "./plan.js";

/** What a pattern requires of a text, as bytes to look up in an index whose trigrams fold ASCII case. */
export interface LeafLiterals {
  /**
   * Literals for which the kernel alone suffices; with case ignored, ASCII letters are in lower case. One for a text,
   * two or more for an alternation of texts that can all be looked up. Undefined for any other regexp.
   */
  readonly exact: readonly Buffer[] | undefined;
  /** The text contains at least one of the literals of each clause. */
  readonly clauses: readonly (readonly Buffer[])[];
  /**
   * Whether characters outside ASCII may match letters of the pattern: with case ignored, U+212A matches k, and U+017F
   * matches s. Exact literals without these letters match ASCII only.
   */
  readonly foldsOutsideAscii: boolean;
}

/** Shorter literals are not in the index. */
export const trigramBytes = 3;

/** A leaf is planned for each shard of a search; its literals are the same in all. */
const known = new WeakMap<object, LeafLiterals>();

export function requiredLiterals(leaf: Pick<Leaf, "analysis" | "foldCase">): LeafLiterals {
  let literals = known.get(leaf);
  if (literals === undefined) known.set(leaf, (literals = makeLiterals(leaf)));
  return literals;
}

function makeLiterals(leaf: Pick<Leaf, "analysis" | "foldCase">): LeafLiterals {
  const exact = exactLiterals(leaf);
  if (exact !== undefined) {
    const hasLetter = exact.some((literal) => foldedCharacters.some(({ letter }) => literal.includes(letter)));
    return { exact, clauses: [exact], foldsOutsideAscii: leaf.foldCase && hasLetter };
  }
  const clauses = leaf.analysis.clauses.map((clause) => clause.map((text) => Buffer.from(text)));
  return { exact, clauses, foldsOutsideAscii: leaf.foldCase };
}

/**
 * The exact literal of a pattern that consists of this text; undefined if it needs RE2, because ignoring case reaches
 * outside ASCII. The same as `requiredLiterals` of its analysis, in a tenth of the time. Caller guarantees: the text has no
 * unpaired surrogate.
 */
export function exactLiteral(text: string, foldCase: boolean): string | undefined {
  return foldCase ? (isAscii(text) ? text.toLowerCase() : undefined) : text;
}

function exactLiterals({ analysis, foldCase }: Pick<Leaf, "analysis" | "foldCase">): readonly Buffer[] | undefined {
  const texts = analysis.literal === undefined ? analysis.alternatives : [analysis.literal];
  if (texts === undefined || (foldCase && !texts.every(isAscii))) return undefined;
  const exact = texts.map((text) => Buffer.from(foldCase ? text.toLowerCase() : text));
  return exact.length === 1 || exact.every((literal) => literal.length >= trigramBytes) ? exact : undefined;
}

export function isAscii(text: string): boolean {
  return /^[\x00-\x7f]*$/.test(text); // eslint-disable-line no-control-regex
}
