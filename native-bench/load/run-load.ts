import type { Client } from "undici";
import type { FailureKind } from "./answer-check.js";
import { ClassRecorder, Latencies } from "./class-recorder.js";
import { Connections, Exchange, type Outcome } from "./exchange.js";
import { type LoadClass, type LoadOptions, requireLoadOptions } from "./options.js";
import { type Exchangeable, toExchangeable } from "./request.js";
import type { LoadResult, SecondRow } from "./result.js";
import { type Random, randomFrom } from "../system/random.js";
import { callAfter, callEvery, monotonicMs, sleep, type PendingCall } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";

/**
 * Puts a load on a server and measures how it performs. Throws `bad-config` for options beyond `loadBounds`; whatever
 * the server does is in the result. Ends at the latest when the drain time after the duration is over.
 */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  requireLoadOptions(options);
  return new LoadRun(options).run();
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
