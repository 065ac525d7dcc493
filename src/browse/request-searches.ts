/**
 * Number of searches of one request that run concurrently; the others wait, so that one request does not use up all
 * permits.
 */
const concurrentMax = 4;

/** Limit on the match JSON of all searches of one request: as objects in memory it takes about five times as much. */
const matchBytesMax = 16 << 20;

/** The searches of one request. */
export class RequestSearches {
  readonly #waiting: (() => void)[] = [];
  #runningCount = 0;
  #leftBytes = matchBytesMax;

  /** Does the work once fewer than `concurrentMax` are running. */
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

  /** Whether this many more bytes of matches may be added. */
  takeBytes(count: number): boolean {
    this.#leftBytes -= count;
    return this.#leftBytes >= 0;
  }
}
