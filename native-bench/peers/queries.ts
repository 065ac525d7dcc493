/** The limits of a measured search. Ratios are times of a peer divided by ours. */
export interface QueryLimits {
  readonly rg?: number;
  readonly csearch?: number;
  readonly zoekt?: number;
  /** The most that our time may be. */
  readonly ms?: number;
  /** The same as a multiple of our time for `return`. */
  readonly timesReturn?: number;
}

export interface BenchQuery {
  readonly pattern: string;
  readonly kind: "literal" | "regexp";
  readonly ignoreCase: boolean;
  /** A match may continue in the next line. The peers search line by line. */
  readonly spansLines: boolean;
  /** The answer has gigabytes. */
  readonly isHuge: boolean;
  readonly must: QueryLimits;
  readonly aim: QueryLimits;
}

/**
 * Literals that occur up to 20,000 times; rare and absent ones; regexps with a literal in them.
 */
const common = { must: { rg: 20, csearch: 15, zoekt: 3 }, aim: { rg: 55, zoekt: 6 } };
const rare = { must: { rg: 50, csearch: 5, zoekt: 1, ms: 3 }, aim: { zoekt: 2, ms: 1 } };
const anchored = { must: { rg: 15, zoekt: 20 }, aim: { rg: 30, zoekt: 100 } };
const untargeted = { must: {}, aim: {} };

/** For the Linux source. */
export const queries: readonly BenchQuery[] = [
  literal("kmalloc", common),
  literal("TODO", common),
  literal("EXPORT_SYMBOL_GPL", common),
  literal("amdgpu_vcn_idle_work", rare),
  literal("qqzzxxjjvvww", rare),
  literal("return", { must: { rg: 1.2, csearch: 7, zoekt: 5 }, aim: { rg: 2, zoekt: 10 } }),
  { ...literal("kmalloc"), ignoreCase: true },
  { ...literal("dma", { must: { rg: 1.5, zoekt: 5 }, aim: { rg: 3, zoekt: 10 } }), ignoreCase: true },
  regexp("(copy|move)_to_user", anchored),
  regexp("[a-z]+_lock_irqsave", anchored),
  regexp("kmalloc\\(.*GFP_ATOMIC"),
  { ...regexp("err(or)?\\s*=\\s*-E[A-Z]+"), spansLines: true },
  regexp("[a-z]+[0-9]+_[a-z]+\\(", { must: { rg: 0.6, zoekt: 5 }, aim: { rg: 1, zoekt: 10 } }),
  { ...literal("    ", { must: { timesReturn: 3 }, aim: {} }), isHuge: true },
];

/** For the sources of JavaScript packages. */
export const quickQueries: readonly BenchQuery[] = [
  literal("TODO"),
  literal("createHash"),
  literal("qqzzxxjjvvww"),
  literal("return"),
  { ...literal("error"), ignoreCase: true },
  regexp("create(Hash|Hmac|Server)"),
];

export function literal(pattern: string, targets: QueryTargets = untargeted): BenchQuery {
  return { pattern, kind: "literal", ignoreCase: false, spansLines: false, isHuge: false, ...targets };
}

export function regexp(pattern: string, targets: QueryTargets = untargeted): BenchQuery {
  return { ...literal(pattern, targets), kind: "regexp" };
}

type QueryTargets = Pick<BenchQuery, "must" | "aim">;

export function queryName({ pattern, ignoreCase }: BenchQuery): string {
  return `${ignoreCase ? "-i " : ""}${/^ +$/.test(pattern) ? `${pattern.length} spaces` : pattern}`;
}

/** A query in our language, for at most `count` matches. */
export function trawlQuery({ pattern, kind, ignoreCase }: BenchQuery, count: number | "all"): string {
  const quoted =
    kind === "literal" ? `content:"${pattern.replace(/["\\]/g, "\\$&")}"` : `/${pattern.replaceAll("/", "\\/")}/`;
  return `type:file count:${count}${ignoreCase ? "" : " case:yes"} ${quoted}`;
}

/** The parameters of our stream for every match of a query. */
export function streamParams(query: BenchQuery): URLSearchParams {
  return new URLSearchParams({ q: trawlQuery(query, "all"), t: query.kind });
}

/** A literal as a regular expression. */
export function escaped(pattern: string): string {
  return pattern.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
