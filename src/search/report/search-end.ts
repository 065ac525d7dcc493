import type { Lane } from "../../protocol/messages.js";
import type { SearchStats } from "../../protocol/search-options.js";
import type { SearchChanges } from "../revisions/revision-changes.js";
import type { NotSearched } from "./progress.js";
import type { SearchReceipt } from "./search-receipt.js";

/** How a search ended. */
export type SearchOutcome = "complete" | "limit" | "timeout" | "cancelled" | "failed";

export interface SearchEnd {
  readonly lane: Lane;
  readonly outcome: SearchOutcome;
  readonly matchCount: number;
  readonly durationMs: number;
  /** Milliseconds until the first matches event; undefined if there was none. */
  readonly firstMatchesMs: number | undefined;
  /**
   * Milliseconds from the moment when no more results were wanted until the end of the last slice; undefined if the
   * search was completed.
   */
  readonly stoppingMs: number | undefined;
  readonly stats: SearchStats;
  readonly shardFailures: readonly string[];
  readonly notSearched: NotSearched;
  /**
   * Whether the query has these results as long as the catalog does not change: they depend on nothing else, such as a
   * mirror or a clock, and on no failure.
   */
  readonly isRepeatable: boolean;
  /** Undefined if the client did not ask for it, or left. */
  readonly receipt: SearchReceipt | undefined;
  /** What a search for changes compared; undefined for any other search. */
  readonly changes: SearchChanges | undefined;
}
