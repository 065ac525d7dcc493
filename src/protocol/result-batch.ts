import type { Tally } from "./tally.js";

/** Finished JSON: elements of the `matches` array, comma-separated, and what they count as. */
export interface ResultBatch {
  /** All that is used of its memory, which is transferred. */
  readonly bytes: Uint8Array;
  /** Whether the memory came from the writer's source, and is wanted back. */
  readonly isLent: boolean;
  readonly tally: Tally;
  /** Results of a `select:` that makes many matches one: the main thread keeps the first of each key, and counts it. */
  readonly selected: readonly SelectedResult[];
}

export interface SelectedResult {
  /** Equal for equal results, whichever worker found them. */
  readonly key: string;
  /** Index, in the plan, of the result options that selected it. */
  readonly optionsIndex: number;
  readonly repositoryId: number;
  readonly revision: string;
  readonly kind: "repository" | "directory" | "owner";
  /** The match object, or "" for a repository, which the main thread writes. */
  readonly json: string;
}
