/** Results as JSON: comma-separated elements of the `matches` array, with their counts. */
export interface ResultBatch {
  /** Spans the used part of its memory, which is transferred. */
  readonly bytes: Uint8Array;
  /** Whether the memory belongs to the worker's buffers, and must be returned. */
  readonly isLent: boolean;
  readonly tally: Tally;
  /** The digest of the match objects; undefined if the search has none. */
  readonly digest: Uint32Array | undefined;
  /**
   * Results of a `select:` that combines several matches into one: the main thread keeps the first of each key, and
   * counts it.
   */
  readonly selected: readonly SelectedResult[];
}

/** What a batch takes of the credit of the workers: its bytes, and about as many as its groups have. */
export function creditOfBatch({ bytes, tally }: Pick<ResultBatch, "bytes" | "tally">): number {
  return bytes.length + groupBytes * tally.groups.size;
}

const groupBytes = 100;

export interface SelectedResult {
  /** Equal for equal results, regardless of which worker found them. */
  readonly key: string;
  /** Index, in the plan, of the result options that selected it. */
  readonly optionsIndex: number;
  readonly repositoryId: number;
  readonly revision: string;
  readonly kind: "repository" | "directory" | "owner";
  /** The match object, or "" for a repository, which the main thread writes. */
  readonly json: string;
}

/**
 * Match counts of one batch of results, from which filters are computed. Plain data that is sent to the main thread.
 */
export interface Tally {
  /** By repository id, "@" and the revision as typed. */
  readonly repositories: Map<string, number>;
  readonly languages: Map<string, number>;
  /** By index in `fileKinds`. */
  readonly fileKinds: number[];
  /** Number of ranges in contents. */
  contentMatches: number;
  symbolMatches: number;
  /** Symbols by kind, as `select:symbol.` names it. */
  readonly symbolKinds: Map<string, number>;
  /** Number of highlights in paths, or 1 for a path result without highlights. */
  pathMatches: number;
  /** Results of `select:file.owners` without an owner. */
  unownedResults: number;
  /** By path or captured text, if matches are counted by that. */
  readonly groups: Map<string, number>;
}

/** Match counts of commits and diffs, which the main thread counts. */
export interface HistoryTally {
  commitMatches: number;
  diffMatches: number;
  /** By e-mail address. */
  readonly authors: Map<string, { readonly name: string; count: number }>;
  /** By index in `commitAges`: commits within the last day, week and month, and older than two months. */
  readonly ages: [day: number, week: number, month: number, older: number];
}

export function emptyHistoryTally(): HistoryTally {
  return { commitMatches: 0, diffMatches: 0, authors: new Map(), ages: [0, 0, 0, 0] };
}

export function emptyTally(): Tally {
  return {
    repositories: new Map(),
    languages: new Map(),
    fileKinds: [0, 0, 0, 0, 0, 0, 0, 0],
    contentMatches: 0,
    symbolMatches: 0,
    symbolKinds: new Map(),
    pathMatches: 0,
    unownedResults: 0,
    groups: new Map(),
  };
}

/** Adds all counts but `groups`. */
export function addTally(sum: Tally, other: Tally): void {
  for (const [key, count] of other.repositories) increase(sum.repositories, key, count);
  for (const [key, count] of other.languages) increase(sum.languages, key, count);
  for (const [kind, count] of other.symbolKinds) increase(sum.symbolKinds, kind, count);
  other.fileKinds.forEach((count, i) => {
    sum.fileKinds[i] += count;
  });
  sum.contentMatches += other.contentMatches;
  sum.symbolMatches += other.symbolMatches;
  sum.pathMatches += other.pathMatches;
  sum.unownedResults += other.unownedResults;
}

export function increase(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}
