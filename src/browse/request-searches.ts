/** Searches of one request that run at the same time; the others wait, so that one request does not take all places. */
const concurrentMax = 4;

/**
 * JSON of matches that the searches of one request may bring together: as objects in memory it is some five times as
 * much.
 */
const matchBytesMax = 16 << 20;

/** The searches of one request. */
export class RequestSearches {
  readonly #waiting: (() => void)[] = [];
  #runningCount = 0;
  #leftBytes = matchBytesMax;

  /** Does the work when fewer than `concurrentMax` are under way. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#runningCount >= concurrentMax) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#runningCount++;
    try {
      return await work();
    } finally {
      this.#runningCount--;
      this.#waiting.shift()?.();
    }
  }

  /** Whether so many bytes of matches are still to be taken. */
  takeBytes(count: number): boolean {
    this.#leftBytes -= count;
    return this.#leftBytes >= 0;
  }
}
