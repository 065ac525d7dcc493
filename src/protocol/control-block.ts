/**
 * Words of the control block of one search, in shared memory: the main thread and the workers see each other through
 * it.
 */
export const controlWords = {
  /** One of `stopReasons`. */
  stop: 0,
  /** The next place in the list of shards to take. */
  nextShard: 1,
  /** Bytes that may still be sent before the client must read; workers subtract, the main thread adds. */
  credit: 2,
  /** Matches found, also past the limit. */
  matchCount: 3,
  /** Matches written, never past the display limit. */
  displayCount: 4,
  /** 1 when a match was left out because of the limit. */
  limitHit: 5,
  /** Milliseconds that a worker waits for credit before it gives way. */
  creditWaitMs: 6,
} as const;

export const controlWordCount = 8;

/** Why a search finds no more; a number other than 0 stops it as soon as possible. */
export const stopReasons = {
  none: 0,
  /** What is not sent yet is dropped. */
  cancelled: 1,
  /** What is counted is still written. */
  limit: 2,
} as const;

/** True when nothing more is to be found, for whatever reason. */
export function isStopped(control: Int32Array): boolean {
  return Atomics.load(control, controlWords.stop) !== stopReasons.none;
}

/** Notes that the limit is reached, unless the search is stopped already. */
export function stopAtLimit(control: Int32Array): void {
  Atomics.store(control, controlWords.limitHit, 1);
  Atomics.compareExchange(control, controlWords.stop, stopReasons.none, stopReasons.limit);
}
