/**
 * Sets of literals of bounded size: what a part of a match can be, begin with or end with. A set means "one of these";
 * a set that contains "" says nothing, and is represented by `anything`. Sets are never empty.
 */
export type LiteralSet = readonly string[];

export const anything: LiteralSet = [""];

/** With more literals than this, searching costs more than it rules out. */
export const literalCountMax = 64;
/** Limit on the UTF-16 code units of a whole set, for sets of two literals or more. */
const literalUnitsMax = 4_096;

/** The lengths to which the literals of an oversized set are truncated. */
const cutLengths = [8, 6, 4, 3, 2, 1] as const;

/** Every literal of `a` followed by every literal of `b`; undefined if that is too large. */
function crossProduct(a: LiteralSet, b: LiteralSet): LiteralSet | undefined {
  if (a.length * b.length > literalCountMax) return undefined;
  if (a.length * b.length > 1 && a.length * units(b) + b.length * units(a) > literalUnitsMax) return undefined;
  const out = new Set<string>();
  for (const first of a) for (const second of b) out.add(first + second);
  return [...out];
}

/** The literals of both; undefined if that is too large. */
export function union(a: LiteralSet, b: LiteralSet): LiteralSet | undefined {
  const out = new Set(a);
  for (const literal of b) out.add(literal);
  const all = [...out];
  return isSmall(all) ? all : undefined;
}

/** Prefixes of texts that begin with a literal of `a` or of `b`. */
function unionOfPrefixes(a: LiteralSet, b: LiteralSet): LiteralSet {
  return unionOfEnds(a, b, (literal, length) => literal.slice(0, length));
}

/** Suffixes of texts that end with a literal of `a` or of `b`. */
function unionOfSuffixes(a: LiteralSet, b: LiteralSet): LiteralSet {
  return unionOfEnds(a, b, (literal, length) => literal.slice(-length));
}

/**
 * Truncation is sound: a text that begins with a literal also begins with each prefix of it. Truncation within a
 * surrogate pair would not be, because half of it has no UTF-8 form; such a set says nothing.
 */
function unionOfEnds(a: LiteralSet, b: LiteralSet, cut: (literal: string, length: number) => string): LiteralSet {
  const all = new Set([...a, ...b]);
  if (all.has("")) return anything;
  if (isSmall([...all])) return [...all];
  for (const length of cutLengths) {
    const shorter = [...new Set(Array.from(all, (literal) => cut(literal, length)))];
    if (isSmall(shorter)) return shorter.every(isWellFormed) ? shorter : anything;
  }
  return anything;
}

function isSmall(literals: LiteralSet): boolean {
  return literals.length <= literalCountMax && (literals.length === 1 || units(literals) <= literalUnitsMax);
}

function units(literals: LiteralSet): number {
  let sum = 0;
  for (const literal of literals) sum += literal.length;
  return sum;
}

function isWellFormed(literal: string): boolean {
  return !/\p{Surrogate}/u.test(literal);
}

/** A text must contain one of the literals. Never empty, and no literal is "". */
export type Clause = LiteralSet;

/** Maximum number of clauses for one regexp, and between the steps of its analysis. */
export const clauseCountMax = 8;

/** A literal shared by all literals of a clause replaces them if it is at least this long. */
const sharedLengthMin = 3;

/** The clause for a set of literals; undefined if it rules nothing out. */
function makeClause(literals: LiteralSet): Clause | undefined {
  if (literals.includes("")) return undefined;
  return withoutShared(withoutLonger(literals));
}

/**
 * What a text must contain that satisfies all clauses of `a` or all clauses of `b`: pairs of the best clauses of each.
 */
function anyClauseOf(a: readonly Clause[], b: readonly Clause[]): Clause[] {
  const out: Clause[] = [];
  for (const first of mostSelective(a, 2)) {
    for (const second of mostSelective(b, 2)) {
      const clause = makeClause(unionOfPrefixes(first, second));
      if (clause !== undefined) out.push(clause);
    }
  }
  return out;
}

/**
 * The most selective clauses first, without those implied by another one, at most `count`: a longer shortest literal is
 * better, then fewer literals. Equal ones keep their order in the regexp.
 */
function mostSelective(clauses: readonly Clause[], count: number): Clause[] {
  const sorted = clauses.toSorted((a, b) => shortest(b) - shortest(a) || a.length - b.length);
  const kept: Clause[] = [];
  for (const clause of sorted) {
    if (kept.length === count) break;
    if (!kept.some((better) => implies(better, clause))) kept.push(clause);
  }
  return kept;
}

/** Whether each literal of `a` contains some literal of `b`, so that a text that satisfies `a` satisfies `b`. */
function implies(a: Clause, b: Clause): boolean {
  return a.every((longer) => b.some((literal) => longer.includes(literal)));
}

function shortest(clause: Clause): number {
  let length = Infinity;
  for (const literal of clause) length = Math.min(length, literal.length);
  return length;
}

/** Removes literals that contain another one: `err`, `error` is the same requirement as `err`. */
function withoutLonger(literals: LiteralSet): LiteralSet {
  if (literals.every(({ length }) => length === literals[0].length)) return literals;
  const byLength = literals.toSorted((a, b) => a.length - b.length);
  const kept: string[] = [];
  for (const literal of byLength) {
    if (!kept.some((shorter) => literal.includes(shorter))) kept.push(literal);
  }
  return literals.filter((literal) => kept.includes(literal));
}

/**
 * Searching for one literal is cheaper than for several, so `sprintf`, `tprintf` becomes `printf`: the shared prefix or
 * suffix, if it is at most one character shorter than the shortest literal.
 */
function withoutShared(literals: LiteralSet): LiteralSet {
  if (literals.length === 1) return literals;
  const enough = Math.max(sharedLengthMin, shortest(literals) - 1);
  const shared = [sharedPrefix(literals), sharedSuffix(literals)].find((literal) => literal.length >= enough);
  return shared === undefined || /\p{Surrogate}/u.test(shared) ? literals : [shared];
}

function sharedPrefix(literals: LiteralSet): string {
  const [first] = literals;
  let length = 0;
  while (length < first.length && literals.every((literal) => literal[length] === first[length])) length++;
  return first.slice(0, length);
}

function sharedSuffix(literals: LiteralSet): string {
  const [first] = literals;
  let length = 0;
  while (length < first.length && literals.every((literal) => literal.at(-1 - length) === first.at(-1 - length)))
    length++;
  return first.slice(first.length - length);
}

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
