import { createHistogram, type RecordableHistogram } from "node:perf_hooks";
import { type FailureKind, failureTable } from "./answer-check.js";
import type { Outcome } from "./exchange.js";
import type { ClassResult, ClassSecond } from "./result.js";

/** Counts the outcomes of the requests of one class. */
export class ClassRecorder {
  due = 0;
  whole = 0;
  left = 0;
  bytes = 0;
  failed = 0;
  readonly name: string;
  readonly failures = new Map<FailureKind, { count: number; readonly example: string }>();
  readonly #latency = new Latencies();
  readonly #firstMatches = new Latencies();
  readonly #thisSecond = new Latencies();
  readonly #queries: { readonly label: string; whole: number; fastestMs: number; slowestMs: number }[];
  /** How many were not sent, by second of the run. */
  readonly #notSent: number[] = [];
  /** Good answers and bytes while requests were sent. */
  #sending = { good: 0, bytes: 0 };

  constructor(name: string, labels: readonly string[]) {
    this.name = name;
    this.#queries = labels.map((label) => ({ label, whole: 0, fastestMs: Infinity, slowestMs: 0 }));
  }

  get good(): number {
    return this.whole + this.left;
  }

  /** No more requests will be due. Later answers count, but not for the throughput. */
  endSending(): void {
    this.#sending = { good: this.good, bytes: this.bytes };
  }

  recordFirstMatches(ms: number): void {
    this.#firstMatches.add(ms);
  }

  /** The outcome of a request that was sent. `query` is its label's index, undefined where fairness ignores it. */
  recordOutcome(query: number | undefined, outcome: Outcome, ms: number): void {
    if (outcome.kind === "failed") {
      const { kind, message } = outcome.failure;
      this.#countFailure(kind, message);
      if (!failureTable[kind].isWait) return;
    } else {
      this[outcome.kind]++;
      if (outcome.kind === "whole" && query !== undefined) this.#countQuery(query, ms);
    }
    this.#latency.add(ms);
    this.#thisSecond.add(ms);
  }

  /** A request that was due in this second of the run was not sent. */
  recordNotSent(second: number): void {
    this.#countFailure("not-sent", failureTable["not-sent"].meaning);
    this.#notSent[second] = (this.#notSent[second] ?? 0) + 1;
  }

  /** What happened since the last call. */
  takeSecond(): ClassSecond {
    const { count, p50Ms, p99Ms, maxMs } = this.#thisSecond.distribution();
    this.#thisSecond.clear();
    return { name: this.name, count, p50Ms, p99Ms, maxMs };
  }

  /** Called once, when the run has ended after `runMs`: what was not sent has waited at least until then. */
  result(runMs: number, sendingMs: number): ClassResult {
    for (const [second, count = 0] of this.#notSent.entries())
      for (let i = 0; i < count; i++) this.#latency.add(runMs - (second + 1) * 1000);
    return {
      name: this.name,
      due: this.due,
      whole: this.whole,
      left: this.left,
      failures: [...this.failures].map(([kind, { count, example }]) => ({ kind, count, example })),
      bytes: this.bytes,
      goodPerSecond: (this.#sending.good * 1000) / sendingMs,
      bytesPerSecond: (this.#sending.bytes * 1000) / sendingMs,
      latency: this.#latency.distribution(),
      latencyCurve: this.#latency.curve(),
      firstMatches: this.#firstMatches.distribution(),
      queries: this.#queries.filter(({ whole }) => whole > 0),
    };
  }

  #countQuery(query: number, ms: number): void {
    const found = this.#queries[query];
    if (found === undefined) return;
    found.whole++;
    found.fastestMs = Math.min(found.fastestMs, ms);
    found.slowestMs = Math.max(found.slowestMs, ms);
  }

  #countFailure(kind: FailureKind, message: string): void {
    this.failed++;
    const found = this.failures.get(kind);
    if (found === undefined) this.failures.set(kind, { count: 1, example: message });
    else found.count++;
  }
}

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
