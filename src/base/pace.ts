import { setImmediate } from "node:timers/promises";
import { TrawlError } from "./errors.js";
import type { StopSignal } from "./stop-signal.js";

/** How long a thread may be kept busy: short beside the interval in which it says that it is alive. */
const sliceMs = 25;

/**
 * For a loop whose steps may take long: between them its thread does other things, and the loop can be stopped, after some time rather than
 * after some steps.
 */
export class Pace {
  readonly #stop: StopSignal;
  /** What is stopped, for the error. */
  readonly #name: string;
  #fromMs = performance.now();

  constructor(name: string, stop: StopSignal) {
    this.#name = name;
    this.#stop = stop;
  }

  /** Whether it is time to `rest`; asked after each step, which then waits only if it must. */
  get isDue(): boolean {
    return performance.now() - this.#fromMs >= sliceMs;
  }

  /** Throws `cancelled`. */
  async rest(): Promise<void> {
    if (this.#stop()) throw new TrawlError("cancelled", `${this.#name} was stopped`);
    await setImmediate();
    this.#fromMs = performance.now();
  }
}
