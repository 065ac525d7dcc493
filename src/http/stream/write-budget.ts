/**
 * Bytes that all event streams together write in one event-loop iteration: one or two milliseconds. Eight streams that
 * each have 512 KiB to write take 17 ms, during which the main thread would serve nothing else.
 */
const turnBytesMax = 256 * 1024;

/** Limits the streams of one server to `turnBytesMax` plus one block per event-loop iteration. */
export class WriteBudget {
  #leftBytes = turnBytesMax;
  /** In order of arrival. */
  #waiting: (() => void)[] = [];
  #endsTurn = false;

  /** Whether a stream may write in this iteration. */
  get hasRoom(): boolean {
    return this.#leftBytes > 0;
  }

  recordWritten(byteCount: number): void {
    this.#leftBytes -= byteCount;
    this.#scheduleEnd();
  }

  /** Calls back in the next iteration; if there is no room even then, the caller must wait again. */
  wait(goOn: () => void): void {
    this.#waiting.push(goOn);
    this.#scheduleEnd();
  }

  /** Sockets are polled between two calls of `setImmediate`. */
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
