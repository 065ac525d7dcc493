import { callAfter, monotonicMs, type PendingCall } from "../base/deadline.js";
import { collectGarbage, heapBytes } from "../base/garbage.js";

/** A thread is idle once this much time has passed since its last task ended. */
const idleMs = 3_000;

/**
 * By how much the heap of an idle thread may grow before its garbage is collected, if users wait for its tasks, as for
 * those of search and read threads. A full collection also discards optimized code, so the next search takes three to
 * four times as long (see `keepCompiledCode`). After searches of all kinds the heap of a thread is 15 to 30 MiB.
 */
export const interactiveGrowthMax = 64 * 1024 * 1024;

/** The same for an ingest thread. A collection takes 10 to 30 ms, but no user waits for it. */
export const ingestGrowthMax = 24 * 1024 * 1024;

/**
 * Collects the garbage of an idle thread if its heap has grown much since the last time. V8 collects garbage only when a
 * thread allocates, so an idle thread would never free it.
 */
export class IdleCollector {
  readonly #growthMax: number;
  readonly #onIdle: () => void;
  /** What no collection would free, as far as known. */
  #heldBytes: number | undefined;
  #endedMs = 0;
  #pending: PendingCall | undefined;

  /**
   * `onIdle` is called whenever the thread becomes idle, even if its heap is small. `atFirst` are the bytes that count as
   * held before the first collection; undefined for those that the thread has when it is first idle.
   */
  constructor(growthMax: number, onIdle: () => void, atFirst: number | undefined) {
    this.#growthMax = growthMax;
    this.#onIdle = onIdle;
    this.#heldBytes = atFirst;
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
    this.#heldBytes ??= heapBytes();
    if (heapBytes() - this.#heldBytes <= this.#growthMax) return;
    collectGarbage();
    this.#heldBytes = heapBytes();
  }
}
