/**
 * Bytes that a client must read per minute while others wait for its permit: 17 KB/s, about the pace below which
 * uWebSockets.js disconnects senders.
 */
const bytesPerMinuteMin = 1 << 20;

/**
 * Whether a client reads so slowly that it merely holds what others wait for. It is checked periodically, and only time
 * in which the response waits for the client counts: a client that reads everything available is never slow.
 */
export class ReadingPace {
  readonly #periodMs: number;
  #sinceMs: number;
  #bytes = 0;

  /** The check interval is `periodMs`. */
  constructor(periodMs: number, nowMs: number) {
    this.#periodMs = periodMs;
    this.#sinceMs = nowMs;
  }

  recordTaken(byteCount: number): void {
    this.#bytes += byteCount;
  }

  /** `isFull`: data is available that the client has not read. */
  isTooSlow(nowMs: number, isFull: boolean): boolean {
    const elapsedMs = nowMs - this.#sinceMs;
    if (isFull && elapsedMs < this.#periodMs) return false;
    const isSlow = isFull && this.#bytes < bytesPerMinuteMin * (elapsedMs / 60_000);
    this.#sinceMs = nowMs;
    this.#bytes = 0;
    return isSlow;
  }
}
