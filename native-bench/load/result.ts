import type { FailureKind } from "./answer-check.js";
import type { CurvePoint, Distribution } from "./class-recorder.js";
import type { Pace } from "./options.js";

/** The result of a run, as plain data. */
export interface LoadResult {
  /** ISO 8601. */
  readonly startedAt: string;
  readonly url: string;
  readonly pace: Pace;
  readonly connections: number;
  readonly seed: number;
  /** How long requests were sent, and until all had an outcome. */
  readonly sendingSeconds: number;
  readonly seconds: number;
  readonly endedBy: "duration" | "requests" | "signal";
  readonly classes: readonly ClassResult[];
  readonly timeline: readonly SecondRow[];
  readonly generator: GeneratorCost;
}

export interface ClassResult {
  readonly name: string;
  /** Requests that were due; each of them is in exactly one of `whole`, `left` and `failures`. */
  readonly due: number;
  /** Good answers, read to their end. */
  readonly whole: number;
  /** Clients that left, as intended. */
  readonly left: number;
  readonly failures: readonly FailureCount[];
  /** Of answers, whole or not, without the bytes of HTTP itself. */
  readonly bytes: number;
  /** While requests were sent: `whole` and `left`, and bytes. */
  readonly goodPerSecond: number;
  readonly bytesPerSecond: number;
  /** Until the whole answer, or until a leaving client left. Of failures it includes only waits: see `failureTable`. */
  readonly latency: Distribution;
  readonly latencyCurve: readonly CurvePoint[];
  /** Until the first matches of a stream arrived. */
  readonly firstMatches: Distribution;
  readonly queries: readonly QueryResult[];
}

export interface FailureCount {
  readonly kind: FailureKind;
  readonly count: number;
  /** What happened the first time. */
  readonly example: string;
}

/**
 * How much good answers to the same request differ: the measure of fairness. In the closed loop without the first
 * request of each client, as the first clients find a server without load.
 */
export interface QueryResult {
  readonly label: string;
  readonly whole: number;
  readonly fastestMs: number;
  readonly slowestMs: number;
}

/** One second of a run. */
export interface SecondRow {
  /** 0-based. */
  readonly second: number;
  readonly due: number;
  /** Good answers and clients that left. */
  readonly good: number;
  readonly failed: number;
  readonly bytes: number;
  /** At the end of the second: requests without an outcome, and those of them that wait for a connection. */
  readonly inFlight: number;
  readonly waiting: number;
  /** Since the run began. */
  readonly failuresSoFar: Readonly<Partial<Record<FailureKind, number>>>;
  readonly classes: readonly ClassSecond[];
}

export interface ClassSecond {
  readonly name: string;
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** The cost of the generator itself: where it is high, the figures describe the generator and not the server. */
export interface GeneratorCost {
  /** Of one core. */
  readonly cpuShare: number;
  /** From when a request was due until it was sent: its clock of a millisecond, and the wait for a connection. */
  readonly lateness: Distribution;
}
