import { unionOfPrefixes, type LiteralSet } from "./literal-set.js";

/** A text must contain one of the literals. Never empty, and no literal is "". */
export type Clause = LiteralSet;

/** Maximum number of clauses for one regexp, and between the steps of its analysis. */
export const clauseCountMax = 8;

/** A literal shared by all literals of a clause replaces them if it is at least this long. */
const sharedLengthMin = 3;

/** The clause for a set of literals; undefined if it rules nothing out. */
export function makeClause(literals: LiteralSet): Clause | undefined {
  if (literals.includes("")) return undefined;
  return withoutShared(withoutLonger(literals));
}

/**
 * What a text must contain that satisfies all clauses of `a` or all clauses of `b`: pairs of the best clauses of each.
 */
export function anyClauseOf(a: readonly Clause[], b: readonly Clause[]): Clause[] {
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
export function mostSelective(clauses: readonly Clause[], count: number): Clause[] {
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
