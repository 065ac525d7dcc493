/** What the quotient of a peer's time and ours must reach, and should. */
export type QueryLimits = Partial<Record<"rg" | "csearch" | "zoekt", readonly [must: number, aim?: number]>>;

export interface BenchQuery {
  readonly pattern: string;
  readonly kind: "literal" | "regexp";
  readonly ignoreCase: boolean;
  /** A match may continue in the next line. The peers search line by line. */
  readonly spansLines: boolean;
  /** Only ripgrep is compared: the other tools take seconds or write gigabytes, and no target needs them. */
  readonly onlyRipgrep: boolean;
  readonly limits: QueryLimits;
}

const common = { rg: [20, 55], csearch: [15] } as const;
const rare = { rg: [50], csearch: [5] } as const;
const anchored = { rg: [15, 30], zoekt: [20, 100] } as const;
const scanned = { rg: [2, 3] } as const;

/** For the Linux source: literals, regexps with a literal, and regexps without one that rules much out. */
export const queries: readonly BenchQuery[] = [
  literal("kmalloc", common),
  literal("TODO", common),
  literal("EXPORT_SYMBOL_GPL", common),
  literal("amdgpu_vcn_idle_work", rare),
  literal("qqzzxxjjvvww", rare),
  literal("return", { rg: [3, 4], csearch: [7], zoekt: [15, 20] }),
  { ...literal("kmalloc"), ignoreCase: true },
  { ...literal("dma", { rg: [1.5, 3], zoekt: [5, 10] }), ignoreCase: true },
  regexp("(copy|move)_to_user", anchored),
  regexp("[a-z]+_lock_irqsave", anchored),
  regexp("kmalloc\\(.*GFP_ATOMIC", scanned),
  { ...regexp("err(or)?\\s*=\\s*-E[A-Z]+", scanned), spansLines: true },
  regexp("[a-z]+[0-9]+_[a-z]+\\(", { ...scanned, zoekt: [5, 10] }),
  onlyRipgrep(regexp("[A-Z][A-Z0-9_]{12,}", { rg: [1, 1.5] })),
  onlyRipgrep({ ...regexp("(todo|fixme|xxx)[: ]", scanned), ignoreCase: true }),
  onlyRipgrep({ ...regexp("\\bstruct\\s+\\w+_ops\\b", scanned), spansLines: true }),
  onlyRipgrep(regexp("0x[0-9a-fA-F]{8}\\b", scanned)),
  onlyRipgrep({ ...regexp("^static\\s+(inline\\s+)?\\w+\\s+\\*?\\w+\\(", scanned), spansLines: true }),
  onlyRipgrep({ ...regexp("\\b\\w+\\s*=\\s*\\w+\\s*->\\s*\\w+;", scanned), spansLines: true }),
  onlyRipgrep(regexp("if \\([a-z_]+ == NULL\\)", scanned)),
  onlyRipgrep(literal("    ")),
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

export function literal(pattern: string, limits: QueryLimits = {}): BenchQuery {
  return { pattern, kind: "literal", ignoreCase: false, spansLines: false, onlyRipgrep: false, limits };
}

export function regexp(pattern: string, limits: QueryLimits = {}): BenchQuery {
  return { ...literal(pattern, limits), kind: "regexp" };
}

function onlyRipgrep(query: BenchQuery): BenchQuery {
  return { ...query, onlyRipgrep: true };
}

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
