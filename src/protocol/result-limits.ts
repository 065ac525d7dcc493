import type { ControlBlock } from "./control-block.js";

/**
 * Limits that apply only to some basic queries of a search, by index of their result options in the plan. In shared
 * memory, so that all threads together respect them.
 */
export interface ResultLimits {
  /** Maximum number of matches per result options; undefined if only the limit of the whole search applies. */
  readonly countMax: readonly (number | undefined)[];
  /** Matches taken, including those beyond the limit; `endedMark` or more if no more are wanted. */
  readonly taken: Int32Array;
}

/** Above any limit, and far enough from overflow that concurrent additions do no harm. */
const endedMark = 2 ** 30;

export function makeResultLimits(countMax: readonly (number | undefined)[]): ResultLimits {
  return { countMax, taken: new Int32Array(new SharedArrayBuffer(4 * countMax.length)) };
}

/** Takes up to `wanted` matches from what the limit leaves, and records in the control block if that is fewer. */
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

/** True if no further match will be taken. If this is true of all result options, the search may be complete. */
export function isOver({ countMax, taken }: ResultLimits, optionsIndex: number): boolean {
  return Atomics.load(taken, optionsIndex) > (countMax[optionsIndex] ?? endedMark - 1);
}

/** Ends these result options for a reason other than their limit. */
export function endTaking({ taken }: ResultLimits, optionsIndex: number): void {
  Atomics.store(taken, optionsIndex, endedMark);
}
