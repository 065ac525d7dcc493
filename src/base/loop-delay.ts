import { monitorEventLoopDelay, type IntervalHistogram } from "node:perf_hooks";
import { callEvery, type PendingCall } from "./deadline.js";

/** A timer of libuv fires this often; a delay is how much later it fired. Shorter delays are not seen. */
const resolutionMs = 10;

const periodMs = 1_000;
const periodCount = 60;

/**
 * Measures how long this thread's event loop serves nobody: the worst delay of each second. The timer is native, so
 * JavaScript runs once a second only.
 */
export class LoopDelayMeter {
  readonly #histogram: IntervalHistogram = monitorEventLoopDelay({ resolution: resolutionMs });
  /** The worst of each of the last seconds, in seconds; the oldest is overwritten next. */
  readonly #worst = new Float64Array(periodCount);
  readonly #call: PendingCall;
  #next = 0;

  /** `onPeriod` takes the worst delay of each second, in seconds. */
  constructor(onPeriod: (worstSeconds: number) => void) {
    this.#histogram.enable();
    this.#call = callEvery(periodMs, () => {
      const worst = this.#current();
      this.#worst[this.#next] = worst;
      this.#next = (this.#next + 1) % periodCount;
      this.#histogram.reset();
      onPeriod(worst);
    });
  }

  /** The worst delay of the last minute. */
  worstSeconds(): number {
    return Math.max(this.#current(), ...this.#worst);
  }

  close(): void {
    this.#histogram.disable();
    this.#call.cancel();
  }

  #current(): number {
    // It holds the times between two firings, and the largest of them is 0 before the first.
    return Math.max(0, this.#histogram.max / 1e9 - resolutionMs / 1e3);
  }
}
