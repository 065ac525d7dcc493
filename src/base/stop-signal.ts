/**
 * Called often by long-running work; true means that the work must stop. A function, not an AbortSignal, because stop
 * flags are in memory shared between threads, where no event signals a change.
 */
export interface StopSignal {
  (): boolean;
  /** Flags that native loops check: the first word of each, set if it is not zero. Absent if only code decides. */
  readonly words?: readonly Int32Array[];
}

/** For work that cannot be stopped. */
export const neverStop: StopSignal = () => false;

/** True as soon as one of the words is set. */
export function stopWhenSet(...words: readonly Int32Array[]): StopSignal {
  return Object.assign((): boolean => words.some((word) => Atomics.load(word, 0) !== 0), { words });
}
