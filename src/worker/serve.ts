import { TrawlError } from "../base/errors.js";
import { failed, type ResultMessage, startTask, type TaskMessage } from "../protocol/task-message.js";
import { callAfter, monotonicMs, type PendingCall } from "../base/deadline.js";
import { collectGarbage, heapBytes } from "../base/garbage.js";

/** The functions of a thread by name; each takes a task and returns its result, or a promise of it. */
export type TaskHandlers = Readonly<Record<string, (task: never) => unknown>>;

/** Returns the default export of an entry file, which Piscina calls with each task: it never rejects. */
export function serveTasks(handlers: TaskHandlers): (message: TaskMessage) => Promise<ResultMessage> {
  const table = new Map([...Object.entries(handlers), [startTask, () => undefined]]);
  return (message) => answer(table, message);
}

async function answer(
  handlers: ReadonlyMap<string, (task: never) => unknown>,
  { name, task }: TaskMessage,
): Promise<ResultMessage> {
  try {
    const handler = handlers.get(name);
    if (handler === undefined) throw new TrawlError("internal", `this thread has no task ${name}`);
    return { kind: "result", ok: true, value: await handler(task as never) };
  } catch (error) {
    return failed(error);
  }
}

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
