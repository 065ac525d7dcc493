import { callAfter, monotonicMs, type PendingCall } from "../base/deadline.js";
import { collectGarbage, heapBytes } from "../base/garbage.js";

/** A thread is idle if its last task ended this long ago. */
const restMs = 3_000;

/** A smaller heap is not worth a collection, which occupies the thread for 10 to 30 ms. */
const heapBytesMin = 24 * 1024 * 1024;

/**
 * Frees what the tasks of a thread have left behind, once the thread is idle. V8 collects garbage when a thread
 * allocates memory; an idle thread does not, so its garbage would remain until it has work again.
 */
export class IdleCollector {
  readonly #letGo: () => void;
  #endedMs = 0;
  #pending: PendingCall | undefined;

  /** `letGo` is called before the collection, to drop optional caches of the thread. */
  constructor(letGo: () => void) {
    this.#letGo = letGo;
  }

  /** Must be called at the end of each task. */
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
