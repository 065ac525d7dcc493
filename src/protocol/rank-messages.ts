import type { CachedShardRange, Lane, SearchTaskResult, ShardFailure } from "./messages.js";
import type { SearchOptions, SearchStats } from "./search-options.js";

/** The points that a document got, by what they are for: its score is their sum times `fileFactor`, in whole points. */
export interface RankingParts {
  readonly symbol: number;
  readonly fileName: number;
  readonly folders: number;
  readonly line: number;
  readonly wholeWords: number;
  readonly phrase: number;
  readonly matches: number;
  readonly fileFactor: number;
}

/** A document that a ranked search sends first. */
export interface RankedDocument {
  /** Index into the rows of the task. */
  readonly shard: number;
  readonly document: number;
  readonly score: number;
  /** It has at least as many matches that count for the limit. */
  readonly matchCount: number;
  /** Undefined where nobody asked for them. */
  readonly parts: RankingParts | undefined;
  readonly stars: number;
  /** When the commit of the repository's default branch was made that is indexed; 0 if that is not known. */
  readonly committedSeconds: number;
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
  /** Whether the parts of the scores are wanted. */
  readonly withParts: boolean;
  /**
   * The slice as which the task writes the best documents, if it has ranked all shards and requested no help. Undefined
   * if it must not write them.
   */
  readonly writtenSlice: number | undefined;
}

/** What ranking may examine in each shard: the same in every run, so the order of results is, too. */
export interface RankBudget {
  readonly contents: number;
  readonly cheapBytes: number;
  readonly expensiveBytes: number;
  /** The best documents are kept: at most so many, and no more than have so many matches. */
  readonly keptDocuments: number;
  readonly keptMatches: number;
}

export interface RankedShard {
  /** Index into the rows of the task. */
  readonly shard: number;
  /** Whether all results of the shard were examined and kept. */
  readonly isComplete: boolean;
  /** Number of documents that were kept. */
  readonly keptCount: number;
  readonly stats: SearchStats;
}

/**
 * Ranked documents and shards as a thread posts them: to clone an object for each takes ten times as long as to clone
 * these columns.
 */
export interface RankedColumns {
  /** Six numbers for each document: shard, document, score, number of matches, stars, and when the commit was made. */
  readonly documents: Float64Array;
  /** For each document the names of its repository and its path. */
  readonly names: readonly string[];
  /** By document; undefined unless they are wanted. */
  readonly parts: readonly (RankingParts | undefined)[] | undefined;
  /** For each shard its number, whether it is complete, how many documents were kept, and its statistics. */
  readonly shards: Float64Array;
}

export interface RankTaskResult {
  /**
   * The shards, and the best documents of all of them together: with those of each shard, most of the time of a search
   * went into messages.
   */
  readonly ranked: RankedColumns;
  readonly failures: readonly ShardFailure[];
  /** False if the task yielded to others: another one continues with the shards that are left. */
  readonly isDone: boolean;
  /** The result of `writtenSlice`; undefined if the best documents are not written. */
  readonly written: SearchTaskResult | undefined;
}
