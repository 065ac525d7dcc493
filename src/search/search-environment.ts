import type { Log } from "../base/log.js";
import type { Catalog } from "../catalog/catalog.js";
import type { SearchStats } from "../protocol/search-options.js";
import type { Lane } from "../protocol/messages.js";
import type { SearchPool } from "../pool/search-pool.js";
import type { CommitLists } from "./history/commit-lists.js";
import type { CommitAttributeReader } from "./revisions/commit-attributes.js";
import type { OwnersLookup } from "./preparation-context.js";
import type { NotSearched } from "./stream/progress.js";
import type { SearchChanges } from "./changes/revision-changes.js";
import type { CostBudgets } from "./cost-budgets.js";
import type { SearchReceipt } from "./receipt/search-receipt.js";
import type { RevisionReading } from "./revisions/search-phase.js";
import type { SliceScheduler } from "./slice-scheduler.js";

/** Services of the daemon that a search uses. */
export interface SearchEnvironment {
  readonly catalog: Catalog;
  readonly pool: SearchPool;
  readonly scheduler: SliceScheduler;
  readonly commitAttributes: CommitAttributeReader;
  readonly ownersOf: OwnersLookup;
  /** How revisions that are not indexed are searched. */
  readonly revisions: RevisionReading;
  /** The commits of histories that were searched recently. */
  readonly commitLists: CommitLists;
  readonly log: Log;
  readonly defaultCount: number;
  readonly defaultTimeoutMs: number;
  readonly maxTimeoutMs: number;
  /** The `trace` URL of progress events. */
  readonly traceUrl: string;
  /** The `url` of receipts. */
  readonly receiptUrl: string;
  /** What the searches of each client may cost. */
  readonly budgets: CostBudgets;
  readonly onShardFailure: (shardId: number) => void;
}

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
