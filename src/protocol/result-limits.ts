import type { ControlBlock } from "./control-block.js";

/**
 * Limits for some of the basic queries of a search, by index of their result options in the plan. In shared memory, so
 * that they hold for all threads together.
 */
export interface ResultLimits {
  /** The limit on matches; undefined when the limit of the whole search is enough. */
  readonly countMax: readonly (number | undefined)[];
  /** Matches taken, including those past the limit; `endedMark` or more when no more are wanted. */
  readonly taken: Int32Array;
}

/** More than any limit, and so far from overflow that concurrent additions are harmless. */
const endedMark = 2 ** 30;

export function makeResultLimits(countMax: readonly (number | undefined)[]): ResultLimits {
  return { countMax, taken: new Int32Array(new SharedArrayBuffer(4 * countMax.length)) };
}

/** Takes up to `wanted` matches of what the limit leaves, and records in the control block when that is less. */
export function takeMatches(
  { countMax, taken }: ResultLimits,
  optionsIndex: number,
  wanted: number,
  control: ControlBlock,
): number {
  const limit = countMax[optionsIndex];
  const soFar = Atomics.load(taken, optionsIndex);
  if (soFar >= endedMark) return 0;
  if (limit === undefined) return wanted;
  const before = soFar >= limit ? soFar : Atomics.add(taken, optionsIndex, wanted);
  const left = Math.max(0, Math.min(wanted, limit - before));
  if (left < wanted) control.recordLimitHit();
  return left;
}

/** True when no further match will be taken. A search may end when this is true for all of its result options. */
export function isOver({ countMax, taken }: ResultLimits, optionsIndex: number): boolean {
  return Atomics.load(taken, optionsIndex) > (countMax[optionsIndex] ?? endedMark - 1);
}

/** Takes no more matches, for a reason other than the limit. */
export function endTaking({ taken }: ResultLimits, optionsIndex: number): void {
  Atomics.store(taken, optionsIndex, endedMark);
}
