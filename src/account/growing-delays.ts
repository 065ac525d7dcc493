import { BoundedMap } from "../base/bounded-map.js";

interface Tries {
  count: number;
  lastMs: number;
  /** When the next one may begin. */
  nextMs: number;
}

/** Keys that are remembered; what was longest not tried is forgotten. 100 bytes each. */
const keysMax = 100_000;

export interface DelayPolicy {
  /** Attempts without any delay. */
  readonly freeCount: number;
  /** After them one waits so long, and after each further one twice as long as before, up to the longest. */
  readonly firstMs: number;
  readonly longestMs: number;
  /** Without an attempt for so long, the count begins anew. */
  readonly forgetMs: number;
}

/**
 * Slows down what somebody tries and should not try often: the time between two attempts grows, and never ends. An attempt
 * counts from its begin, so many at the same time are no way around it. One that comes too early does not count, so nobody
 * who asks often waits longer.
 */
export class GrowingDelays {
  readonly #policy: DelayPolicy;
  readonly #tries = new BoundedMap<string, Tries>(keysMax, () => 1);

  constructor(policy: DelayPolicy) {
    this.#policy = policy;
  }

  /** Zero when an attempt may begin, and then it is counted; otherwise the milliseconds until one may. `nowMs` is monotonic. */
  begin(key: string, nowMs: number): number {
    const { freeCount, firstMs, longestMs, forgetMs } = this.#policy;
    const known = this.#tries.get(key);
    if (known !== undefined && nowMs < known.nextMs) return known.nextMs - nowMs;
    const count = known === undefined || nowMs - known.lastMs >= forgetMs ? 1 : known.count + 1;
    // 2^40 times any delay is longer than the longest.
    const delayMs = count < freeCount ? 0 : Math.min(longestMs, firstMs * 2 ** Math.min(40, count - freeCount));
    this.#tries.set(key, { count, lastMs: nowMs, nextMs: nowMs + delayMs });
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
}
