import type { FileDiffData, HunkData } from "../git/history/file-diffs.js";
import type { RepositorySource } from "./repository-source.js";
import type { CommitSource } from "./git-sources.js";

/** Two commits that are compared. Without a base everything in head is new. */
export interface ComparisonSource {
  readonly repository: RepositorySource;
  readonly baseText: string;
  readonly headText: string;
  readonly base: CommitSource | undefined;
  readonly head: CommitSource;
}

/** A page of the files that differ. */
export interface FileDiffsSource {
  readonly comparison: ComparisonSource;
  /** The commit that head is compared with: the merge base. */
  readonly oldCommit: CommitSource | undefined;
  readonly paths: readonly string[];
  readonly files: readonly FileDiffData[];
  readonly totalCount: number;
  readonly addedCount: number;
  readonly deletedCount: number;
  readonly pageInfo: { readonly endCursor: string | null; readonly hasNextPage: boolean };
}

export interface FileDiffSource {
  readonly data: FileDiffData;
  readonly oldCommit: CommitSource | undefined;
  readonly newCommit: CommitSource;
}

/** Consecutive lines that differ, in the file with this path. */
export interface HunkSource {
  readonly data: HunkData;
  readonly path: string;
}
