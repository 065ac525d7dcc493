import type { Worker } from "node:worker_threads";
import { Piscina } from "piscina";
import { assert } from "../base/assert.js";
import { sleep } from "../base/deadline.js";
import { areChildrenGone, killChildren, makeChildRegistry } from "../native/process/child-registry.js";
import { isHeapFull, makeHeapWord } from "../native/process/heap-limit.js";
import type { WorkerSettings } from "../protocol/messages.js";
import { failed, startTask, type ResultMessage, type TaskMessage } from "../protocol/task-message.js";
import type { ThreadSettings } from "../protocol/settings.js";
import { ThreadLoss } from "./thread-loss.js";

/** How often the children of a thread that is gone are looked at, and how often at most. */
const endPollMs = 20;
const endPollCountMax = 250;

/** What tells a pool of one of its threads. */
export interface ThreadEvents {
  /** Its modules are loaded and its stores open: it may be ended from here on. */
  readonly onStarted: () => void;
  readonly onResult: (result: ResultMessage) => void;
  /** What it posts beside results. */
  readonly onMessage: (message: unknown) => void;
  /** It runs no more. */
  readonly onExit: () => void;
  /**
   * Neither do its children: git might have written to a mirror still. `error` is what it ended with, if it said
   * anything.
   */
  readonly onGone: (error: unknown) => void;
}

/** How a pool's threads are started. */
export interface ThreadOptions {
  readonly entry: URL;
  readonly settings: WorkerSettings;
  /** Objects of JavaScript, in MiB; a thread that needs more ends, and the process goes on. */
  readonly heapMiB: number;
}

/**
 * One thread of a pool, and the processes that it starts. It keeps the process alive while it starts, as tasks may wait
 * for it, and while it runs one.
 *
 * It is a Piscina of one thread. Piscina ends a thread of a larger pool only through an `AbortSignal` for each task,
 * and it starts the replacement at once, while children of the thread may still write to a mirror.
 */
export class PoolThread {
  isStarted = false;
  /** True from `end` on. */
  isEnding = false;
  readonly #events: ThreadEvents;
  readonly #pool: Piscina<TaskMessage, ResultMessage>;
  readonly #children = makeChildRegistry();
  readonly #heapWord = makeHeapWord();
  #error: unknown;

  constructor({ entry, settings, heapMiB }: ThreadOptions, events: ThreadEvents) {
    this.#events = events;
    const workerData: WorkerSettings & ThreadSettings = {
      ...settings,
      children: this.#children,
      heapWord: this.#heapWord,
    };
    this.#pool = new Piscina<TaskMessage, ResultMessage>({
      filename: entry.href,
      // The thread is started by its first task, and not replaced when it ends.
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: Infinity,
      concurrentTasksPerWorker: 1,
      // Flags of the process, such as those of a script given on the command line, do not fit a worker's entry file.
      execArgv: [],
      // The default blocks an idle worker's event loop; LMDB sets a timer for each snapshot, and those would gather.
      atomics: "disabled",
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: heapMiB },
      recordTiming: false,
    });
    this.#pool.on("message", events.onMessage);
    // The thread's own event tells the same, also while a task runs.
    this.#pool.on("error", () => undefined);
    this.#begin();
  }

  /** Posts a task to it. */
  run(message: TaskMessage): void {
    this.#pool.run(message).then(this.#events.onResult, (error: unknown) => {
      // A task that cannot be cloned is refused; otherwise the thread has ended, and its exit tells.
      if (!this.isEnding && this.#error === undefined) this.#events.onResult(failed(error));
    });
  }

  /** Ends it, whatever it does. Caller guarantees: it has started, and it does not write to a store. */
  end(): void {
    this.isEnding = true;
    void this.#pool.destroy();
  }

  #begin(): void {
    this.#pool.run({ name: startTask, task: undefined }).then(
      () => {
        this.isStarted = true;
        this.#events.onStarted();
      },
      () => undefined,
    );
    const thread = this.#pool.threads.at(0);
    assert(thread !== undefined, "the first task starts the thread");
    this.#watch(thread);
  }

  #watch(thread: Worker): void {
    thread.on("error", (error) => {
      this.#error = error;
    });
    thread.on("exit", () => this.#takeExit());
  }

  #takeExit(): void {
    const { onExit, onGone } = this.#events;
    this.isEnding = true;
    if (isHeapFull(this.#heapWord)) this.#error = new ThreadLoss("memory", undefined);
    onExit();
    killChildren(this.#children);
    if (areChildrenGone(this.#children)) return onGone(this.#error);
    void this.#awaitChildren().then(() => onGone(this.#error));
  }

  /** Keeps the process alive meanwhile: somebody waits for the task, and nothing else may be left that does. */
  async #awaitChildren(): Promise<void> {
    for (let count = 0; count < endPollCountMax && !areChildrenGone(this.#children); count++) await sleep(endPollMs);
  }
}
