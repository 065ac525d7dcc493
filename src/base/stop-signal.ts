/**
 * Asked often by work that takes long; true means "give up". A function, not an AbortSignal, because stop flags live in
 * memory shared between threads, where no event tells of a change.
 */
export interface StopSignal {
  (): boolean;
  /** What native loops look at: the first word of each, set when it is not zero. Absent where code alone decides. */
  readonly words?: readonly Int32Array[];
}

/** For callers that nothing stops. */
export const neverStop: StopSignal = () => false;

/** True as soon as one of the words is set. */
export function stopWhenSet(...words: readonly Int32Array[]): StopSignal {
  return Object.assign((): boolean => words.some((word) => Atomics.load(word, 0) !== 0), { words });
}
