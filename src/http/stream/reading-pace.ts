/**
 * Bytes that a client takes of an answer in a minute while others wait for its permit: 17 KB/s, about the pace at which
 * uWebSockets.js cuts those who send.
 */
const bytesPerMinuteMin = 1 << 20;

/**
 * Whether a client reads so slowly that it only holds what others wait for. It is looked at from time to time, and only
 * time in which the client keeps the answer waiting counts: a client that takes all that there is is never slow.
 */
export class ReadingPace {
  readonly #periodMs: number;
  #sinceMs: number;
  #bytes = 0;

  /** The pace is that of `periodMs` each. */
  constructor(periodMs: number, nowMs: number) {
    this.#periodMs = periodMs;
    this.#sinceMs = nowMs;
  }

  recordTaken(byteCount: number): void {
    this.#bytes += byteCount;
  }

  /** `isFull` says that the client could take more at once and does not. */
  isTooSlow(nowMs: number, isFull: boolean): boolean {
    const elapsedMs = nowMs - this.#sinceMs;
    if (isFull && elapsedMs < this.#periodMs) return false;
    const isSlow = isFull && this.#bytes < bytesPerMinuteMin * (elapsedMs / 60_000);
    this.#sinceMs = nowMs;
    this.#bytes = 0;
    return isSlow;
  }
}
