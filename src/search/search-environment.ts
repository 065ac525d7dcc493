import type { Log } from "../base/log.js";
import type { Catalog } from "../catalog/catalog.js";
import type { SearchStats } from "../protocol/search-options.js";
import type { Lane } from "../protocol/messages.js";
import type { SearchPool } from "../pool/search-pool.js";
import type { CommitAttributeReader } from "./revisions/commit-attributes.js";
import type { NotSearched } from "./stream/progress.js";
import type { RevisionReading } from "./revisions/revision-phases.js";
import type { SliceScheduler } from "./slice-scheduler.js";

/** What a search borrows from the daemon. */
export interface SearchEnvironment {
  readonly catalog: Catalog;
  readonly pool: SearchPool;
  readonly scheduler: SliceScheduler;
  readonly commitAttributes: CommitAttributeReader;
  /** How revisions are searched that are not indexed. */
  readonly revisions: RevisionReading;
  readonly log: Log;
  readonly defaultCount: number;
  readonly defaultTimeoutMs: number;
  readonly maxTimeoutMs: number;
  /** The `trace` URL of progress events. */
  readonly traceUrl: string;
  readonly onShardFailure: (shardId: number) => void;
}

/** How a search ended. */
export type SearchOutcome = "complete" | "limit" | "timeout" | "cancelled" | "failed";

export interface SearchEnd {
  readonly lane: Lane;
  readonly outcome: SearchOutcome;
  readonly matchCount: number;
  readonly durationMs: number;
  /** Milliseconds to the first matches event; undefined when there was none. */
  readonly firstMatchesMs: number | undefined;
  /**
   * Milliseconds from the moment when nobody wanted more to the end of the last slice; undefined when the search ran to
   * its end.
   */
  readonly stoppingMs: number | undefined;
  readonly stats: SearchStats;
  readonly shardFailures: readonly string[];
  readonly notSearched: NotSearched;
}
