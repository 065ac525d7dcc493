import type { Tally } from "./tally.js";

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
