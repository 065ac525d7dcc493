import { monotonicMs } from "../base/deadline.js";
import type { TaskActivity } from "../protocol/task-activity.js";
import type { LossReason } from "./thread-loss.js";

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
