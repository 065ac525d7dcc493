import { monitorEventLoopDelay, type IntervalHistogram } from "node:perf_hooks";
import { callEvery, type PendingCall } from "./deadline.js";

/**
 * Interval of a libuv timer; the delay is how late it fires, so one that is shorter than the interval is noticed only if the
 * timer becomes due during it. With 10 ms, a daemon at rest would be woken up a hundred times a second.
 */
const resolutionMs = 100;

const periodMs = 1_000;
const periodCount = 60;

/**
 * Measures how long this thread's event loop is blocked: the worst delay in each second. The timer is native, so
 * JavaScript runs only once a second.
 */
export class LoopDelayMeter {
  readonly #histogram: IntervalHistogram = monitorEventLoopDelay({ resolution: resolutionMs });
  /** The worst delay in each of the last seconds, in seconds; the oldest is overwritten next. */
  readonly #worst = new Float64Array(periodCount);
  readonly #call: PendingCall;
  #next = 0;

  /** `onPeriod` receives the worst delay of each second, in seconds. */
  constructor(onPeriod: (worstSeconds: number) => void) {
    this.#histogram.enable();
    this.#call = callEvery(periodMs, () => {
      // After a delay this timer may fire before the histogram's, and a reset would make it ignore the delay: it is read
      // when all timers that were due have fired.
      setImmediate(() => this.#endPeriod(onPeriod));
    });
  }

  /** The worst delay in the last minute. */
  worstSeconds(): number {
    return Math.max(this.#current(), ...this.#worst);
  }

  close(): void {
    this.#histogram.disable();
    this.#call.cancel();
  }

  #endPeriod(onPeriod: (worstSeconds: number) => void): void {
    const worst = this.#current();
    this.#worst[this.#next] = worst;
    this.#next = (this.#next + 1) % periodCount;
    this.#histogram.reset();
    onPeriod(worst);
  }

  #current(): number {
    // The histogram contains intervals between two firings, and its maximum is 0 before the first.
    return Math.max(0, this.#histogram.max / 1e9 - resolutionMs / 1e3);
  }
}
