import { Client, type Dispatcher } from "undici";
import {
  type AnswerCheck,
  connectionFailure,
  type Failure,
  type FailureKind,
  failureTable,
  statusFailure,
} from "./answer-check.js";
import {
  type ClassResult,
  type ClassSecond,
  type CurvePoint,
  type Distribution,
  type LoadClass,
  type LoadLimits,
  type LoadOptions,
  type LoadResult,
  type Pace,
  type Reader,
  requireLoadOptions,
  type SecondRow,
} from "./options.js";
import { type Exchangeable, type LoadRequest, toExchangeable } from "./request.js";
import { type Random, randomFrom } from "../system/random.js";
import { callAfter, callEvery, monotonicMs, type PendingCall, sleep } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import { createHistogram, type RecordableHistogram } from "node:perf_hooks";

/**
 * Puts a load on a server and measures how it performs. Throws `bad-config` for options beyond `loadBounds`; whatever
 * the server does is in the result. Ends at the latest when the drain time after the duration is over.
 */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  requireLoadOptions(options);
  return new LoadRun(options).run();
}

/** A run of clients of one kind, and how they fared. */
export interface ClientsResult extends LoadResult {
  readonly of: ClassResult;
}

/** Clients of one kind, by default one for each connection, within the usual limits but for those that are given. */
export async function runClients(
  url: string,
  pace: Pace,
  requests: readonly LoadRequest[],
  limits: Partial<LoadLimits>,
  { reader = { kind: "steady" }, signal }: { readonly reader?: Reader; readonly signal?: AbortSignal | undefined } = {},
): Promise<ClientsResult> {
  const result = await runLoad({
    url,
    pace,
    connections: pace.kind === "closed" ? pace.concurrency : 1000,
    classes: [{ name: "clients", weight: 1, reader, requests }],
    limits: { durationSeconds: 60, requestsMax: 10_000_000, timeoutSeconds: 60, drainSeconds: 30, ...limits },
    signal,
  });
  const [of] = result.classes;
  if (of === undefined) throw new TrawlError("internal", "a run has no class");
  return { ...result, of };
}

/** Throws if an answer was not whole: its time would be that of something else. `what` was asked of whom. */
export function requireWhole({ of }: ClientsResult, what: string): void {
  const failure = of.failures[0]?.example ?? (of.whole === 0 ? "no answer" : undefined);
  if (failure !== undefined) throw new TrawlError("internal", `${what} was not answered: ${failure}`);
}

/** A class of clients while the run lasts. */
interface Lane {
  readonly of: LoadClass;
  readonly requests: readonly Exchangeable[];
  readonly recorder: ClassRecorder;
  /** Random numbers below this and not below the lane's before are this lane's. */
  readonly weightsUpTo: number;
}

/** A request that is due. */
interface Due {
  readonly lane: Lane;
  /** Its index among the lane's requests. */
  readonly request: number;
  readonly dueMs: number;
  /** The first one of its client, in the closed loop. */
  readonly isFirst: boolean;
  /** Called when it has an outcome. */
  readonly after: (outcome: Outcome) => void;
}

/**
 * One run: requests become due at the pace, take a connection or wait for one in the order in which they became due,
 * and are counted once, when their outcome is certain. At the end requests in flight get the drain time, and are then
 * aborted.
 */
class LoadRun {
  readonly #options: LoadOptions;
  readonly #lanes: readonly Lane[];
  readonly #connections: Connections;
  readonly #basePath: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #random: Random;
  readonly #inFlightExchanges = new Set<Exchange>();
  readonly #waiting: Due[] = [];
  /** Of clients that pause before their next request. */
  readonly #pauses = new Set<PendingCall>();
  readonly #lateness = new Latencies();
  readonly #timeline: SecondRow[] = [];
  #startMs = 0;
  #dueCount = 0;
  #inFlightMax = Infinity;
  #isSending = true;
  /** What `#endSecond` saw last. */
  #seen: Counts = { due: 0, good: 0, failed: 0, bytes: 0 };

  constructor(options: LoadOptions) {
    const { url, token = "", classes, connections, seed = 1 } = options;
    const { origin, pathname } = new URL(url);
    this.#options = options;
    this.#connections = new Connections(origin, connections);
    this.#basePath = pathname.replace(/\/+$/, "");
    this.#headers = token === "" ? {} : { authorization: `token ${token}` };
    this.#random = randomFrom(seed);
    let weightsUpTo = 0;
    this.#lanes = classes.map((of) => {
      const requests = of.requests.map(toExchangeable);
      weightsUpTo += of.weight;
      const labels = requests.map(({ label }) => label);
      return { of, requests, recorder: new ClassRecorder(of.name, labels), weightsUpTo };
    });
  }

  async run(): Promise<LoadResult> {
    const startedAt = new Date().toISOString();
    const cpuBefore = process.cpuUsage();
    this.#startMs = monotonicMs();
    const seconds = callEvery(1000, () => this.#endSecond());
    const endedBy = await this.#send();
    this.#isSending = false;
    const sendingMs = this.#elapsedMs();
    for (const { recorder } of this.#lanes) recorder.endSending();
    await this.#drain();
    seconds.cancel();
    const runMs = this.#elapsedMs();
    this.#endSecond();
    const { user, system } = process.cpuUsage(cpuBefore);
    const { url, pace, connections, seed = 1 } = this.#options;
    const { origin } = new URL(url);
    return {
      startedAt,
      url: origin + this.#basePath,
      pace,
      connections,
      seed,
      endedBy,
      sendingSeconds: sendingMs / 1000,
      seconds: runMs / 1000,
      classes: this.#lanes.map(({ recorder }) => recorder.result(runMs, sendingMs)),
      timeline: this.#timeline,
      generator: { cpuShare: (user + system) / 1000 / runMs, lateness: this.#lateness.distribution() },
    };
  }

  /** Sends requests until the run is over, and returns why it is. */
  #send(): Promise<LoadResult["endedBy"]> {
    const { pace } = this.#options;
    return pace.kind === "open"
      ? this.#sendOpen(pace.ratePerSecond, pace.inFlightMax)
      : this.#sendClosed(pace.concurrency);
  }

  async #sendOpen(ratePerSecond: number, inFlightMax: number): Promise<LoadResult["endedBy"]> {
    this.#inFlightMax = inFlightMax;
    const dueMs = (i: number): number => (i * 1000) / ratePerSecond;
    for (;;) {
      const elapsedMs = this.#elapsedMs();
      const isOver = this.#isOver(elapsedMs);
      const isDue = (atMs: number): boolean => atMs <= elapsedMs && atMs < this.#durationMs;
      while (isDue(dueMs(this.#dueCount)) && this.#dueCount < this.#options.limits.requestsMax) {
        this.#begin(this.#startMs + dueMs(this.#dueCount), false, () => {});
      }
      if (isOver !== undefined) return isOver;
      await sleep(Math.min(dueMs(this.#dueCount) - elapsedMs, watchMs));
    }
  }

  /** Clients start a few at a time, so that a thousand of them do not fill the server's backlog at once. */
  async #sendClosed(concurrency: number): Promise<LoadResult["endedBy"]> {
    let started = 0;
    for (;;) {
      const isOver = this.#isOver(this.#elapsedMs());
      if (isOver !== undefined) return isOver;
      for (let i = 0; i < clientsAtOnce && started < concurrency; i++, started++) this.#pauseAndAsk(true);
      await sleep(started < concurrency ? 1 : watchMs);
    }
  }

  /** A client of the closed loop: asks after its pause, and again when it has its answer. */
  #pauseAndAsk(isFirst: boolean): void {
    const { pace } = this.#options;
    const pauseMs = pace.kind === "closed" ? (pace.pauseSeconds ?? 0) * 1000 : 0;
    if (pauseMs === 0) return this.#ask(isFirst);
    const pause = callAfter(pauseMs, () => {
      this.#pauses.delete(pause);
      this.#ask(isFirst);
    });
    this.#pauses.add(pause);
  }

  #ask(isFirst: boolean): void {
    if (!this.#isSending || this.#isOver(this.#elapsedMs()) !== undefined) return;
    this.#begin(monotonicMs(), isFirst, (outcome) => {
      if (outcome.kind === "failed") void sleep(afterFailureMs).then(() => this.#ask(false));
      else setImmediate(() => this.#pauseAndAsk(false));
    });
  }

  #begin(dueMs: number, isFirst: boolean, after: (outcome: Outcome) => void): void {
    const lane = this.#chooseLane();
    const request = this.#random(lane.requests.length);
    this.#dueCount++;
    lane.recorder.due++;
    if (this.#inFlight >= this.#inFlightMax)
      return lane.recorder.recordNotSent(Math.floor((dueMs - this.#startMs) / 1000));
    const due: Due = { lane, request, dueMs, isFirst, after };
    const client = this.#connections.take();
    if (client === undefined) this.#waiting.push(due);
    else this.#dispatch(due, client);
  }

  #dispatch({ lane, request, dueMs, isFirst, after }: Due, client: Client): void {
    const asked = lane.requests[request];
    if (asked === undefined) throw new TrawlError("internal", "a request was chosen that is not there");
    const { recorder } = lane;
    const { timeoutSeconds } = this.#options.limits;
    this.#lateness.add(monotonicMs() - dueMs);
    const exchange = new Exchange(asked, lane.of.reader, timeoutSeconds * 1000, {
      received: (byteCount) => {
        recorder.bytes += byteCount;
      },
      firstMatches: () => recorder.recordFirstMatches(monotonicMs() - dueMs),
      ended: (outcome) => {
        recorder.recordOutcome(isFirst ? undefined : request, outcome, monotonicMs() - dueMs);
        this.#inFlightExchanges.delete(exchange);
        after(outcome);
      },
      released: () => this.#release(client),
    });
    this.#inFlightExchanges.add(exchange);
    exchange.start(client, this.#basePath, this.#headers);
  }

  #release(client: Client): void {
    const due = this.#waiting.shift();
    if (due === undefined) this.#connections.release(client);
    else this.#dispatch(due, client);
  }

  #chooseLane(): Lane {
    const total = this.#lanes.at(-1)?.weightsUpTo ?? 0;
    const at = (this.#random(randomSteps) / randomSteps) * total;
    const lane = this.#lanes.find(({ weightsUpTo }) => at < weightsUpTo);
    if (lane === undefined) throw new TrawlError("internal", "no class was chosen");
    return lane;
  }

  /** Waits for requests in flight, then aborts them. */
  async #drain(): Promise<void> {
    const untilMs = monotonicMs() + this.#options.limits.drainSeconds * 1000;
    while (this.#inFlight > 0 && monotonicMs() < untilMs) await sleep(drainWatchMs);
    for (const pause of this.#pauses) pause.cancel();
    const failure = { kind: "unfinished", message: "the run ended" } as const;
    for (let due = this.#waiting.shift(); due !== undefined; due = this.#waiting.shift()) {
      due.lane.recorder.recordOutcome(due.request, { kind: "failed", failure }, monotonicMs() - due.dueMs);
    }
    for (const exchange of [...this.#inFlightExchanges]) exchange.fail(failure);
    await this.#connections.close();
  }

  #isOver(elapsedMs: number): LoadResult["endedBy"] | undefined {
    if (this.#options.signal?.aborted === true) return "signal";
    if (elapsedMs >= this.#durationMs) return "duration";
    return this.#dueCount >= this.#options.limits.requestsMax ? "requests" : undefined;
  }

  #endSecond(): void {
    const recorders = this.#lanes.map(({ recorder }) => recorder);
    const sum = (of: (recorder: ClassRecorder) => number): number =>
      recorders.reduce((total, recorder) => total + of(recorder), 0);
    const now = {
      due: this.#dueCount,
      good: sum(({ good }) => good),
      failed: sum(({ failed }) => failed),
      bytes: sum(({ bytes }) => bytes),
    };
    const failuresSoFar: Partial<Record<FailureKind, number>> = {};
    for (const { failures } of recorders)
      for (const [kind, { count }] of failures) failuresSoFar[kind] = (failuresSoFar[kind] ?? 0) + count;
    const row: SecondRow = {
      second: this.#timeline.length,
      due: now.due - this.#seen.due,
      good: now.good - this.#seen.good,
      failed: now.failed - this.#seen.failed,
      bytes: now.bytes - this.#seen.bytes,
      inFlight: this.#inFlight,
      waiting: this.#waiting.length,
      failuresSoFar,
      classes: recorders.map((recorder) => recorder.takeSecond()),
    };
    this.#seen = now;
    this.#timeline.push(row);
    this.#options.onSecond?.(row);
  }

  get #inFlight(): number {
    return this.#inFlightExchanges.size + this.#waiting.length;
  }

  get #durationMs(): number {
    return this.#options.limits.durationSeconds * 1000;
  }

  #elapsedMs(): number {
    return monotonicMs() - this.#startMs;
  }
}

interface Counts {
  readonly due: number;
  readonly good: number;
  readonly failed: number;
  readonly bytes: number;
}

/** How often a run checks whether it is over. */
const watchMs = 20;
const drainWatchMs = 5;
const clientsAtOnce = 10;
/**
 * How long a client waits after a refusal, so that a server that refuses everything is not asked in a busy loop.
 */
const afterFailureMs = 100;
const randomSteps = 1_000_000;

/** How an exchange ended. */
type Outcome =
  | { readonly kind: "whole" }
  /** The client left, as intended. */
  | { readonly kind: "left" }
  | { readonly kind: "failed"; readonly failure: Failure };

/** Is told about the progress of an exchange. */
interface ExchangeObserver {
  /** This many more bytes of the answer's body have arrived. */
  received(byteCount: number): void;
  /** The first matches have begun to arrive. At most once. */
  firstMatches(): void;
  /** Once, as soon as the outcome is certain. */
  ended(outcome: Outcome): void;
  /** Once, with `ended` or after it: the connection is free again. */
  released(): void;
}

/** One request and its answer on one connection, as an undici dispatch handler. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #request: Exchangeable;
  readonly #check: AnswerCheck;
  readonly #reader: Reader;
  readonly #observer: ExchangeObserver;
  readonly #timeout: PendingCall;
  #controller: Dispatcher.DispatchController | undefined;
  #resume: PendingCall | undefined;
  #status = 0;
  #startedMs = 0;
  #byteCount = 0;
  #hasMatches = false;
  #hasPaused = false;
  #hasEnded = false;
  /** The beginning of an answer with another status than 200, for the message. */
  #complaint = "";

  constructor(request: Exchangeable, reader: Reader, timeoutMs: number, observer: ExchangeObserver) {
    this.#request = request;
    this.#check = request.newCheck();
    this.#reader = reader;
    this.#observer = observer;
    const failure: Failure = { kind: "timeout", message: `no whole answer in ${timeoutMs / 1000} s` };
    this.#timeout = callAfter(timeoutMs, () => this.fail(failure));
  }

  /** Sends the request. `more` are headers that every request carries. */
  start(client: Client, basePath: string, more: Readonly<Record<string, string>>): void {
    const { method, path, headers, body } = this.#request;
    client.dispatch({ method, path: basePath + path, headers: { ...headers, ...more }, body }, this);
  }

  /** Ends it with a failure and closes its connection. */
  fail(failure: Failure): void {
    this.#end({ kind: "failed", failure });
    this.#abort();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#startedMs = monotonicMs();
    if (this.#hasEnded) this.#abort();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.#status = status;
    const contentType = String(headers["content-type"] ?? "");
    if (status !== 200 || contentType.startsWith(this.#request.contentType)) return;
    const actual = contentType || "of no type";
    this.fail({ kind: "grammar", message: `the answer is ${actual}, not ${this.#request.contentType}` });
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#hasEnded) return;
    this.#byteCount += bytes.length;
    this.#observer.received(bytes.length);
    if (this.#status !== 200) {
      if (this.#complaint.length < complaintLength) this.#complaint += bytes.toString("utf8", 0, complaintLength);
      return;
    }
    const failure = this.#check.push(bytes);
    if (failure !== undefined) return this.fail(failure);
    if (this.#check.hasMatches && !this.#hasMatches) {
      this.#hasMatches = true;
      this.#observer.firstMatches();
    }
    this.#behave(controller);
  }

  onResponseEnd(): void {
    const failure = this.#status === 200 ? this.#check.end() : statusFailure(this.#status, this.#complaint);
    this.#end(failure === undefined ? { kind: "whole" } : { kind: "failed", failure });
    this.#release();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end({ kind: "failed", failure: connectionFailure(error) });
    this.#release();
  }

  #behave(controller: Dispatcher.DispatchController): void {
    const reader = this.#reader;
    switch (reader.kind) {
      case "steady":
        return;
      case "leaving":
        if (!this.#check.hasBegun) return;
        this.#end({ kind: "left" });
        return this.#abort();
      case "slow": {
        const aheadMs = (this.#byteCount / reader.bytesPerSecond) * 1000 - (monotonicMs() - this.#startedMs);
        if (aheadMs > slowStepMs) this.#pause(controller, aheadMs);
        return;
      }
      case "paused":
        if (this.#hasPaused || !this.#check.hasBegun) return;
        this.#hasPaused = true;
        return this.#pause(controller, reader.pauseMs);
    }
  }

  #pause(controller: Dispatcher.DispatchController, pauseMs: number): void {
    controller.pause();
    this.#resume = callAfter(pauseMs, () => controller.resume());
  }

  #abort(): void {
    this.#controller?.abort(new TrawlError("cancelled", "the client left"));
  }

  #end(outcome: Outcome): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#observer.ended(outcome);
  }

  #release(): void {
    this.#timeout.cancel();
    this.#resume?.cancel();
    this.#observer.released();
  }
}

const complaintLength = 160;

/** A slow reader stops when it is this far ahead. Each stop makes undici copy what arrives meanwhile. */
const slowStepMs = 250;

/**
 * Up to `count` connections to one server, each of which carries one request at a time. They are opened on demand, and
 * the last one used is used next, so a light load stays on a few of them. undici's own pool scans all of its connections
 * for each request, which costs more than the request when there are thousands.
 */
class Connections {
  readonly #origin: string;
  readonly #count: number;
  readonly #all: Client[] = [];
  readonly #idle: Client[] = [];

  constructor(origin: string, count: number) {
    this.#origin = origin;
    this.#count = count;
  }

  /** An idle connection, the caller's until `release`; undefined when all are busy. */
  take(): Client | undefined {
    const idle = this.#idle.pop();
    if (idle !== undefined || this.#all.length === this.#count) return idle;
    const client = new Client(this.#origin, {
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      // Only the server closes a connection that a client keeps during a pause.
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      connect: { timeout: connectTimeoutMs },
    });
    this.#all.push(client);
    return client;
  }

  release(client: Client): void {
    this.#idle.push(client);
  }

  /** Closes all of them; requests in flight fail. */
  async close(): Promise<void> {
    await Promise.all(this.#all.map((client) => client.destroy()));
  }
}

const connectTimeoutMs = 10_000;
const keepAliveMs = 3_600_000;

/** Counts the outcomes of the requests of one class. */
class ClassRecorder {
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

/** Two hours. No wait is longer: a run, its drain and its time limit end before. */
const longestMicroseconds = 7_200_000_000;

/** A histogram of latencies with three significant digits, in microseconds. */
class Latencies {
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
