import { clauseCountMax, makeClause, anyClauseOf, mostSelective, type Clause } from "./clauses.js";
import { anything, crossProduct, union, unionOfPrefixes, unionOfSuffixes, type LiteralSet } from "./literal-set.js";

/**
 * What is known about every match of a part of a regexp. It is computed bottom-up:
 *
 * - as long as the part can match only a few texts, they are all stored (`exact`);
 * - beyond that, the prefixes and suffixes of a match, and the clauses found so far.
 *
 * When one part follows another, the end of the first and the beginning of the second form a literal that neither part
 * has: that is how `[a-z]+_(lock|unlock)\s` yields `_lock`, `_unlock`. Each statement remains true when it is weakened,
 * so every limit may weaken it: a set may become `anything`, a clause may be dropped.
 */
export interface Requirement {
  /** A match is one of these; undefined if there are too many or they are unknown. */
  readonly exact: LiteralSet | undefined;
  /** A match begins with one of these. The same as `exact` if that is known. */
  readonly prefix: LiteralSet;
  /** A match ends with one of these. The same as `exact` if that is known. */
  readonly suffix: LiteralSet;
  /** A match satisfies all of these. They do not include what `exact`, `prefix` and `suffix` imply. */
  readonly clauses: readonly Clause[];
}

/** Number of copies to which a repeated part is expanded; `x{5}` is treated as `x{4,}`. */
const unrolledCountMax = 4;

export function requireOneOf(literals: LiteralSet): Requirement {
  return { exact: literals, prefix: literals, suffix: literals, clauses: [] };
}

/** For a part about whose matches nothing is known, such as a large class or `x*`. */
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

/** At least `min` consecutive repetitions. */
export function repeated(part: Requirement, min: number, max: number): Requirement {
  if (min === 0) return max === 1 ? anyOf(part, requireOneOf(anything)) : nothingKnown;
  let row = part;
  for (let count = 1; count < Math.min(min, unrolledCountMax); count++) row = inSequence(row, part);
  if (max === min && min <= unrolledCountMax) return row;
  // More may follow: the first copies are still the beginning, and the last ones the end.
  return { exact: undefined, prefix: usable(row.prefix), suffix: usable(row.suffix), clauses: row.clauses };
}

/** Everything that is known, as clauses: the most selective first. */
export function collectClauses({ exact, prefix, suffix, clauses }: Requirement): Clause[] {
  const all = [...clauses];
  for (const literals of exact === undefined ? [prefix, suffix] : [exact]) {
    const clause = makeClause(literals);
    if (clause !== undefined) all.push(clause);
  }
  return mostSelective(all, clauseCountMax);
}

/** A set that contains "" says nothing, whatever else it contains. */
function usable(literals: LiteralSet): LiteralSet {
  return literals.includes("") ? anything : literals;
}

/** Pruning is deferred until there are twice as many, so that a long sequence takes linear time. */
function bounded(clauses: readonly Clause[]): readonly Clause[] {
  return clauses.length <= 2 * clauseCountMax ? clauses : mostSelective(clauses, clauseCountMax);
}
