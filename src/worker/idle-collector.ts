import { callAfter, monotonicMs, type PendingCall } from "../base/deadline.js";
import { collectGarbage, heapBytes } from "../base/garbage.js";

/** A thread is idle once this much time has passed since its last task ended. */
const idleMs = 3_000;

/**
 * The largest heap that an idle thread may keep if users wait for its tasks, as for those of search and read threads. A
 * full collection also discards optimized code, so the next search takes four times as long (see `keepCompiledCode`). After searches of all kinds the heap of a thread is 15 to
 * 30 MiB.
 */
export const interactiveHeapBytesMax = 64 * 1024 * 1024;

/** The largest heap that an idle ingest thread may keep. A collection takes 10 to 30 ms, but no user waits for it. */
export const ingestHeapBytesMax = 24 * 1024 * 1024;

/**
 * Collects the garbage of an idle thread if its heap is large. V8 collects garbage only when a thread allocates, so an
 * idle thread would never free it.
 */
export class IdleCollector {
  readonly #heapBytesMax: number;
  readonly #onIdle: () => void;
  #endedMs = 0;
  #pending: PendingCall | undefined;

  /** `onIdle` is called whenever the thread becomes idle, even if its heap is small. */
  constructor(heapBytesMax: number, onIdle: () => void) {
    this.#heapBytesMax = heapBytesMax;
    this.#onIdle = onIdle;
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
    this.#onIdle();
    if (heapBytes() > this.#heapBytesMax) collectGarbage();
  }
}
