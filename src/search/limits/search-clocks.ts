import { callAfter, type PendingCall } from "../../base/deadline.js";

/** Called when the time of the search, or of some basic queries in it, is over. */
export interface ClockOwner {
  readonly onExpired: () => void;
  /** Called for an element of the plan's `resultOptions` whose timeout is shorter than the longest. */
  readonly onOptionsExpired: (optionsIndex: number) => void;
}

/** The timeouts of one search, by result options. They exclude the time in which the search waits for the client. */
export class SearchClocks {
  readonly #clocks: readonly SearchClock[];

  constructor(timeoutsMs: readonly number[], { onExpired, onOptionsExpired }: ClockOwner) {
    const longestMs = Math.max(...timeoutsMs);
    this.#clocks = [
      new SearchClock(longestMs, onExpired),
      ...timeoutsMs.flatMap((timeoutMs, optionsIndex) =>
        timeoutMs < longestMs ? [new SearchClock(timeoutMs, () => onOptionsExpired(optionsIndex))] : [],
      ),
    ];
  }

  pause(): void {
    for (const clock of this.#clocks) clock.pause();
  }

  resume(): void {
    for (const clock of this.#clocks) clock.resume();
  }

  /** Nothing expires any more. */
  stop(): void {
    for (const clock of this.#clocks) clock.stop();
  }
}

/** Calls back after the given time of searching, which excludes the time in which the search waits for the client. */
class SearchClock {
  #leftMs: number;
  #sinceMs = performance.now();
  #pending: PendingCall | undefined;
  readonly #onExpired: () => void;

  constructor(timeoutMs: number, onExpired: () => void) {
    this.#leftMs = timeoutMs;
    this.#onExpired = onExpired;
    this.#pending = callAfter(timeoutMs, onExpired);
  }

  pause(): void {
    if (this.#pending === undefined) return;
    this.#pending.cancel();
    this.#pending = undefined;
    this.#leftMs -= performance.now() - this.#sinceMs;
  }

  resume(): void {
    if (this.#pending !== undefined) return;
    this.#sinceMs = performance.now();
    this.#pending = callAfter(Math.max(0, this.#leftMs), this.#onExpired);
  }

  stop(): void {
    this.#pending?.cancel();
    this.#leftMs = Number.POSITIVE_INFINITY;
  }
}
