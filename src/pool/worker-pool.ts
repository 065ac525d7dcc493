import { callAfter, callEvery, monotonicMs, type PendingCall, sleep } from "../base/deadline.js";
import { deserializeError, type ErrorCode, errorMessage, TrawlError } from "../base/errors.js";
import { LiveMap } from "../base/live-map.js";
import type { Log } from "../base/log.js";
import {
  failed,
  type ResultMessage,
  startTask,
  type TaskMessage,
  type ThreadSettings,
} from "../protocol/task-message.js";
import type { TaskActivity } from "../protocol/task-activity.js";
import type { Worker } from "node:worker_threads";
import { Piscina } from "piscina";
import { assert } from "../base/assert.js";
import { areChildrenGone, killChildren, makeChildRegistry } from "../native/process/child-registry.js";
import { isHeapFull, makeHeapWord } from "../native/process/heap-limit.js";
import type { WorkerSettings } from "../protocol/messages.js";
import type { Metrics } from "../base/metrics.js";

/** Interval between checks of running tasks; the unit of time of `TaskWatch`. */
const watchPeriodMs = 250;

/** A closing pool terminates threads that are still working after this time. */
const closeTimeoutMs = 5_000;

/** How long a closing pool waits for a thread that is starting. */
const beginTimeoutMs = 8_000;

/** A terminated thread that has not exited after this time is given up: its task fails. */
const endTimeoutMs = 5_000;

/** If a thread cannot be started, or exits before it has started, the next one is started after this delay. */
const restartDelayMs = 1_000;

export interface PoolOptions extends ThreadOptions {
  /** Used in log lines. */
  readonly name: string;
  /** Number of threads started initially, before `startAll` is called, and the maximum when tasks are waiting. */
  readonly threadCountMin: number;
  readonly threadCountMax: number;
  /** Threads beyond the initial number end when they had no task for this long; undefined if they are kept. */
  readonly idleMs?: number;
  /**
   * A thread beyond the initial number is started when a task has waited this long, and no thread is starting; otherwise at
   * once. Short tasks that come together then share a thread, since starting one takes longer than they do.
   */
  readonly patienceMs?: number;
}

/** Events that a pool reports. */
export interface PoolEvents {
  /** Called with messages of threads other than results. */
  readonly onMessage: (message: unknown) => void;
  /** A thread exited while it was running a task, or was terminated because of it; it is replaced. */
  readonly onLoss: (reason: LossReason) => void;
}

interface Task<Result> {
  readonly name: string;
  readonly task: unknown;
  readonly limits: TaskLimits;
  readonly sinceMs: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
}

interface Running<Result> extends Task<Result> {
  readonly watch: TaskWatch;
  /** Why its thread was terminated; undefined if it was not. */
  endReason: LossReason | undefined;
}

/**
 * Threads that run one entry file; a thread that exits is replaced.
 *
 * Each task has limits. If a thread does not return within its task's grace period after the deadline, after a stop
 * flag was set, or after its activity stopped, it is terminated together with its children and replaced immediately;
 * the other threads continue. The task then rejects with a `ThreadLoss`, when nothing of the thread is running any
 * more.
 *
 * A thread is not terminated before it has started: Node and LMDB's addon crash the process if a thread is terminated
 * while it loads its modules or opens a store.
 */
export class WorkerPool<Result> {
  readonly #options: PoolOptions;
  readonly #log: Log;
  readonly #events: PoolEvents;
  readonly #threads = new Set<PoolThread>();
  readonly #idle: PoolThread[] = [];
  readonly #running = new LiveMap<PoolThread, Running<Result>>();
  /** Threads that were terminated and have not exited. */
  readonly #ending = new Set<PoolThread>();
  readonly #queue: Task<Result>[] = [];
  #threadCountMin: number;
  #watcher: PendingCall | undefined;
  #refill: PendingCall | undefined;
  /** When each idle thread ended its last task. */
  readonly #idleSinceMs = new WeakMap<PoolThread, number>();
  #reduction: PendingCall | undefined;
  /** When the first task that waits has waited long enough for another thread. */
  #extension: PendingCall | undefined;
  /** When a thread was ready last: until then, tasks have waited for it. */
  #readyMs = 0;
  #isClosed = false;

  constructor(options: PoolOptions, log: Log, events: PoolEvents) {
    this.#options = options;
    this.#log = log;
    this.#events = events;
    this.#threadCountMin = options.threadCountMin;
    this.#fill();
  }

  /** The threads that have started, by the number that Node gives each. */
  get threadIds(): readonly number[] {
    return [...this.#threads].flatMap(({ threadId }) => threadId ?? []);
  }

  /** Starts the threads that no task has needed yet; from now on, one that exits is replaced immediately. */
  startAll(): void {
    this.#threadCountMin = this.#options.threadCountMax;
    this.#fill();
  }

  /** Rejects with a `ThreadLoss` if its thread exited, and with the errors that the handler `name` throws. */
  run(name: string, task: unknown, limits: TaskLimits): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(closedError());
      this.#queue.push({ name, task, limits, sinceMs: monotonicMs(), resolve, reject });
      this.#dispatch();
    });
  }

  /** Tasks that are waiting for a thread. */
  get waitingCount(): number {
    return this.#queue.length;
  }

  /** Threads that are not ending. */
  get threadCount(): number {
    return this.#threads.size;
  }

  /** Ends the threads after their current tasks. Threads that are starting are waited for. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { reject } of this.#queue.splice(0)) reject(closedError());
    const startedMs = monotonicMs();
    const isBusy = (): boolean => this.#running.size > 0 && monotonicMs() < startedMs + closeTimeoutMs;
    const isBeginning = (): boolean =>
      monotonicMs() < startedMs + beginTimeoutMs && [...this.#threads].some(({ isStarted }) => !isStarted);
    while (isBusy() || isBeginning()) await sleep(2);
    const endMs = monotonicMs() + endTimeoutMs;
    do {
      for (const thread of this.#threads) if (thread.isStarted) this.#end(thread, "stopped");
      await sleep(2);
    } while (this.#threads.size + this.#ending.size > 0 && monotonicMs() < endMs);
    this.#watcher?.cancel();
    this.#refill?.cancel();
    this.#reduction?.cancel();
    this.#extension?.cancel();
  }

  /** Starts as many threads as are missing, unless too many terminated ones have not exited: each uses memory. */
  #fill(): void {
    while (!this.#isClosed && this.#ending.size <= this.#options.threadCountMax && this.#isMissing()) {
      try {
        this.#start();
      } catch (error) {
        return this.#takeRefusal(error);
      }
    }
  }

  #isMissing(): boolean {
    const { threadCountMax, patienceMs = 0 } = this.#options;
    if (this.#threads.size < this.#threadCountMin) return true;
    // Idle or starting.
    const freeCount = this.#threads.size - (this.#running.size - this.#ending.size);
    const waiting = this.#queue.at(Math.max(0, freeCount));
    if (this.#threads.size >= threadCountMax || freeCount >= this.#queue.length || waiting === undefined) return false;
    if (patienceMs === 0) return true;
    // Until a thread has started, all wait for it.
    if (![...this.#threads].some(({ isStarted }) => isStarted)) return false;
    const leftMs = Math.max(waiting.sinceMs, this.#readyMs) + patienceMs - monotonicMs();
    if (leftMs <= 0) return true;
    this.#extension ??= callAfter(Math.max(1, leftMs), () => {
      this.#extension = undefined;
      this.#fill();
    });
    return false;
  }

  /** The system has no thread left, or no file descriptors for one: tasks wait if other threads can run them. */
  #takeRefusal(error: unknown): void {
    this.#log.error({ pool: this.#options.name, error: errorMessage(error) }, "a thread could not be started");
    if (this.#threads.size === 0) this.#rejectWaiting(error);
    this.#fillLater();
  }

  #fillLater(): void {
    this.#refill ??= callAfter(restartDelayMs, () => {
      this.#refill = undefined;
      this.#fill();
    });
  }

  #rejectWaiting(error: unknown): void {
    for (const { reject } of this.#queue.splice(0)) reject(classifyLoss("died", error));
  }

  #start(): void {
    const thread: PoolThread = new PoolThread(this.#options, {
      onStarted: () => {
        this.#readyMs = monotonicMs();
        this.#rest(thread);
      },
      onResult: (result) => this.#takeResult(thread, result),
      onMessage: this.#events.onMessage,
      onExit: () => this.#takeExit(thread),
      onGone: (error) => this.#takeGone(thread, error),
    });
    this.#threads.add(thread);
  }

  #rest(thread: PoolThread): void {
    if (thread.isEnding) return;
    this.#idle.push(thread);
    this.#idleSinceMs.set(thread, monotonicMs());
    this.#dispatch();
    this.#reduceLater();
  }

  /** The thread that is idle longest is the first one, because tasks go to the last one. */
  #reduceLater(): void {
    const { idleMs } = this.#options;
    if (idleMs === undefined || this.#reduction !== undefined || this.#isClosed) return;
    const longest = this.#idle.at(0);
    if (longest === undefined || this.#threads.size <= this.#threadCountMin) return;
    const leftMs = (this.#idleSinceMs.get(longest) ?? 0) + idleMs - monotonicMs();
    if (leftMs <= 0) {
      this.#end(longest, "stopped");
      return this.#reduceLater();
    }
    this.#reduction = callAfter(Math.max(1, leftMs), () => {
      this.#reduction = undefined;
      this.#reduceLater();
    });
  }

  #dispatch(): void {
    while (this.#queue.length > 0) {
      const thread = this.#idle.pop();
      if (thread === undefined) return this.#fill();
      const next = this.#queue.shift();
      if (next !== undefined) this.#post(thread, next);
    }
  }

  #post(thread: PoolThread, { name, task, limits, sinceMs, resolve, reject }: Task<Result>): void {
    const watch = new TaskWatch(limits, watchPeriodMs);
    this.#running.set(thread, { name, task, limits, sinceMs, resolve, reject, watch, endReason: undefined });
    this.#watcher ??= callEvery(watchPeriodMs, () => this.#look());
    thread.run({ name, task });
  }

  #takeResult(thread: PoolThread, result: ResultMessage): void {
    const running = this.#running.get(thread);
    // A thread that is being terminated may have returned at the last moment: the outcome of its task is determined by
    // its exit.
    if (running === undefined || thread.isEnding) return;
    this.#running.delete(thread);
    if (result.ok) running.resolve(result.value as Result);
    else running.reject(deserializeError(result.error));
    this.#rest(thread);
  }

  /** Terminates the threads whose tasks are overdue. */
  #look(): void {
    if (this.#running.size === 0) {
      this.#watcher?.cancel();
      this.#watcher = undefined;
      return;
    }
    for (const [thread, { watch }] of this.#running.entries()) {
      const reason = thread.isEnding ? undefined : watch.look();
      if (reason !== undefined) this.#end(thread, reason);
    }
  }

  #end(thread: PoolThread, reason: LossReason): void {
    const running = this.#running.get(thread);
    if (running?.limits.activity?.lockForEnd() === false) return;
    if (running !== undefined) running.endReason = reason;
    this.#forget(thread);
    this.#ending.add(thread);
    thread.end();
    callAfter(endTimeoutMs, () => this.#giveUp(thread));
    this.#fill();
  }

  /** Its task fails although the thread still exists: it hangs in native code or in a system call. */
  #giveUp(thread: PoolThread): void {
    if (!this.#ending.has(thread)) return;
    if (!this.#isClosed)
      this.#log.error(
        { pool: this.#options.name },
        "a terminated thread has not exited: it hangs in native code or in a system call",
      );
    this.#fail(thread, undefined);
  }

  #takeExit(thread: PoolThread): void {
    this.#forget(thread);
    if (thread.isStarted) return this.#fill();
    this.#fillLater();
  }

  #takeGone(thread: PoolThread, error: unknown): void {
    this.#ending.delete(thread);
    this.#fail(thread, error);
    if (thread.isStarted) return this.#fill();
    if (this.#isClosed) return;
    if (this.#threads.size === 0) this.#rejectWaiting(error);
  }

  #fail(thread: PoolThread, error: unknown): void {
    const running = this.#running.get(thread);
    if (running === undefined) {
      if (error !== undefined && !this.#isClosed)
        this.#log.error(
          { pool: this.#options.name, error: errorMessage(error) },
          "a thread failed outside a task and was replaced",
        );
      return;
    }
    this.#running.delete(thread);
    const loss = classifyLoss(running.endReason, error);
    if (loss.reason !== "stopped") this.#events.onLoss(loss.reason);
    running.reject(loss);
  }

  #forget(thread: PoolThread): void {
    this.#threads.delete(thread);
    const index = this.#idle.indexOf(thread);
    if (index >= 0) this.#idle.splice(index, 1);
  }
}

function closedError(): TrawlError {
  return new TrawlError("shutting-down", "the daemon is stopping");
}

/** How long a task may take, and how it is asked to stop. */
export interface TaskLimits {
  /** On the monotonic clock; Infinity if a stop flag or the activity limits it instead. */
  readonly deadlineMs: number;
  /** The task must stop if word 0 of any of them is not 0. */
  readonly stops: readonly Int32Array[];
  /** Time from the deadline, or from a stop flag, until the thread is terminated. */
  readonly graceMs: number;
  /** What the task reports about itself; undefined if it reports nothing. */
  readonly activity: TaskActivity | undefined;
}

/**
 * Decides when the thread of one task must be terminated.
 *
 * It counts checks, which occur once per period, instead of measuring time: while the main thread is blocked, or the
 * machine is suspended, there are no checks, so a task whose result is waiting for the main thread is not mistaken for
 * a hanging one.
 */
class TaskWatch {
  readonly #limits: TaskLimits;
  readonly #periodMs: number;
  #overdueCount = 0;
  #beats = -1;
  #stillCount = 0;

  constructor(limits: TaskLimits, periodMs: number) {
    this.#limits = limits;
    this.#periodMs = periodMs;
  }

  /** Must be called once per period. Returns why the thread must be terminated; undefined if it need not be. */
  look(): LossReason | undefined {
    if (this.#isOverdue()) return "overrun";
    return this.#isStalled() ? "stalled" : undefined;
  }

  #isOverdue(): boolean {
    const { deadlineMs, stops, graceMs } = this.#limits;
    const isDue = monotonicMs() > deadlineMs || stops.some((stop) => Atomics.load(stop, 0) !== 0);
    this.#overdueCount = isDue ? this.#overdueCount + 1 : 0;
    return this.#overdueCount > graceMs / this.#periodMs;
  }

  #isStalled(): boolean {
    const { activity } = this.#limits;
    if (activity === undefined || activity.allowanceMs === 0) return false;
    const isStill = activity.beats === this.#beats;
    this.#beats = activity.beats;
    this.#stillCount = isStill ? this.#stillCount + 1 : 0;
    return this.#stillCount > activity.allowanceMs / this.#periodMs;
  }
}

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
  /** The size of the young generation, if it is not that of threads that search. */
  readonly youngMiB?: number;
}

/**
 * One thread of a pool, and the child processes that it starts. It keeps the process alive while it starts, because
 * tasks may be waiting for it, and while it runs a task.
 *
 * It is a Piscina with one thread. In a larger pool, Piscina terminates a thread only through an `AbortSignal` per
 * task, and starts the replacement immediately, while children of the thread may still be writing to a mirror.
 */
class PoolThread {
  isStarted = false;
  /** True once `end` has been called. */
  isEnding = false;
  readonly #events: ThreadEvents;
  readonly #pool: Piscina<TaskMessage, ResultMessage>;
  readonly #children = makeChildRegistry();
  readonly #heapWord = makeHeapWord();
  #error: unknown;

  /** Throws if the system has no thread, file descriptor or memory left for it. */
  constructor({ entry, settings, heapMiB, youngMiB = youngHeapMiB }: ThreadOptions, events: ThreadEvents) {
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
      resourceLimits: { maxOldGenerationSizeMb: heapMiB, maxYoungGenerationSizeMb: youngMiB },
      recordTiming: false,
    });
    this.#pool.on("message", events.onMessage);
    // The thread's own event reports the same, also while a task is running.
    this.#pool.on("error", () => undefined);
    this.#begin();
  }

  /** Undefined before it has started, and after it has exited. */
  get threadId(): number | undefined {
    return this.#pool.threads.at(0)?.threadId;
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

const explanations = {
  overrun: "it did not return after its deadline, or after it had been stopped, and was terminated",
  stalled: "it made no progress, and was terminated",
  memory: "its heap was exhausted",
  died: "it exited unexpectedly",
  stopped: "the daemon is stopping",
} as const;

const codes: Partial<Record<LossReason, ErrorCode>> = { stopped: "shutting-down", overrun: "cancelled" };

/** Why the thread of a task was lost. */
export type LossReason = keyof typeof explanations;

/** The thread that ran a task was lost; the pool has replaced it. */
export class ThreadLoss extends TrawlError {
  readonly reason: LossReason;

  constructor(reason: LossReason, cause: unknown) {
    super(
      codes[reason] ?? "internal",
      `the thread was lost: ${explanations[reason]}${cause === undefined ? "" : ` (${errorMessage(cause)})`}`,
      { cause },
    );
    this.reason = reason;
  }
}

/** `endReason` is undefined if the pool did not terminate it. */
function classifyLoss(endReason: LossReason | undefined, error: unknown): ThreadLoss {
  if (endReason !== undefined) return new ThreadLoss(endReason, undefined);
  if (error instanceof ThreadLoss) return error;
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return new ThreadLoss(code === "ERR_WORKER_OUT_OF_MEMORY" ? "memory" : "died", error);
}

/**
 * JavaScript heap limits of threads, in MiB; shards, texts and results are outside the heap. A search worker uses 30
 * MiB for a search of everything, a read worker 150 MiB while it compares trees of 400,000 paths. Exhausting the heap
 * of a thread ends only the thread, so with these limits the process stays within the 400 MiB that one request may use.
 */
export const heapMiB = { search: 256, read: 320 } as const;

/** Time from a task's deadline, or from its stop flag, until its thread is terminated. */
export const graceMs = 2_000;

/**
 * The size of the young generation of a thread, in MiB. V8 divides it into three semi-spaces, so this is the size that
 * `keepCompiledCode` starts with, and it never grows. With V8's limit of 48 each thread grows to that size within an
 * hour and stays there; searches are as fast with 12, within the noise of 5 %.
 */
const youngHeapMiB = 12;

/**
 * The same for ingest threads, for which no user waits: with 3 they index 198 MB of Linux in the same processor time as with
 * 12, 8.1 and 8.4 s, within the noise.
 */
export const smallYoungHeapMiB = 3;

/** Events that pools report about their threads. */
export interface PoolReport {
  readonly log: Log;
  readonly metrics: Pick<Metrics, "workersLost">;
}

/** Additional threads of the ingest pool, reserved for slow remotes; they start when needed. */
export const slowWorkerCount = 2;
