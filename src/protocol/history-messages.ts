import type { SerializedError } from "../base/errors.js";
import type { CommitList } from "../git/history/commit-list.js";
import type { HistoryPlan } from "../query/plan/plan.js";
import type { CommitPage } from "./commit-page.js";
import type { Lane } from "./messages.js";
import type { RepositorySummary } from "./repository-summaries.js";

/** Lists the commits that revisions reach, in the order of results. */
export interface ListCommits {
  readonly kind: "list-commits";
  readonly repositoryId: number;
  /** Oids. */
  readonly from: readonly string[];
  /** Whether the HEAD of the mirror is one of them. */
  readonly fromHead: boolean;
  /** Revisions as typed: commits that they reach are left out. */
  readonly without: readonly string[];
}

export interface ListedCommits {
  readonly list: CommitList;
  /** Revisions of `without` that do not exist. */
  readonly missing: readonly string[];
  /** Those of which it is not clear which commit they name. */
  readonly ambiguous: readonly string[];
}

/** Builds a history shard without posting lists, in shared memory, of commits that are read from a mirror. */
export interface BuildHistory {
  readonly kind: "build-history";
  readonly repositoryId: number;
  readonly list: CommitList;
  /** Indexes in the list. */
  readonly from: number;
  readonly to: number;
  /** Without the changes of the commits. */
  readonly headersOnly: boolean;
  /** Whether the languages of changed files are wanted, which takes reading some of them. */
  readonly withLanguages: boolean;
}

/** Determines which commits of a list can have changed a line that contains one of the literals. */
export interface FilterHistory {
  readonly kind: "filter-history";
  readonly repositoryId: number;
  readonly list: CommitList;
  /** Indexes in the list. */
  readonly from: number;
  readonly to: number;
  readonly literals: LineLiterals;
}

/** Each changed line that a search finds contains one of the texts. */
export interface LineLiterals {
  /** Not empty, without zero bytes. If case is ignored, ASCII letters are in lower case. */
  readonly texts: readonly Uint8Array[];
  readonly foldCase: boolean;
}

export interface FilteredHistory {
  /** Indexes in the list of commits that may have, ascending. */
  readonly candidates: Uint32Array;
}

export interface BuiltHistory {
  /** Undefined if none of the commits can be read. */
  readonly shard: Uint8Array | undefined;
  /** Index of the first commit that it does not contain, because it is full. */
  readonly next: number;
  /** Commits that the mirror does not have, or that git cannot read completely. */
  readonly brokenCount: number;
  /** Files whose changes are too large to be searched. */
  readonly largeFileCount: number;
  /** Commits of whose message the end is left out. */
  readonly cutMessageCount: number;
}

/** A history shard of the store, by its id and the checksum of its header. */
export interface StoredHistory {
  readonly id: number;
  readonly checksum: number;
  /**
   * Shared memory: word `historyParts.index` and `historyParts.text` are 1 more than the number of faults of the store
   * when the part was verified; 0 if it was not.
   */
  readonly verified: Int32Array;
}

export const historyParts = { index: 0, text: 1 } as const;

/** A history shard of the store, of which some commits are searched. */
export interface VisibleHistory extends StoredHistory {
  /** The commits to search, one bit each, in shared memory. */
  readonly visible: Uint32Array;
  /** The least and the greatest committer date of these commits. */
  readonly oldest: number;
  readonly newest: number;
}

/** Where the search of a history shard continues. */
export interface HistoryPosition {
  /** Position of a commit in the order of results of the shard. */
  readonly at: number;
  /** Results of this commit that are known already. */
  readonly knownCount: number;
}

/** Finds the commits of a list in history shards of the store. */
export interface CoverTask {
  readonly list: CommitList;
  readonly shards: readonly StoredHistory[];
  /** The control block of the search; its stop word ends the task. */
  readonly control: Int32Array;
}

export interface CoverResult {
  /** Those that have commits of the list; each commit is visible in one of them. */
  readonly shards: readonly VisibleHistory[];
  /** Indexes in the list of the commits that no shard has, ascending. */
  readonly missing: Uint32Array;
  /**
   * Of the visible commits: those that are incomplete, changed files that were left out because of their size, and messages
   * whose end was left out.
   */
  readonly brokenCount: number;
  readonly largeFileCount: number;
  readonly cutMessageCount: number;
  /** Shards that cannot be read; their commits are missing. */
  readonly failures: readonly { readonly shardId: number; readonly error: SerializedError }[];
}

/** Matches the name or the address of an author. */
export interface AuthorFilter {
  readonly source: string;
  readonly foldCase: boolean;
}

/** Finds who changed which paths, in the visible commits of history shards. */
export interface ContributorsTask {
  readonly shards: readonly VisibleHistory[];
  /** Index of the first shard that is left. */
  readonly from: number;
  /** As in the result, of the shards before it. */
  readonly known: Uint8Array | undefined;
  /** At most 32. */
  readonly filters: readonly AuthorFilter[];
  /** The control block of the search; its stop word ends the task. */
  readonly control: Int32Array;
}

export interface ContributorsResult {
  /** Output of `encodePathMasks`: by path, one bit per filter, set if one of its authors matches. */
  readonly bytes: Uint8Array | undefined;
  /** Index of the shard to continue with; undefined if none is left. */
  readonly next: number | undefined;
  /** Why a shard could not be read; then there are no bytes. */
  readonly error: SerializedError | undefined;
}

/** Searches the commits of a history shard. It posts no batches: results are in order, and the caller counts them. */
export interface HistoryTask {
  /** Its bytes, or the stored one. */
  readonly shard: Uint8Array | VisibleHistory;
  readonly plans: readonly HistoryPlanWithOptions[];
  readonly repository: Pick<RepositorySummary, "id" | "name" | "stars" | "lastFetched">;
  readonly diffType: "commit" | "diff";
  readonly nowMs: number;
  /** Undefined for the first results. */
  readonly from: HistoryPosition | undefined;
  /** It may end when it has found more matches. */
  readonly matchCountMax: number;
  /** It ends when its results have more bytes of JSON. */
  readonly jsonBytesMax: number;
  readonly useIndex: boolean;
  /** The control block of the search; its stop word ends the task. */
  readonly control: Int32Array;
  readonly lane: Lane;
}

/** A plan, and the index of its result options. */
export interface HistoryPlanWithOptions {
  readonly plan: HistoryPlan;
  readonly optionsIndex: number;
}

export interface HistoryTaskResult {
  readonly results: CommitPage;
  /** Where to continue; undefined if there are no more. */
  readonly next: HistoryPosition | undefined;
  readonly error: SerializedError | undefined;
}
