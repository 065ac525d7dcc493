/**
 * Bytes that all event streams together write in one turn of the event loop: one or two milliseconds. Eight streams
 * that each have 512 KiB to write take 17 ms, and whatever else the main thread serves would wait for them.
 */
const turnBytesMax = 256 * 1024;

/**
 * Turns of the event loop, in each of which the streams of one server write no more than `turnBytesMax` and one block.
 */
export class WriteBudget {
  #leftBytes = turnBytesMax;
  /** In the order in which they came. */
  #waiting: (() => void)[] = [];
  #endsTurn = false;

  /** Whether a stream may write in this turn. */
  get hasRoom(): boolean {
    return this.#leftBytes > 0;
  }

  recordWritten(byteCount: number): void {
    this.#leftBytes -= byteCount;
    this.#scheduleEnd();
  }

  /** Calls back in the next turn; the caller may find no room even then, and asks again. */
  wait(goOn: () => void): void {
    this.#waiting.push(goOn);
    this.#scheduleEnd();
  }

  /** Sockets are looked at between two calls of `setImmediate`. */
  #scheduleEnd(): void {
    if (this.#endsTurn) return;
    this.#endsTurn = true;
    setImmediate(() => {
      this.#endsTurn = false;
      this.#leftBytes = turnBytesMax;
      for (const goOn of this.#waiting.splice(0)) goOn();
    });
  }
}
