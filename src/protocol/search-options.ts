import type { ResultLimits } from "./control-block.js";
import type { MarkOptions } from "./result-batch.js";
import type { SearchPlan, TextPlan } from "../query/plan/plan.js";

/** Options of a search that workers need: plain data, the same for every shard. */
export interface SearchOptions {
  readonly plan: SearchPlan;
  readonly chunkMatches: boolean;
  readonly contextLines: number;
  readonly lineBytesMax: number;
  /** Whether longer lines are cut around their matches instead of at the end: if the client has not chosen the limit. */
  readonly cutsAround: boolean;
  /** Limits on matches found and on matches written; counted over all workers. */
  readonly matchCountMax: number;
  readonly displayCountMax: number;
  /** Undefined if the same options apply to all results. */
  readonly resultLimits: ResultLimits | undefined;
  /**
   * Memory of a `PeopleTable` for all commits that are searched; undefined if the query has no conditions on people.
   */
  readonly people: SharedArrayBuffer | undefined;
  /** The repositories that each basic query of the plan searches. */
  readonly selections: readonly RepositorySelection[];
  /**
   * If false, every document is a candidate: used for `index:no`, and for testing verification independently of the
   * index.
   */
  readonly useIndex: boolean;
  /**
   * Whether the search has a receipt: its results have a digest, and slices report what they cover, for which they open
   * all shards of the chosen repositories.
   */
  readonly receipt: boolean;
  /** Memory of `ContentClaims`; undefined unless results with the same content and matches are grouped. */
  readonly claims: SharedArrayBuffer | undefined;
  /** Whether batches tell of these contents, because other nodes may have them, too. */
  readonly tellsContents?: boolean | undefined;
  /** By what the matches are counted, if workers alone know it. */
  readonly group: "path" | "capture" | undefined;
  /** Undefined if all revisions are indexed branches. */
  readonly commitSets: CommitSets | undefined;
  /** A batch is sent at this size; absent for that of the lane. Of one node of several, which has a part of the credit. */
  readonly batchBytesMax?: number | undefined;
  /** What match objects add to ids of repositories: 0 unless several nodes search. */
  readonly idBase: number;
  /** Undefined unless another process may have to go on behind what was sent, or this one goes on behind another. */
  readonly marks?: MarkOptions | undefined;
}

export interface RepositorySelection {
  /** One bit per repository id; undefined for all repositories. */
  readonly repositoryIds: Uint32Array | undefined;
  /** The revisions to search, by repository id. Repositories without an entry are searched at their default branch. */
  readonly revisions: ReadonlyMap<number, readonly RevisionChoice[]> | undefined;
}

/** A revision of a repository as the user wrote it, and the indexed branch or the commit to which it resolves. */
export interface RevisionChoice {
  readonly typed: string;
  /** Bit of the indexed branch; -1 for a commit that is not indexed. */
  readonly bit: number;
  readonly unindexed: UnindexedCommit | undefined;
}

export interface UnindexedCommit {
  /** Full oid. */
  readonly commit: string;
  /** Its index among the commits in `CommitSets`. */
  readonly number: number;
}

/** Which documents the commits that are not indexed have: arrays in shared memory, written before they are shared. */
export interface CommitSets {
  /** By index into a task's rows: where the sets of the shard's documents start in `words`. */
  readonly starts: Uint32Array;
  /** One word per document: the number of its set, 0 for no commit. */
  readonly words: Uint32Array;
  /**
   * Set i consists of the pairs `[setStarts[i], setStarts[i + 1])` of `setRanges`: each is a half-open range of commit
   * numbers.
   */
  readonly setStarts: Uint32Array;
  readonly setRanges: Uint32Array;
}

/** A condition of a search: repositories that contain a certain file. */
export interface FindCondition {
  readonly file: TextPlan;
  /** The repositories and branches for which the result is needed. */
  readonly selection: RepositorySelection;
  /**
   * In shared memory, by repository id: one bit per branch in which such a file was found. It covers the ids of all
   * chosen repositories.
   */
  readonly found: Int32Array;
}

/** Counters of the work of one search; each is summed over shards, and the metric of the same name over searches. */
export interface SearchStats {
  /** Shards opened. */
  shardsSearched: number;
  /** Shards that the index ruled out, before or after they were opened. */
  shardsRuledOut: number;
  /**
   * Bytes of the shortest posting list of each literal that was looked up: the list that was decoded, excluding the
   * lists intersected with it.
   */
  postingBytes: number;
  /** Contents that the index could not rule out. */
  candidateContents: number;
  /** Bytes of text examined by the kernel or RE2. */
  scannedBytes: number;
  /** Documents that passed repository, branch, path and language filters. */
  documentsFiltered: number;
  /** Documents with at least one result. */
  documentsMatched: number;
  /** Documents excluded because matching the pattern in them takes too much work. */
  documentsTooCostly: number;
}

export function noStats(): SearchStats {
  return {
    shardsSearched: 0,
    shardsRuledOut: 0,
    postingBytes: 0,
    candidateContents: 0,
    scannedBytes: 0,
    documentsFiltered: 0,
    documentsMatched: 0,
    documentsTooCostly: 0,
  };
}

export function addStats(sum: SearchStats, other: SearchStats): void {
  for (const key of Object.keys(sum) as (keyof SearchStats)[]) sum[key] += other[key];
}
