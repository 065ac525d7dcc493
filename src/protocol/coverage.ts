import type { SkipReason } from "../model/skip-reason.js";

/** What a search with a receipt covers, counted by slices over the shards that they search. */
export interface Coverage {
  /** Documents at the searched revisions that pass the filters on repositories and paths. */
  documentCount: number;
  /** Those of them whose texts should be searched, and are not in the index or not decoded. */
  readonly unsearched: UnsearchedFile[];
}

export interface UnsearchedFile {
  readonly repository: string;
  readonly path: string;
  readonly reason: SkipReason;
}

export function emptyCoverage(): Coverage {
  return { documentCount: 0, unsearched: [] };
}
