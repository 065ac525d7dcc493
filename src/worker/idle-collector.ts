import { callAfter, monotonicMs, type PendingCall } from "../base/deadline.js";
import { collectGarbage, heapBytes } from "../base/garbage.js";

/** A thread is idle when its last task ended this long ago. */
const idleMs = 3_000;

/**
 * The heap that an idle thread may keep if people wait for its tasks. A full collection also discards code that was
 * optimized: the search after it takes four times as long (`keepCompiledCode`). After searches of all kinds a thread
 * has 15 to 30 MiB.
 */
export const searchHeapBytesMax = 64 * 1024 * 1024;

/** The heap that an idle thread may keep if nobody waits for its tasks. A collection takes 10 to 30 ms. */
export const ingestHeapBytesMax = 24 * 1024 * 1024;

/**
 * Frees the garbage of an idle thread whose heap is large. V8 collects when a thread allocates; an idle one allocates
 * nothing and would keep its garbage.
 */
export class IdleCollector {
  readonly #heapBytesMax: number;
  readonly #beforeCollection: () => void;
  #endedMs = 0;
  #pending: PendingCall | undefined;

  /** `beforeCollection` is called whenever the thread has become idle. */
  constructor(heapBytesMax: number, beforeCollection: () => void) {
    this.#heapBytesMax = heapBytesMax;
    this.#beforeCollection = beforeCollection;
  }

  /** Must be called at the end of each task. */
  recordTask(): void {
    this.#endedMs = monotonicMs();
    this.#pending ??= callAfter(idleMs, () => this.#look());
  }

  #look(): void {
    const leftMs = this.#endedMs + idleMs - monotonicMs();
    this.#pending = leftMs > 1 ? callAfter(leftMs, () => this.#look()) : undefined;
    if (this.#pending !== undefined) return;
    this.#beforeCollection();
    if (heapBytes() > this.#heapBytesMax) collectGarbage();
  }
}
