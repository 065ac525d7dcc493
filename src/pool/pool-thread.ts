import type { Worker } from "node:worker_threads";
import { Piscina } from "piscina";
import { assert } from "../base/assert.js";
import { sleep } from "../base/deadline.js";
import { areChildrenGone, killChildren, makeChildRegistry } from "../native/process/child-registry.js";
import { isHeapFull, makeHeapWord } from "../native/process/heap-limit.js";
import type { WorkerSettings } from "../protocol/messages.js";
import {
  failed,
  startTask,
  type ResultMessage,
  type TaskMessage,
  type ThreadSettings,
} from "../protocol/task-message.js";
import { youngHeapMiB } from "./pool-settings.js";
import { ThreadLoss } from "./thread-loss.js";

/** Interval and maximum number of checks whether the children of an exited thread have exited. */
const endPollMs = 20;
const endPollCountMax = 250;

/** Events of one thread, for its pool. */
export interface ThreadEvents {
  /** Its modules are loaded and its stores are open: from now on it may be terminated. */
  readonly onStarted: () => void;
  readonly onResult: (result: ResultMessage) => void;
  /** Called with messages other than results. */
  readonly onMessage: (message: unknown) => void;
  /** The thread has exited. */
  readonly onExit: () => void;
  /**
   * Its children have exited as well; git might still have been writing to a mirror. `error` is the reason for its
   * exit, if there is one.
   */
  readonly onGone: (error: unknown) => void;
}

/** How the threads of a pool are started. */
export interface ThreadOptions {
  readonly entry: URL;
  readonly settings: WorkerSettings;
  /** Limit on the JavaScript heap, in MiB; a thread that exceeds it ends, and the process continues. */
  readonly heapMiB: number;
}

/**
 * One thread of a pool, and the child processes that it starts. It keeps the process alive while it starts, because
 * tasks may be waiting for it, and while it runs a task.
 *
 * It is a Piscina with one thread. In a larger pool, Piscina terminates a thread only through an `AbortSignal` per
 * task, and starts the replacement immediately, while children of the thread may still be writing to a mirror.
 */
export class PoolThread {
  isStarted = false;
  /** True once `end` has been called. */
  isEnding = false;
  readonly #events: ThreadEvents;
  readonly #pool: Piscina<TaskMessage, ResultMessage>;
  readonly #children = makeChildRegistry();
  readonly #heapWord = makeHeapWord();
  #error: unknown;

  /** Throws if the system has no thread, file descriptor or memory left for it. */
  constructor({ entry, settings, heapMiB }: ThreadOptions, events: ThreadEvents) {
    this.#events = events;
    const workerData: WorkerSettings & ThreadSettings = {
      ...settings,
      children: this.#children,
      heapWord: this.#heapWord,
    };
    this.#pool = new Piscina<TaskMessage, ResultMessage>({
      filename: entry.href,
      // The thread is started by its first task, and not replaced when it exits.
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: Infinity,
      concurrentTasksPerWorker: 1,
      // Flags of the process, such as those given on the command line, do not apply to a worker's entry file.
      execArgv: [],
      // The default blocks an idle worker's event loop; LMDB sets a timer for each snapshot, and those would
      // accumulate.
      atomics: "disabled",
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: heapMiB, maxYoungGenerationSizeMb: youngHeapMiB },
      recordTiming: false,
    });
    this.#pool.on("message", events.onMessage);
    // The thread's own event reports the same, also while a task is running.
    this.#pool.on("error", () => undefined);
    this.#begin();
  }

  /** Posts a task to it. */
  run(message: TaskMessage): void {
    this.#pool.run(message).then(this.#events.onResult, (error: unknown) => {
      // Either the task cannot be cloned, and is refused; or the thread has exited, which its exit event reports.
      if (!this.isEnding && this.#error === undefined) this.#events.onResult(failed(error));
    });
  }

  /** Terminates it, whatever it is doing. Caller guarantees: it has started, and is not writing to a store. */
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

  /** Keeps the process alive meanwhile: the task has a waiting caller, and nothing else may keep the process alive. */
  async #awaitChildren(): Promise<void> {
    for (let count = 0; count < endPollCountMax && !areChildrenGone(this.#children); count++) await sleep(endPollMs);
  }
}
