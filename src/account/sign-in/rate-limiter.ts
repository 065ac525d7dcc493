import { BoundedMap } from "../../base/bounded-map.js";

interface Tries {
  count: number;
  readonly firstMs: number;
  lastMs: number;
}

/** Keys that are remembered; what was longest not tried is forgotten. 100 bytes each. */
const keysMax = 100_000;

export interface RateLimitPolicy {
  /** Attempts without any wait. */
  readonly freeCount: number;
  /** After them one waits so long, and after each further one twice as long as before, up to the longest. */
  readonly firstWaitMs: number;
  readonly longestWaitMs: number;
  /** So long after the first one the count begins anew. */
  readonly periodMs: number;
}

/** So many attempts in a period; after the last of them one waits for a period. */
export function attemptsIn(periodMs: number, count: number): RateLimitPolicy {
  return { freeCount: count, firstWaitMs: periodMs, longestWaitMs: periodMs, periodMs };
}

/**
 * Slows down what somebody tries and should not try often: after some attempts the time to the next one grows, up to a
 * limit. An attempt counts from its begin, so many at the same time are no way around it. One that comes too early does
 * not count, so nobody who asks often waits longer.
 */
export class RateLimiter {
  readonly #policy: RateLimitPolicy;
  readonly #tries = new BoundedMap<string, Tries>(keysMax, () => 1);

  constructor(policy: RateLimitPolicy) {
    this.#policy = policy;
  }

  /**
   * Zero when an attempt may begin, and then it is counted; otherwise the milliseconds until one may. `nowMs` is
   * monotonic.
   */
  begin(key: string, nowMs: number): number {
    const known = this.#tries.get(key);
    const nextMs = known === undefined ? nowMs : known.lastMs + this.#waitMs(known.count);
    if (nowMs < nextMs) return nextMs - nowMs;
    if (known === undefined || nowMs - known.firstMs >= this.#policy.periodMs)
      this.#tries.set(key, { count: 1, firstMs: nowMs, lastMs: nowMs });
    else this.#tries.set(key, { ...known, count: known.count + 1, lastMs: nowMs });
    return 0;
  }

  /** The attempt was a good one, and does not count. */
  forgive(key: string): void {
    const known = this.#tries.get(key);
    if (known !== undefined) known.count--;
  }

  /** None counts any more. */
  forget(key: string): void {
    this.#tries.delete(key);
  }

  /** After the last of so many. */
  #waitMs(count: number): number {
    const { freeCount, firstWaitMs, longestWaitMs } = this.#policy;
    // 2^40 times any wait is longer than the longest.
    return count < freeCount ? 0 : Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(40, count - freeCount));
  }
}
