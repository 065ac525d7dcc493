import { callAfter, monotonicMs, type PendingCall } from "../base/deadline.js";
import { collectGarbage, heapBytes } from "../base/garbage.js";

/** A thread rests when its last task ended this long ago. */
const restMs = 3_000;

/** Less is not worth a collection, which takes 10 to 30 ms of a thread that may be wanted. */
const heapBytesMin = 24 * 1024 * 1024;

/**
 * Gives back what the tasks of a thread have left once it rests. V8 collects when a thread needs memory; one that rests
 * needs none, so it would keep garbage for as long as nobody asks for anything.
 */
export class IdleCollector {
  readonly #letGo: () => void;
  #endedMs = 0;
  #pending: PendingCall | undefined;

  /** `letGo` is called before the collection, for what the thread keeps and need not. */
  constructor(letGo: () => void) {
    this.#letGo = letGo;
  }

  /** To be called at the end of each task. */
  recordTask(): void {
    this.#endedMs = monotonicMs();
    this.#pending ??= callAfter(restMs, () => this.#look());
  }

  #look(): void {
    const leftMs = this.#endedMs + restMs - monotonicMs();
    this.#pending = leftMs > 1 ? callAfter(leftMs, () => this.#look()) : undefined;
    if (this.#pending !== undefined) return;
    this.#letGo();
    if (heapBytes() > heapBytesMin) collectGarbage();
  }
}
