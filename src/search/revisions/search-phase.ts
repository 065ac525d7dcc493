import type { CatalogView } from "../../catalog/live-shards.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { ReadPool } from "../../pool/read-pool.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import type { IndexLimits } from "../../protocol/ingest-messages.js";
import type { CachedShardRange } from "../../protocol/messages.js";
import type { CommitSets, RepositorySelection } from "../../protocol/search-options.js";
import type { TextPlan } from "../../query/plan/plan.js";
import type { RevisionCache } from "./revision-cache.js";

/** What the search of commits that are not indexed uses. */
export interface RevisionReading {
  readonly reads: ReadPool;
  readonly cache: RevisionCache;
  /** The limits of the index, which decide whether the content of a file is searched. */
  readonly limits: IndexLimits;
}

/** Shards that are searched together, and what is searched in them. */
export interface SearchPhase {
  readonly selections: readonly RepositorySelection[];
  readonly commitSets: CommitSets;
  /** Rows of the view's table, then those of `cached`. */
  readonly rows: Uint32Array;
  readonly cached: readonly CachedShardRange[];
  /** Must be called when nobody reads the shards any more. Idempotent. */
  release(): void;
}

/** What could not be searched. */
export interface PhaseProblems {
  /** Sentences. */
  readonly failures: string[];
  /** Names of repositories whose mirrors lack texts that should be searched. */
  readonly incompleteRevisions: Set<string>;
  /** Why symbols could not be extracted. */
  readonly symbolFaults: Set<string>;
}

export interface PhaseContext extends RevisionReading {
  /** What documents are searched for, by basic query; undefined if a query does not search documents. */
  readonly texts: readonly (TextPlan | undefined)[];
  /** Records as of the view: a commit that was indexed later is not a base for what the view shows. */
  readonly repositories: Pick<RepositoryTable, "byId">;
  readonly view: CatalogView;
  /** The search's control block; its stop word ends the reads. */
  readonly control: ControlBlock;
  /** Whether shards that cannot contain a result are searched as well. */
  readonly coversAll: boolean;
  readonly timeoutMs: number;
  readonly client: string;
  /** Grows while phases are prepared. */
  readonly problems: PhaseProblems;
}
