import { monotonicMs } from "../base/deadline.js";
import type { TaskActivity } from "../protocol/task-activity.js";
import type { LossReason } from "./thread-loss.js";

/** How long a task may take, and how its thread is told to come back. */
export interface TaskLimits {
  /** On the monotonic clock; Infinity where a stop flag or the activity bounds it. */
  readonly deadlineMs: number;
  /** Word 0 of any of them not 0: come back. */
  readonly stops: readonly Int32Array[];
  /** From the deadline, or from a stop flag, until the thread is ended. */
  readonly graceMs: number;
  /** What the task says of itself; undefined where it says nothing. */
  readonly activity: TaskActivity | undefined;
}

/**
 * Decides when the thread of one task is to be ended.
 *
 * It counts looks, which come once a period, and not time: while the main thread is away, or the machine sleeps, there
 * is none, and a task whose answer waits for the main thread is not taken for one that hangs.
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

  /** To be called once a period: why the thread is to be ended, undefined when it is not. */
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
