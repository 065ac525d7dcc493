import { createHistogram, type RecordableHistogram } from "node:perf_hooks";

/** Latencies in milliseconds, 0 where there are none. */
export interface Distribution {
  readonly count: number;
  readonly minMs: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
}

/** A point of the latency curve: one of `share` values is longer, as in 100 for the 99th percentile. */
export interface CurvePoint {
  readonly share: number;
  readonly ms: number;
}

/** Two hours. No wait is longer: a run, its drain and its time limit end before. */
const longestMicroseconds = 7_200_000_000;

/** A histogram of latencies with three significant digits, in microseconds. */
export class Latencies {
  readonly #histogram: RecordableHistogram = createHistogram({ lowest: 1, highest: longestMicroseconds, figures: 3 });

  add(ms: number): void {
    this.#histogram.record(Math.min(longestMicroseconds, Math.max(1, Math.round(ms * 1000))));
  }

  clear(): void {
    this.#histogram.reset();
  }

  distribution(): Distribution {
    const { count, min, max } = this.#histogram;
    if (count === 0) return { count: 0, minMs: 0, p50Ms: 0, p90Ms: 0, p99Ms: 0, p999Ms: 0, maxMs: 0 };
    const [p50Ms, p90Ms, p99Ms, p999Ms] = [this.#at(50), this.#at(90), this.#at(99), this.#at(99.9)];
    return { count, minMs: min / 1000, p50Ms, p90Ms, p99Ms, p999Ms, maxMs: max / 1000 };
  }

  /** Ten points for each factor of ten, as far as there are enough values; the last one is the longest latency. */
  curve(): CurvePoint[] {
    const { count, max } = this.#histogram;
    if (count === 0) return [];
    const points: CurvePoint[] = [];
    for (let i = 0; 10 ** (i / 10) < count; i++)
      points.push({ share: 10 ** (i / 10), ms: this.#at(100 * (1 - 10 ** (-i / 10))) });
    return [...points, { share: count, ms: max / 1000 }];
  }

  #at(percentile: number): number {
    return this.#histogram.percentile(Math.max(percentile, 1e-9)) / 1000;
  }
}
