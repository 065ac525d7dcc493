import type { ResultLimits } from "./result-limits.js";
import type { SearchPlan, TextPlan } from "../query/plan/plan.js";

/** What the workers need to know of a search: plain data, the same for every shard. */
export interface SearchOptions {
  readonly plan: SearchPlan;
  readonly chunkMatches: boolean;
  readonly contextLines: number;
  readonly lineBytesMax: number;
  /** At most this many matches are found, and at most so many are written; counted over all workers. */
  readonly matchCountMax: number;
  readonly displayCountMax: number;
  /** Undefined when the same result options apply to all results. */
  readonly resultLimits: ResultLimits | undefined;
  /** Memory of a `PeopleTable` of all commits that are searched; undefined when nobody asks for people. */
  readonly people: SharedArrayBuffer | undefined;
  /** By basic query of the plan: which repositories it searches. */
  readonly selections: readonly RepositorySelection[];
  /** False makes every document a candidate: `index:no`, and a test of the verification alone. */
  readonly useIndex: boolean;
  /** Undefined when all revisions are indexed branches. */
  readonly commitSets: CommitSets | undefined;
}

export interface RepositorySelection {
  /** Bit per repository id; undefined for all. */
  readonly repositoryIds: Uint32Array | undefined;
  /** By repository id: the revisions to search. A repository without an entry is searched at its default branch. */
  readonly revisions: ReadonlyMap<number, readonly RevisionChoice[]> | undefined;
}

/** A revision of one repository as the user wrote it, and the indexed branch or the commit that it names. */
export interface RevisionChoice {
  readonly typed: string;
  /** Of the indexed branch; -1 for a commit that is not indexed. */
  readonly bit: number;
  readonly unindexed: UnindexedCommit | undefined;
}

export interface UnindexedCommit {
  /** Full oid. */
  readonly commit: string;
  /** Its index among the commits that `CommitSets` are made of. */
  readonly number: number;
}

/** Which documents commits have that are not indexed: arrays in shared memory, written before they are shared. */
export interface CommitSets {
  /** By index into a task's rows: where the sets of the shard's documents begin in `words`. */
  readonly starts: Uint32Array;
  /** A word per document: the number of its set, 0 for no commit. */
  readonly words: Uint32Array;
  /** Set i is the pairs `[setStarts[i], setStarts[i + 1])` of `setRanges`: commits from this number to before that. */
  readonly setStarts: Uint32Array;
  readonly setRanges: Uint32Array;
}

/** Which repositories hold a file that a search has a condition on. */
export interface FindCondition {
  readonly file: TextPlan;
  /** The repositories and branches that the answer is wanted of. */
  readonly selection: RepositorySelection;
  /**
   * In shared memory, by repository id: a bit for each branch in which such a file is found. Ids of chosen repositories
   * are in it.
   */
  readonly found: Int32Array;
}

/** Counters of one search's work; each is summed over shards, and the metric of the same name over searches. */
export interface SearchStats {
  /** Shards opened. */
  shardsSearched: number;
  /** Shards that the index ruled out, before they were opened or after. */
  shardsRuledOut: number;
  /**
   * Bytes of the shortest posting list of each literal looked up: what was decoded, without the lists merged into it.
   */
  postingBytes: number;
  /** Contents that the index could not rule out. */
  candidateContents: number;
  /** Bytes of text looked at by the kernel or RE2. */
  scannedBytes: number;
  /** Documents that passed repository, branch, path and language filters. */
  documentsFiltered: number;
  /** Documents with at least one result. */
  documentsMatched: number;
  /** Documents left out because looking for the pattern in them takes too much work. */
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
