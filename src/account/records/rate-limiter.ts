import { BoundedMap } from "../../base/bounded-map.js";

interface Tries {
  count: number;
  readonly firstMs: number;
  lastMs: number;
}

/** Limit on stored keys, about 100 bytes each; the least recently used is dropped. */
const keysMax = 100_000;

export interface RateLimitPolicy {
  /** Number of attempts without a wait. */
  readonly freeCount: number;
  /** The wait after these attempts; it doubles with each further attempt, up to the longest. */
  readonly firstWaitMs: number;
  readonly longestWaitMs: number;
  /** This long after the first attempt, counting starts again. */
  readonly periodMs: number;
}

/** Guesses of the password of one user from one network: 70 per hour. */
export const limitOfGuesses: RateLimitPolicy = {
  freeCount: 5,
  firstWaitMs: 5000,
  longestWaitMs: 60_000,
  periodMs: 3_600_000,
};

/** Allows this many attempts per period; after the last of them, the next must wait for a period. */
export function attemptsIn(periodMs: number, count: number): RateLimitPolicy {
  return { freeCount: count, firstWaitMs: periodMs, longestWaitMs: periodMs, periodMs };
}

/**
 * Slows down repeated attempts: after some attempts, the wait before the next one grows, up to a limit. An attempt
 * counts from its beginning, so concurrent attempts do not bypass the limit. An attempt that comes too early does not
 * count, so trying often does not extend the wait.
 */
export class RateLimiter {
  readonly #policy: RateLimitPolicy;
  readonly #tries = new BoundedMap<string, Tries>(keysMax, () => 1);

  constructor(policy: RateLimitPolicy) {
    this.#policy = policy;
  }

  /**
   * Zero if an attempt may begin, which is then counted; otherwise the milliseconds until one may. `nowMs` is
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

  /** How many attempts may still begin without a wait, and the milliseconds until all may. */
  room(key: string, nowMs: number): { readonly left: number; readonly resetMs: number } {
    const { freeCount, periodMs } = this.#policy;
    const known = this.#tries.get(key);
    const endMs = known === undefined ? nowMs : known.firstMs + periodMs;
    if (known === undefined || nowMs >= endMs) return { left: freeCount, resetMs: periodMs };
    return { left: Math.max(0, freeCount - known.count), resetMs: endMs - nowMs };
  }

  /** The attempt was successful, and does not count. */
  forgive(key: string): void {
    const known = this.#tries.get(key);
    if (known !== undefined) known.count--;
  }

  /** Forgets all attempts. */
  forget(key: string): void {
    this.#tries.delete(key);
  }

  /** The wait after the last of `count` attempts. */
  #waitMs(count: number): number {
    const { freeCount, firstWaitMs, longestWaitMs } = this.#policy;
    // 2^40 times any wait exceeds the longest.
    return count < freeCount ? 0 : Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(40, count - freeCount));
  }
}

/**
 * The whole IPv4 address, or the network half of an IPv6 address: whoever has one address in such a network has all of
 * them.
 */
export function networkPrefix(address: string): string {
  const groups = address.split(":");
  return groups.length === 8 && !address.startsWith("0000:0000:0000:0000:0000:ffff")
    ? groups.slice(0, 4).join(":")
    : address;
}
