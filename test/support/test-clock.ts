/** Timers and the monotonic clock under the control of a test, so that it need not wait. */
import type { Test } from "tap";

interface Timer {
  readonly call: () => void;
  /** Undefined for a timer that fires once. */
  readonly periodMs: number | undefined;
  dueMs: number;
  unref(): void;
}

/** Replaces `setTimeout`, `setInterval` and `performance.now` of this thread until the test ends. */
export class TestClock {
  #nowMs = 0;
  readonly #timers = new Set<Timer>();

  constructor(t: Test) {
    const { setTimeout, setInterval, clearTimeout, clearInterval } = globalThis;
    t.teardown(() => {
      Object.assign(globalThis, { setTimeout, setInterval, clearTimeout, clearInterval });
      Reflect.deleteProperty(performance, "now");
    });
    const start = (call: () => void, delayMs: number, isRepeated: boolean): Timer => {
      const periodMs = isRepeated ? delayMs : undefined;
      const timer = { call, periodMs, dueMs: this.#nowMs + delayMs, unref: () => undefined };
      this.#timers.add(timer);
      return timer;
    };
    // A timer that was started before the test is cleared in the usual way.
    const clear = (timer: Timer): void => {
      if (!this.#timers.delete(timer)) clearTimeout(timer as unknown as NodeJS.Timeout);
    };
    Object.assign(globalThis, {
      setTimeout: (call: () => void, delayMs = 0) => start(call, delayMs, false),
      setInterval: (call: () => void, periodMs = 0) => start(call, periodMs, true),
      clearTimeout: clear,
      clearInterval: clear,
    });
    Object.defineProperty(performance, "now", { value: () => this.#nowMs, configurable: true });
  }

  /** Timers that would call somebody. */
  get timerCount(): number {
    return this.#timers.size;
  }

  /** Lets this time pass: calls what becomes due, each at its time. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    await settled();
    for (let timer = this.#next(endMs); timer !== undefined; timer = this.#next(endMs)) {
      this.#nowMs = timer.dueMs;
      if (timer.periodMs === undefined) this.#timers.delete(timer);
      else timer.dueMs += timer.periodMs;
      timer.call();
      await settled();
    }
    this.#nowMs = endMs;
  }

  /** The timer that is due first, if that is not after `endMs`. */
  #next(endMs: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers)
      if (timer.dueMs <= endMs && (next === undefined || timer.dueMs < next.dueMs)) next = timer;
    return next;
  }
}

/** Resolves when everything that follows from promises that are settled now has been done. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
