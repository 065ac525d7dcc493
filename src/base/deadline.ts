/**
 * Time functions for all other code: durations and deadlines use the monotonic clock, so that a step of the wall clock
 * neither fires nor delays anything. The only user of `setTimeout`, apart from the sync timer.
 */

/** Milliseconds on the monotonic clock; only differences are meaningful. */
export function monotonicMs(): number {
  return performance.now();
}

/** A pending call. `cancel` is idempotent and may be called after the call was made. */
export interface PendingCall {
  cancel(): void;
}

/** Calls `callback` once, `delayMs` from the moment of this call. Does not keep the process alive. */
export function callAfter(delayMs: number, callback: () => void): PendingCall {
  return new PlannedCall(delayMs, undefined, callback);
}

/** Calls `callback` every `periodMs` until cancelled. Does not keep the process alive. */
export function callEvery(periodMs: number, callback: () => void): PendingCall {
  return new PlannedCall(periodMs, periodMs, callback);
}

/** A call that is due later than this gets no timer of its own at once. */
const soonMs = 150;

/** How long it waits for one. */
const waitMs = 60;

/** Calls without a timer; whether one is there that gives them theirs. */
const waiting = new Set<PlannedCall>();
let isStartPlanned = false;

/**
 * A call that is planned. Each search has several, as for its timeout and for a client that does not read, and most have ended within
 * milliseconds: a timer is made only for a call that has not been cancelled within `waitMs`.
 */
class PlannedCall implements PendingCall {
  readonly #dueMs: number;
  readonly #periodMs: number | undefined;
  readonly #callback: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(delayMs: number, periodMs: number | undefined, callback: () => void) {
    this.#dueMs = performance.now() + delayMs;
    this.#periodMs = periodMs;
    this.#callback = callback;
    if (delayMs <= soonMs) {
      this.start(delayMs);
    } else {
      waiting.add(this);
      if (!isStartPlanned) setTimeout(startPlannedCalls, waitMs).unref();
      isStartPlanned = true;
    }
  }

  start(delayMs = Math.max(1, Math.ceil(this.#dueMs - performance.now()))): void {
    this.#timer = setTimeout(() => this.#call(), delayMs);
    this.#timer.unref();
  }

  #call(): void {
    this.#timer = this.#periodMs === undefined ? undefined : setInterval(this.#callback, this.#periodMs);
    this.#timer?.unref();
    this.#callback();
  }

  cancel(): void {
    waiting.delete(this);
    clearTimeout(this.#timer);
  }
}

/** Gives the calls that wait for a timer one at once: for clocks that replace timers, and must not miss any. */
export function startPlannedCalls(): void {
  isStartPlanned = false;
  for (const call of waiting) call.start();
  waiting.clear();
}

/** Resolves after `delayMs`, or when the signal is aborted. Keeps the process alive meanwhile. */
export function sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, delayMs);
    signal?.addEventListener("abort", end);
  });
}
