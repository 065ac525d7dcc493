import { isBefore, type ResultPosition } from "./result-position.js";

/**
 * Results that have been counted although they are not written yet: all up to `last`, of which those up to `shown` will
 * be written.
 */
export interface CountedResults {
  readonly last: ResultPosition;
  readonly shown: ResultPosition;
  /** Rows to write of the last shown result. */
  readonly shownRows: number;
  /** Results at which limits of individual basic queries were reached. */
  readonly cuts: readonly ResultCut[];
}

/** Whether the result is one of those that have been counted. */
export function isCounted(
  counted: CountedResults | undefined,
  document: number,
  revision: number,
): counted is CountedResults {
  return counted !== undefined && !isBefore(counted.last, document, revision);
}

/** Position at which the search of a shard resumes: plain data that can be sent between threads. */
export interface ShardPosition {
  /** Contents before this one are finished. */
  readonly content: number;
  /** Results before this one are finished; document 0 if no result of the content is. */
  readonly result: ResultPosition;
  /** Rows of that result that have been written. */
  readonly rowsDone: number;
  /** Undefined if all counted results have been written. */
  readonly counted: CountedResults | undefined;
  /** True if the texts of the shard are finished, and contents are parts of its symbols. */
  readonly inSymbols?: boolean;
}

/**
 * The result in a block at which the limit of certain result options was reached; later results contain no matches for
 * them.
 */
export interface ResultCut {
  readonly optionsIndex: number;
  readonly at: ResultPosition;
  /** Matches that were taken of it. */
  readonly taken: number;
}
