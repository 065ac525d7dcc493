import { Latencies } from "./distribution.js";
import type { Outcome } from "./exchange.js";
import { failureTable, type FailureKind } from "./failure.js";
import type { ClassResult, ClassSecond } from "./result.js";

/** Counts what becomes of the requests of one class. */
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

  /** No more requests will be due. What comes after counts, but not in the throughput. */
  endSending(): void {
    this.#sending = { good: this.good, bytes: this.bytes };
  }

  firstMatches(ms: number): void {
    this.#firstMatches.add(ms);
  }

  /**
   * What became of a request that was sent; `query` is its place among the labels, undefined where it says nothing of
   * fairness.
   */
  ended(query: number | undefined, outcome: Outcome, ms: number): void {
    switch (outcome.kind) {
      case "failed": {
        const { kind, message } = outcome.failure;
        this.#countFailure(kind, message);
        if (failureTable[kind].isWait) this.#addLatency(ms);
        return;
      }
      case "left":
        this.left++;
        return this.#addLatency(ms);
      case "whole":
        this.whole++;
        if (query !== undefined) this.#countQuery(query, ms);
        return this.#addLatency(ms);
    }
  }

  /** A request that was due in this second of the run was not sent. */
  notSent(second: number): void {
    this.#countFailure("not-sent", failureTable["not-sent"].meaning);
    this.#notSent[second] = (this.#notSent[second] ?? 0) + 1;
  }

  /** What came in since the last call. */
  takeSecond(): ClassSecond {
    const { count, p50Ms, p99Ms, maxMs } = this.#thisSecond.distribution();
    this.#thisSecond.clear();
    return { name: this.name, count, p50Ms, p99Ms, maxMs };
  }

  /**
   * Called once, when the run has ended `runMs` after its beginning: until then at least, what was not sent has waited.
   */
  result(runMs: number, sendingMs: number): ClassResult {
    for (const [second, count] of this.#notSent.entries()) {
      for (let i = 0; i < (count ?? 0); i++) this.#latency.add(runMs - (second + 1) * 1000);
    }
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

  #addLatency(ms: number): void {
    this.#latency.add(ms);
    this.#thisSecond.add(ms);
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
