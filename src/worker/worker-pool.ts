import type { Worker } from "node:worker_threads";
import { Piscina } from "piscina";
import { monotonicMs, sleep } from "../base/deadline.js";
import { messageOf } from "../base/errors.js";
import type { Log } from "../base/log.js";
import type { StartedMessage, WorkerSettings } from "./messages.js";

/** Tasks that may wait in a pool's own queue; our own queues are in front of it, so it is never reached. */
const poolQueueMax = 100_000;

/** A closing pool ends workers that are still at work after this long. */
const closeTimeoutMs = 5_000;

/** A closing pool waits for a thread that begins for so long. */
const beginTimeoutMs = 8_000;

/** Threads that run one entry file, as many from the start on; one that dies is replaced. */
export class WorkerPool<Task, Result> {
  readonly #pool: Piscina<Task, Result>;
  readonly #started = new WeakSet<Worker>();

  /** `onMessage` gets what the threads post beside results. */
  constructor(entry: URL, settings: WorkerSettings, workerCount: number, log: Log, onMessage: (message: unknown) => void) {
    this.#pool = new Piscina<Task, Result>({
      filename: entry.href,
      minThreads: workerCount,
      maxThreads: workerCount,
      idleTimeout: Infinity,
      maxQueue: poolQueueMax,
      concurrentTasksPerWorker: 1,
      // Flags of the process, such as those of a script given on the command line, do not fit a worker's entry file.
      execArgv: [],
      // The default blocks an idle worker's event loop; LMDB sets a timer for each snapshot, and those would gather.
      atomics: "disabled",
      workerData: settings,
      recordTiming: false,
      closeTimeout: closeTimeoutMs,
    });
    this.#pool.on("message", (message: { readonly kind: string }) => {
      if (message.kind === "started") this.#noteStarted(message as StartedMessage);
      else onMessage(message);
    });
    this.#pool.on("error", (error) => log.error({ error: messageOf(error) }, "a worker failed outside a task; it is replaced"));
  }

  /** Rejects when its thread died. `name` is that of a function of the entry file, its default one when undefined. */
  run(task: Task, name?: string): Promise<Result> {
    return this.#pool.run(task, name === undefined ? {} : { name });
  }

  /**
   * Ends the threads, when they have done what they do. Those that begin are waited for: a thread that is ended while it loads its
   * modules or opens a store would end the process, since Node and LMDB's addon hold that for impossible.
   */
  async close(): Promise<void> {
    const endMs = monotonicMs() + beginTimeoutMs;
    while (monotonicMs() < endMs && this.#pool.threads.some((thread) => !this.#started.has(thread))) await sleep(2);
    await this.#pool.close({ force: true });
  }

  #noteStarted({ threadId }: StartedMessage): void {
    const thread = this.#pool.threads.find((other) => other.threadId === threadId);
    if (thread !== undefined) this.#started.add(thread);
  }
}
