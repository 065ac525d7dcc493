import type { ResultPosition } from "./result-position.js";

/**
 * Results that are counted although they are not written yet: all up to `last`, of which those up to `shown` are to be
 * written.
 */
export interface CountedResults {
  readonly last: ResultPosition;
  readonly shown: ResultPosition;
  /** Rows to be written of the last shown result. */
  readonly shownRows: number;
  /** Where limits of single basic queries were reached among them. */
  readonly cuts: readonly ResultCut[];
}

/** Where a search of one shard goes on: plain data that crosses threads. */
export interface ShardPosition {
  /** Contents before this one are done. */
  readonly content: number;
  /** Results before this one are done; document 0 when none of the content is. */
  readonly result: ResultPosition;
  /** Rows of that result that are written. */
  readonly rowsDone: number;
  /** Undefined when all that is counted is written. */
  readonly counted: CountedResults | undefined;
}

/**
 * The result of a block at which a limit was reached; results after it get no matches of these options in theirs.
 */
export interface ResultCut {
  readonly optionsIndex: number;
  readonly at: ResultPosition;
  /** Matches that they took of it. */
  readonly taken: number;
}
