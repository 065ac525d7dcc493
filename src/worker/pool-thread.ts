import { Worker } from "node:worker_threads";
import { sleep } from "../base/deadline.js";
import { areChildrenGone, killChildren, makeChildRegistry } from "../kernel/child-registry.js";
import type { WorkerSettings } from "./messages.js";
import type { ResultMessage, TaskMessage } from "./serve.js";
import type { ThreadSettings } from "./settings.js";

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
  /** Neither do its children: git might have written to a mirror still. `error` is what it ended with, if it said anything. */
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
 * One thread of a pool, and the processes that it starts. It keeps the process alive while it starts, as tasks may wait for it, and while
 * it runs one.
 */
export class PoolThread {
  isStarted = false;
  /** True from `end` on. */
  isEnding = false;
  readonly #worker: Worker;
  readonly #children = makeChildRegistry();
  #error: unknown;

  constructor({ entry, settings, heapMiB }: ThreadOptions, events: ThreadEvents) {
    const workerData: WorkerSettings & ThreadSettings = { ...settings, children: this.#children };
    // Flags of the process, such as those of a script given on the command line, do not fit a worker's entry file.
    this.#worker = new Worker(entry, { workerData, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: heapMiB } });
    this.#worker.on("message", (message: ResultMessage | { readonly kind: string }) => {
      if (message.kind === "started") this.#start(events);
      else if (message.kind === "result") events.onResult(message as ResultMessage);
      else events.onMessage(message);
    });
    this.#worker.on("error", (error) => { this.#error = error; });
    this.#worker.on("exit", () => this.#takeExit(events));
  }

  /** Posts a task to it. */
  run(message: TaskMessage): void {
    this.#worker.ref();
    this.#worker.postMessage(message);
  }

  rest(): void {
    this.#worker.unref();
  }

  /** Ends it, whatever it does. Caller guarantees: it has started, and it does not write to a store. */
  end(): void {
    this.isEnding = true;
    void this.#worker.terminate();
  }

  #start(events: ThreadEvents): void {
    this.isStarted = true;
    // Not before: tasks may wait for the thread, and a process that stops would end without them.
    this.#worker.unref();
    events.onStarted();
  }

  #takeExit({ onExit, onGone }: ThreadEvents): void {
    this.isEnding = true;
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
