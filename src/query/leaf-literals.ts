import type { Leaf } from "./plan.js";

/** What a pattern requires of a text, as bytes to look up in an index whose trigrams fold ASCII case. */
export interface LeafLiterals {
  /** The literal that the kernel finds alone: with case ignored, ASCII letters in lower case. Undefined for a regexp. */
  readonly exact: Buffer | undefined;
  /** Of each clause, the text holds one of the literals. */
  readonly clauses: readonly (readonly Buffer[])[];
}

/** A leaf is planned for each shard of a search; its literals are the same in all. */
const known = new WeakMap<object, LeafLiterals>();

export function literalsOf(leaf: Pick<Leaf, "analysis" | "foldCase">): LeafLiterals {
  let literals = known.get(leaf);
  if (literals === undefined) known.set(leaf, (literals = makeLiterals(leaf)));
  return literals;
}

function makeLiterals({ analysis, foldCase }: Pick<Leaf, "analysis" | "foldCase">): LeafLiterals {
  const { literal, clauses } = analysis;
  if (literal === undefined || (foldCase && !isAscii(literal))) {
    return { exact: undefined, clauses: clauses.map((clause) => clause.map((text) => Buffer.from(text))) };
  }
  const exact = Buffer.from(foldCase ? literal.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) : literal);
  return { exact, clauses: [[exact]] };
}

function isAscii(text: string): boolean {
  return /^[\x00-\x7f]*$/.test(text); // eslint-disable-line no-control-regex
}
