import { BoundedMap } from "../base/bounded-map.js";
import { monotonicMs } from "../base/deadline.js";

interface Tries {
  count: number;
  /** When the count begins anew; the monotonic clock. */
  endMs: number;
}

/** Names and addresses that are remembered; what was longest not tried is forgotten. */
const keysMax = 100_000;

/** How often something may be tried in a time. */
export interface AttemptLimit {
  readonly count: number;
  readonly periodMs: number;
}

/**
 * Counts what somebody tries and should not try too often. An attempt counts from its begin, so many at the same time are
 * no way around the limit.
 */
export class Attempts {
  readonly #limit: AttemptLimit;
  readonly #tries = new BoundedMap<string, Tries>(keysMax, () => 1);

  constructor(limit: AttemptLimit) {
    this.#limit = limit;
  }

  /** Zero when one more attempt is free, and then it is counted; otherwise the milliseconds until one is. */
  begin(key: string): number {
    const nowMs = monotonicMs();
    const known = this.#tries.get(key);
    if (known === undefined || known.endMs <= nowMs) {
      this.#tries.set(key, { count: 1, endMs: nowMs + this.#limit.periodMs });
      return 0;
    }
    if (known.count >= this.#limit.count) return known.endMs - nowMs;
    known.count++;
    // The last one that is free begins the time of waiting.
    if (known.count === this.#limit.count) known.endMs = nowMs + this.#limit.periodMs;
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
