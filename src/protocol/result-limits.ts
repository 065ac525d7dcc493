import type { ControlBlock } from "./control-block.js";

/**
 * Limits that hold for some basic queries of a search only, by number of the rules in its plan. In shared memory, so
 * that all threads together keep to them.
 */
export interface ResultLimits {
  /** Matches that the rules allow; undefined where the limit of the whole search is enough. */
  readonly countMax: readonly (number | undefined)[];
  /** Matches taken, also past the limit; `endedMark` or more when no more is wanted. */
  readonly taken: Int32Array;
}

/** More than any limit, and far enough from overflow that what was added at the same time does no harm. */
const endedMark = 2 ** 30;

export function makeResultLimits(countMax: readonly (number | undefined)[]): ResultLimits {
  return { countMax, taken: new Int32Array(new SharedArrayBuffer(4 * countMax.length)) };
}

/** Takes up to `wanted` matches of what the rules leave, and notes in the control block when that is less. */
export function takeMatches(
  { countMax, taken }: ResultLimits,
  rules: number,
  wanted: number,
  control: ControlBlock,
): number {
  const limit = countMax[rules];
  const soFar = Atomics.load(taken, rules);
  if (soFar >= endedMark) return 0;
  if (limit === undefined) return wanted;
  const before = soFar >= limit ? soFar : Atomics.add(taken, rules, wanted);
  const left = Math.max(0, Math.min(wanted, limit - before));
  if (left < wanted) control.recordLimitHit();
  return left;
}

/** True when no further match will be taken. A search may be done when it is so of all its rules. */
export function isOver({ countMax, taken }: ResultLimits, rules: number): boolean {
  return Atomics.load(taken, rules) > (countMax[rules] ?? endedMark - 1);
}

/** The rules take no more, for a reason other than their limit. */
export function endRules({ taken }: ResultLimits, rules: number): void {
  Atomics.store(taken, rules, endedMark);
}
