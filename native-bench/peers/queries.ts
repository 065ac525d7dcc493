/** What a measured search is held to. Ratios are times of a peer divided by ours. */
export interface Target {
  readonly rg?: number;
  readonly csearch?: number;
  /** Our time at most. */
  readonly ms?: number;
  /** Our time at most, as a multiple of our time for `return`. */
  readonly timesReturn?: number;
}

export interface BenchQuery {
  readonly pattern: string;
  readonly kind: "literal" | "regexp";
  readonly ignoreCase: boolean;
  /** A match may go on in the next line. The peers look at one line at a time. */
  readonly spansLines: boolean;
  readonly must: Target;
  readonly aim: Target;
}

/** Literals that occur up to 20,000 times; rare and absent ones; regexps with a literal in them. */
const common = { must: { rg: 20, csearch: 15 }, aim: { rg: 55 } };
const rare = { must: { rg: 50, csearch: 5, ms: 3 }, aim: { ms: 1 } };
const anchored = { must: { rg: 15 }, aim: { rg: 30 } };
const untargeted = { must: {}, aim: {} };

export const queries: readonly BenchQuery[] = [
  literal("kmalloc", common),
  literal("TODO", common),
  literal("EXPORT_SYMBOL_GPL", common),
  literal("amdgpu_vcn_idle_work", rare),
  literal("qqzzxxjjvvww", rare),
  literal("return", { must: { rg: 1.2, csearch: 7 }, aim: { rg: 2 } }),
  literal("DMA", untargeted),
  { ...literal("kmalloc", untargeted), ignoreCase: true },
  { ...literal("dma", { must: { rg: 1.5 }, aim: { rg: 3 } }), ignoreCase: true },
  regexp("(copy|move)_to_user", anchored),
  regexp("[a-z]+_lock_irqsave", anchored),
  regexp("kmalloc\\(.*GFP_ATOMIC", untargeted),
  { ...regexp("err(or)?\\s*=\\s*-E[A-Z]+", untargeted), spansLines: true },
  regexp("[a-z]+[0-9]+_[a-z]+\\(", { must: { rg: 0.6 }, aim: { rg: 1 } }),
  literal("    ", { must: { timesReturn: 3 }, aim: {} }),
];

function literal(pattern: string, targets: Targets): BenchQuery {
  return { pattern, kind: "literal", ignoreCase: false, spansLines: false, ...targets };
}

function regexp(pattern: string, targets: Targets): BenchQuery {
  return { ...literal(pattern, targets), kind: "regexp" };
}

type Targets = Pick<BenchQuery, "must" | "aim">;

export function nameOf({ pattern, ignoreCase }: BenchQuery): string {
  return `${ignoreCase ? "-i " : ""}${/^ +$/.test(pattern) ? `${pattern.length} spaces` : pattern}`;
}

/** The parameters of our stream for every match of a query. */
export function streamParams({ pattern, kind, ignoreCase }: BenchQuery): URLSearchParams {
  const quoted = kind === "literal" ? `content:"${pattern.replace(/["\\]/g, "\\$&")}"` : `/${pattern.replaceAll("/", "\\/")}/`;
  const filters = `type:file count:all${ignoreCase ? "" : " case:yes"}`;
  return new URLSearchParams({ q: `${filters} ${quoted}`, t: kind });
}
