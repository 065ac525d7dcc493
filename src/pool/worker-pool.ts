import { callAfter, callEvery, monotonicMs, type PendingCall, sleep } from "../base/deadline.js";
import { deserializeError, errorMessage, TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import { PoolThread, type ThreadOptions } from "./pool-thread.js";
import type { ResultMessage } from "../protocol/task-message.js";
import { classifyLoss, type LossReason } from "./thread-loss.js";
import type { TaskActivity } from "../protocol/task-activity.js";

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
  readonly #running = new Map<PoolThread, Running<Result>>();
  /** Threads that were terminated and have not exited. */
  readonly #ending = new Set<PoolThread>();
  readonly #queue: Task<Result>[] = [];
  #threadCountMin: number;
  #watcher: PendingCall | undefined;
  #refill: PendingCall | undefined;
  /** When each idle thread ended its last task. */
  readonly #idleSinceMs = new WeakMap<PoolThread, number>();
  #reduction: PendingCall | undefined;
  #isClosed = false;

  constructor(options: PoolOptions, log: Log, events: PoolEvents) {
    this.#options = options;
    this.#log = log;
    this.#events = events;
    this.#threadCountMin = options.threadCountMin;
    this.#fill();
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
      this.#queue.push({ name, task, limits, resolve, reject });
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
  }

  /** Starts as many threads as are missing, unless too many terminated ones have not exited: each uses memory. */
  #fill(): void {
    const { threadCountMax } = this.#options;
    const isMissing = (): boolean =>
      this.#threads.size < this.#threadCountMin ||
      (this.#threads.size < threadCountMax &&
        this.#threads.size < this.#running.size - this.#ending.size + this.#queue.length);
    while (!this.#isClosed && this.#ending.size <= threadCountMax && isMissing()) {
      try {
        this.#start();
      } catch (error) {
        return this.#takeRefusal(error);
      }
    }
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
      onStarted: () => this.#rest(thread),
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
    if (this.#idle.length === 0 || this.#threads.size <= this.#threadCountMin) return;
    const dueMs = (this.#idleSinceMs.get(this.#idle[0]) ?? 0) + idleMs;
    this.#reduction = callAfter(Math.max(1, dueMs - monotonicMs()), () => {
      this.#reduction = undefined;
      const longest = this.#idle.at(0);
      const sinceMs = longest === undefined ? undefined : this.#idleSinceMs.get(longest);
      if (longest !== undefined && sinceMs !== undefined && sinceMs + idleMs <= monotonicMs())
        this.#end(longest, "stopped");
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

  #post(thread: PoolThread, task: Task<Result>): void {
    this.#running.set(thread, { ...task, watch: new TaskWatch(task.limits, watchPeriodMs), endReason: undefined });
    this.#watcher ??= callEvery(watchPeriodMs, () => this.#look());
    thread.run({ name: task.name, task: task.task });
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
    for (const [thread, { watch }] of this.#running) {
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
export class TaskWatch {
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
