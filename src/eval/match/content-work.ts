import type { MatchWork } from "../../regexp/match/match-work.js";
import type { StopCheck } from "../../protocol/stop-check.js";

/**
 * A search for a pattern in a content may examine this many times its bytes, and proportionally more in small contents.
 * By this count, which is the number of bytes that RE2 may read at most, a typical pattern reads a text 10 to 20 times.
 * A pattern such as `\w(?s:.*zqz)?` reads the rest of the text for each of its matches: that would take hours for a
 * file of 64 MiB.
 *
 * Bytes are counted instead of time, so that results do not depend on the load of the machine, and a slice that returns
 * to a block excludes the same contents.
 */
const readsMax = 25;
const freeBytes = 16 * 1024 * 1024;
const doubledBytesMax = 200 * 1024 * 1024;

/** The kernel returns after this much work, so that the stop flag is checked: 0.4 ms at its speed in memory. */
export const scanBytesMax = 4 * 1024 * 1024;

/** Limit on the work for one content. */
export function workBytesMax(contentBytes: number): number {
  return freeBytes + readsMax * contentBytes + Math.min(readsMax * contentBytes, doubledBytesMax);
}

/** Counts the work on one content after another, and ends it when the search is stopped. */
export class ContentWork implements MatchWork {
  readonly #stop: StopCheck;
  #leftBytes = 0;

  constructor(stop: StopCheck) {
    this.#stop = stop;
  }

  begin(contentBytes: number): void {
    this.#leftBytes = workBytesMax(contentBytes);
  }

  spend(byteCount: number): boolean {
    this.#stop.check();
    this.#leftBytes -= byteCount;
    return this.#leftBytes >= 0;
  }
}

/** For short texts, such as paths: only a stop ends it. */
export class StoppableWork implements MatchWork {
  readonly #stop: StopCheck;

  constructor(stop: StopCheck) {
    this.#stop = stop;
  }

  spend(): boolean {
    this.#stop.check();
    return true;
  }
}
