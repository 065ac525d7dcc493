import { clauseCountMax, makeClause, anyClauseOf, mostSelective, type Clause } from "./clauses.js";
import { anything, crossProduct, union, unionOfPrefixes, unionOfSuffixes, type LiteralSet } from "./literal-set.js";

/**
 * What is known of every match of a part of a regexp. It is put together from the leaves up:
 *
 * - as long as the part can match only a few texts, they are all kept (`exact`);
 * - beyond that, what a match begins with and ends with, and the clauses met on the way.
 *
 * When two parts follow each other, the end of the first and the beginning of the second make a literal that no single
 * part has: that is how `[a-z]+_(lock|unlock)\s` yields `_lock`, `_unlock`. Each statement stays true when it is
 * weakened, so every limit may cut: a set may become `anything`, a clause may go.
 */
export interface Requirement {
  /** A match is one of these; undefined when they are too many or unknown. */
  readonly exact: LiteralSet | undefined;
  /** A match begins with one of these. The same as `exact` where that is known. */
  readonly prefix: LiteralSet;
  /** A match ends with one of these. The same as `exact` where that is known. */
  readonly suffix: LiteralSet;
  /** A match satisfies all of these. They do not say what `exact`, `prefix` and `suffix` say. */
  readonly clauses: readonly Clause[];
}

/** Copies of a repeated part that are laid out one behind the other; `x{5}` is taken as `x{4,}`. */
const unrolledCountMax = 4;

export function requireOneOf(literals: LiteralSet): Requirement {
  return { exact: literals, prefix: literals, suffix: literals, clauses: [] };
}

/** Of a part that can match nothing in particular, such as a large class or `x*`. */
export const nothingKnown: Requirement = { exact: undefined, prefix: anything, suffix: anything, clauses: [] };

export function inSequence(a: Requirement, b: Requirement): Requirement {
  if (a.exact !== undefined && b.exact !== undefined) {
    const exact = crossProduct(a.exact, b.exact);
    if (exact !== undefined) return requireOneOf(exact);
  }
  const prefix = a.exact === undefined ? a.prefix : (crossProduct(a.exact, b.prefix) ?? a.prefix);
  const suffix = b.exact === undefined ? b.suffix : (crossProduct(a.suffix, b.exact) ?? b.suffix);
  const clauses = [...a.clauses, ...b.clauses];
  const seam = crossProduct(a.suffix, b.prefix);
  for (const literals of seam === undefined ? [a.suffix, b.prefix] : [seam]) {
    const clause = makeClause(literals);
    if (clause !== undefined) clauses.push(clause);
  }
  return { exact: undefined, prefix: usable(prefix), suffix: usable(suffix), clauses: bounded(clauses) };
}

export function anyOf(a: Requirement, b: Requirement): Requirement {
  if (a.exact !== undefined && b.exact !== undefined) {
    const exact = union(a.exact, b.exact);
    if (exact !== undefined) return requireOneOf(exact);
  }
  return {
    exact: undefined,
    prefix: unionOfPrefixes(a.prefix, b.prefix),
    suffix: unionOfSuffixes(a.suffix, b.suffix),
    clauses: anyClauseOf(collectClauses(a), collectClauses(b)),
  };
}

/** `min` times at least, in a row. */
export function repeated(part: Requirement, min: number, max: number): Requirement {
  if (min === 0) return max === 1 ? anyOf(part, requireOneOf(anything)) : nothingKnown;
  let row = part;
  for (let count = 1; count < Math.min(min, unrolledCountMax); count++) row = inSequence(row, part);
  if (max === min && min <= unrolledCountMax) return row;
  // More may follow: the first copies are still the beginning, and the last ones the end.
  return { exact: undefined, prefix: usable(row.prefix), suffix: usable(row.suffix), clauses: row.clauses };
}

/** All that is known, as clauses: the most selective first. */
export function collectClauses({ exact, prefix, suffix, clauses }: Requirement): Clause[] {
  const all = [...clauses];
  for (const literals of exact === undefined ? [prefix, suffix] : [exact]) {
    const clause = makeClause(literals);
    if (clause !== undefined) all.push(clause);
  }
  return mostSelective(all, clauseCountMax);
}

/** A set that holds "" says nothing, whatever else it holds. */
function usable(literals: LiteralSet): LiteralSet {
  return literals.includes("") ? anything : literals;
}

/** Pruning is put off until there are twice as many, so that a long sequence takes linear time. */
function bounded(clauses: readonly Clause[]): readonly Clause[] {
  return clauses.length <= 2 * clauseCountMax ? clauses : mostSelective(clauses, clauseCountMax);
}
