import type { CachedShardRange, Lane, ShardFailure } from "./messages.js";
import type { SearchOptions, SearchStats } from "./search-options.js";

/** The points that a document got, by what they are for. `score` is their sum times `fileFactor`, in whole points. */
export interface RankingParts {
  readonly symbol: number;
  readonly fileName: number;
  readonly folders: number;
  readonly line: number;
  readonly wholeWords: number;
  readonly phrase: number;
  readonly matches: number;
  readonly fileFactor: number;
  readonly score: number;
}

/** A document that a ranked search sends first. */
export interface RankedDocument {
  /** Index into the rows of the task. */
  readonly shard: number;
  readonly document: number;
  readonly parts: RankingParts;
  readonly stars: number;
  readonly repository: string;
  /** One character per byte (latin1). */
  readonly path: string;
}

/** Scores documents of shards: it takes shards from the counter of the control block, like a slice of a search. */
export interface RankTask {
  readonly searchId: number;
  readonly options: SearchOptions;
  /** As in `SearchTask`, like the others. */
  readonly table: SharedArrayBuffer;
  readonly filter: SharedArrayBuffer;
  readonly rows: Uint32Array;
  readonly cached: readonly CachedShardRange[];
  readonly control: Int32Array;
  readonly isAlone: boolean;
  readonly lane: Lane;
  /** The work in each shard. */
  readonly budget: RankBudget;
}

/** What ranking may examine in each shard: the same in every run, so the order of results is, too. */
export interface RankBudget {
  readonly contents: number;
  readonly cheapBytes: number;
  readonly expensiveBytes: number;
  /** Documents of which the best are kept. */
  readonly keptDocuments: number;
}

export interface RankedShard {
  /** Index into the rows of the task. */
  readonly shard: number;
  /** Whether all results of the shard were examined and kept. */
  readonly isComplete: boolean;
  readonly best: readonly RankedDocument[];
  readonly stats: SearchStats;
}

export interface RankTaskResult {
  readonly shards: readonly RankedShard[];
  readonly failures: readonly ShardFailure[];
  /** False if the task yielded to others: another one continues with the shards that are left. */
  readonly isDone: boolean;
}
