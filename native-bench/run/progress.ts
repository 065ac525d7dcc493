import type { WriteStream } from "node:tty";
import { callEvery, monotonicMs, type PendingCall } from "../../src/base/deadline.js";
import { durationText } from "../report/numbers.js";

/**
 * Seconds left of suites estimated at `estimates`, when the first ones took `done` and the next has run for
 * `runningSeconds`. A machine that was slower than estimated is expected to stay so, within bounds.
 */
export function secondsLeft(estimates: readonly number[], done: readonly number[], runningSeconds: number): number {
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const expected = sum(estimates.slice(0, done.length));
  const slowness = expected === 0 ? 1 : Math.min(5, Math.max(0.3, sum(done) / expected));
  const current = estimates[done.length] ?? 0;
  return Math.max(0, current * slowness - runningSeconds) + sum(estimates.slice(done.length + 1)) * slowness;
}

type Out = Pick<WriteStream, "write"> & { readonly isTTY?: boolean; readonly columns?: number };

const linePeriodMs = 1_000;
const statusPeriodMs = 500;

/** Shows how far a run is: one changing line on a terminal, a line at most once a second elsewhere. */
export class Progress {
  readonly #out: Out;
  readonly #estimates: readonly number[];
  readonly #done: number[] = [];
  readonly #timer: PendingCall;
  #startedMs = monotonicMs();
  #printedMs = -Infinity;
  #text = "";

  constructor(out: Out, estimates: readonly number[]) {
    this.#out = out;
    this.#estimates = estimates;
    this.#timer = callEvery(statusPeriodMs, () => this.#drawStatus());
  }

  begin(title: string): void {
    this.#startedMs = monotonicMs();
    this.line(
      `[${this.#done.length + 1}/${this.#estimates.length}] ${title} (about ${durationText(this.#left())} left)`,
    );
  }

  say(text: string): void {
    this.#text = text;
    if (this.#out.isTTY) this.#drawStatus();
    else if (monotonicMs() - this.#printedMs > linePeriodMs) this.line(`  ${text}`);
  }

  /** Writes lines that are not overwritten. */
  line(text: string): void {
    this.#printedMs = monotonicMs();
    this.#out.write(`${this.#out.isTTY ? clearLine : ""}${text}\n`);
  }

  /** Returns the seconds that the suite took. */
  end(): number {
    const seconds = this.#runningSeconds();
    this.#done.push(seconds);
    this.#text = "";
    return seconds;
  }

  close(): void {
    this.#timer.cancel();
    if (this.#out.isTTY) this.#out.write(clearLine);
  }

  #runningSeconds(): number {
    return (monotonicMs() - this.#startedMs) / 1000;
  }

  #left(): number {
    return secondsLeft(this.#estimates, this.#done, this.#runningSeconds());
  }

  #drawStatus(): void {
    if (!this.#out.isTTY || this.#text === "") return;
    const status = `  ${durationText(this.#runningSeconds())}, about ${durationText(this.#left())} left: ${this.#text}`;
    this.#out.write(`${clearLine}${status.slice(0, (this.#out.columns ?? 80) - 1)}`);
  }
}

const clearLine = "\r\x1b[K";
