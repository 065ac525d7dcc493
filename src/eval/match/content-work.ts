import type { MatchWork } from "../../regexp/match/match-work.js";
import type { StopCheck } from "../../protocol/stop-check.js";

/**
 * Looking for a pattern in a content may read this many times its bytes; twice as many times, and more, where that is
 * little. A usual pattern reads a text 10 to 20 times by this count, which is of what RE2 may read at most. One such as
 * `\w(?s:.*zqz)?` reads the rest of the text for each of its matches: hours, for a file of 64 MiB.
 *
 * It is bytes and not time that are counted, so that an answer does not depend on how busy the machine is, and a slice
 * that comes back to a block leaves out the same contents.
 */
const readsMax = 25;
const freeBytes = 16 * 1024 * 1024;
const doubledBytesMax = 200 * 1024 * 1024;

/** Work on one content that is not to be exceeded. */
export function workBytesMax(contentBytes: number): number {
  return freeBytes + readsMax * contentBytes + Math.min(readsMax * contentBytes, doubledBytesMax);
}

/** Counts the work on one content after the other, and ends it when the search is stopped. */
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

/** For texts that are short, such as paths: only a stop ends it. */
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
