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
export function crossProduct(a: LiteralSet, b: LiteralSet): LiteralSet | undefined {
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
export function unionOfPrefixes(a: LiteralSet, b: LiteralSet): LiteralSet {
  return unionOfEnds(a, b, (literal, length) => literal.slice(0, length));
}

/** Suffixes of texts that end with a literal of `a` or of `b`. */
export function unionOfSuffixes(a: LiteralSet, b: LiteralSet): LiteralSet {
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
