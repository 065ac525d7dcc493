import { readFileSync } from "node:fs";
import { join } from "node:path";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import { openMainCorpus } from "../corpus/corpus.js";
import { cloneBare } from "../corpus/repositories.js";
import {
  usualSlow,
  type LoadLimits,
  type Pace,
  type Reader,
  type ClassResult,
  type LoadResult,
} from "../load/options.js";
import { measureOverhead } from "../load/overhead.js";
import { unfairness } from "../load/present.js";
import { exhaustive, type LoadRequest, type StreamRequest, streamRequest } from "../load/request.js";
import { type ClientsResult, runClients } from "../load/run-load.js";
import { queries, quickQueries } from "../peers/queries.js";
import type { Trawl } from "../peers/trawl.js";
import { grouped, short } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import type { Series } from "../report/run-report.js";
import { axis, curvePlot, line, memoryPlot } from "../report/views.js";
import { readMemory, watchMemory } from "../system/measure.js";
import { interactiveQueries, trawlRequests } from "./peers.js";
import { startDaemon, type Suite, type SuiteContext } from "./suite.js";

/** Many clients at a time: how latency, memory and fairness depend on their number. */
export const loadScaleSuite: Suite = {
  name: "load-scale",
  title: "Many clients at a time",
  estimateSeconds: { quick: 35, full: 125 },
  measure,
};

/** How the measured daemon is started: one client may take every search slot, and all the others fit in the queue. */
const concurrentSearches = 64;
const settings = [`search.concurrent=${concurrentSearches}`, "search.queue=20000", "clients.sharePercent=100"];

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const { workFolder, progress, isQuick } = context;
  progress("the cost of the generator itself");
  await measureOverhead(isQuick ? 0.5 : 2, results);
  const corpus = await openMainCorpus(context);
  results.note(
    `The corpus ${corpus.name} has ${short(corpus.textBytes / 1e6)} MB in ${grouped(corpus.fileCount)} files. Client and daemon share the machine.`,
    `The daemon runs ${concurrentSearches} searches at a time, the default, and queues the others; by default it refuses those beyond 256 with HTTP 503.`,
    "Interactive: each client asks one of the queries for 500 matches as soon as it has its last answer. Beside: 20 such searches a second, timed from when they were due.",
  );
  const clone = await cloneBare(corpus, join(workFolder, "load-corpus.git"));
  const options = settings.flatMap((setting) => ["--set", setting]);
  const trawl = await startDaemon(context, "load-data", ...options);
  await trawl.add("corpus", clone, progress);
  await trawl.waitForSymbols();
  const stages = new Stages(trawl, context, results);
  const seconds = isQuick ? 1.5 : 6;
  await stages.warmUp();
  const memory = watchMemory(trawl.pid);
  results.grid("Clients at a time");
  for (const clients of [1, 8, 32, 128, 1000]) await stages.measureInteractive(clients, seconds);
  for (const clients of [1, 4, 16]) await stages.measureExhaustive(clients);
  await stages.measureLeaving(seconds);
  const wanted = Math.min(isQuick ? 1000 : 10_000, connectionsPossible());
  await stages.measureIdle(wanted, isQuick ? 1.5 : 5);
  const { history } = memory();
  await trawl.stop();
  stages.report();
  results.plot(memoryPlot("load-memory", `Memory of the daemon under load, ${corpus.name}`, history));
}

const leavingPerSecond = 100;
const steady: Reader = { kind: "steady" };
const interactiveText = "interactive clients";
const idleTask = "idle streams";

/** The stages that one daemon runs in turn, and what they record. */
class Stages {
  readonly #trawl: Trawl;
  readonly #context: SuiteContext;
  readonly #results: Results;
  readonly #interactive: readonly LoadRequest[];
  /** A search whose answer is most of the corpus. */
  readonly #exhaustive = exhaustive(search("return"));
  /** Of every stage, for the count of failures. */
  readonly #classes: ClassResult[] = [];
  readonly #curves: Series[] = [];
  #notOpened = 0;
  #unfairness: number | undefined;

  constructor(trawl: Trawl, context: SuiteContext, results: Results) {
    this.#trawl = trawl;
    this.#context = context;
    this.#results = results;
    this.#interactive = trawlRequests(interactiveQueries(context.isQuick ? quickQueries : queries));
  }

  async warmUp(): Promise<void> {
    this.#context.progress("warming up");
    await this.#load(closed(8), this.#interactive, { durationSeconds: this.#context.isQuick ? 1.5 : 5 });
  }

  /** Clients that each ask again as soon as they have their answer. */
  async measureInteractive(clients: number, seconds: number): Promise<void> {
    const task = `${clients} ${interactiveText}`;
    this.#context.progress(task);
    const memory = watchMemory(this.#trawl.pid);
    const result = await this.#load(closed(clients), this.#interactive, { durationSeconds: seconds });
    const of = result.of;
    const inSeconds = steadySeconds(result);
    const answered = inSeconds.flatMap(({ classes: [each] }) => (each === undefined || each.count === 0 ? [] : [each]));
    const record = (subject: string, values: readonly number[]) => this.#results.less(task, subject, "ms", values);
    this.#results.more(
      task,
      "answers in each second",
      "/s",
      inSeconds.map(({ good }) => good),
      clients,
    );
    record(
      "p50 of each second",
      answered.map(({ p50Ms }) => p50Ms),
    );
    record(
      "p99 of each second",
      answered.map(({ p99Ms }) => p99Ms),
    );
    this.#recordClass(task, of, clients);
    this.#recordCost(task, memory().peak.anonymousBytes, result);
    const points = of.latencyCurve.map(({ share, ms }) => ({ x: share, y: ms }));
    this.#curves.push(line(`${grouped(clients)} ${clients === 1 ? "client" : "clients"}`, points));
  }

  /** Each exhaustive search is read to its end; there are two for each client, and at least four. */
  async measureExhaustive(clients: number): Promise<void> {
    const task = `${clients} exhaustive clients`;
    this.#context.progress(task);
    const memory = watchMemory(this.#trawl.pid);
    const beside = this.#startBeside();
    const bounds = { requestsMax: Math.max(4, 2 * clients), drainSeconds: 60 };
    const result = await this.#load(closed(clients), [this.#exhaustive], bounds);
    const megabytes = steadySeconds(result).map(({ bytes }) => bytes / 1e6);
    this.#results.more(task, "read in each second", "MB/s", megabytes);
    this.#recordClass(task, result.of);
    this.#recordCost(task, memory().peak.anonymousBytes, result);
    this.#recordClass(`interactive beside ${task}`, await beside());
    this.#unfairness = unfairness(result.of.queries);
  }

  /** Clients that arrive at a constant rate, begin an exhaustive search, and leave after its first event. */
  async measureLeaving(seconds: number): Promise<void> {
    const task = `${leavingPerSecond} a second that leave`;
    this.#context.progress(task);
    const memory = watchMemory(this.#trawl.pid);
    const beside = this.#startBeside();
    const pace: Pace = { kind: "open", ratePerSecond: leavingPerSecond, inFlightMax: 10_000 };
    const bounds = { durationSeconds: seconds };
    const result = await this.#load(pace, [this.#exhaustive], bounds, { kind: "leaving" });
    this.#recordClass(task, result.of);
    this.#recordClass(`interactive beside ${task}`, await beside());
    this.#recordCost(task, memory().peak.anonymousBytes, result);
    const leftMs = monotonicMs();
    const hasEnded = await until(5_000, async () => (await this.#trawl.metric("trawl_searches_running")) === 0);
    if (hasEnded) this.#results.less(task, "until the last search was stopped", "ms", monotonicMs() - leftMs);
    else this.#results.note("Some searches ran on for 5 s and more when their clients had left.");
  }

  /**
   * Slow readers of long answers take all search slots, and the others wait behind them, open and silent. Then the slow
   * readers leave, and every stream must get its answer.
   */
  async measureIdle(wanted: number, seconds: number): Promise<void> {
    this.#context.progress(`${wanted} ${idleTask}`);
    const leave = new AbortController();
    const bounds = { durationSeconds: 120, drainSeconds: 0 };
    const blocking = this.#load(closed(concurrentSearches), [this.#exhaustive], bounds, usualSlow, leave.signal);
    if (!(await until(10_000, async () => (await this.#trawl.metric("trawl_searches_running")) === concurrentSearches)))
      throw new TrawlError("internal", "not all search slots were taken: the exhaustive answer may be too small");
    const before = readMemory(this.#trawl.pid);
    const startMs = monotonicMs();
    const waitingBounds = { durationSeconds: 120, requestsMax: wanted, drainSeconds: 60 };
    const waiting = this.#load(closed(wanted), [search("qqzzxxjjvvww")], waitingBounds);
    await until(20_000, async () => (await this.#trawl.metric("trawl_searches_queued")) >= wanted);
    const openingSeconds = (monotonicMs() - startMs) / 1000;
    const pace: Pace = { kind: "open", ratePerSecond: 50, inFlightMax: 1000 };
    const page = await this.#load(pace, [{ kind: "get", path: "/healthz" }], { durationSeconds: seconds });
    const streams = await this.#trawl.metric("trawl_searches_queued");
    const { residentBytes, anonymousBytes } = readMemory(this.#trawl.pid);
    leave.abort();
    const freeMs = monotonicMs();
    const result = await waiting;
    const answeredSeconds = (monotonicMs() - freeMs) / 1000;
    await blocking;
    this.#notOpened = wanted - streams;
    this.#recordClass(`/healthz beside ${idleTask}`, page.of);
    this.#recordClass(`answers of ${idleTask}, the wait included`, result.of);
    this.#results.note(
      `Idle: streams whose searches wait behind ${concurrentSearches} that are read slowly. ${streams} of ${wanted} were open at once; then the slow readers left.`,
      wanted < 10_000
        ? `${wanted} and not 10,000, in a quick run or because of this machine's limit of open files.`
        : "",
    );
    const record = (subject: string, unit: string, value: number) => this.#results.less(idleTask, subject, unit, value);
    this.#results.list("Idle streams");
    record("memory of one", "KB", (anonymousBytes - before.anonymousBytes) / Math.max(1, streams) / 1e3);
    this.#results.more(idleTask, "open at once", "streams", streams);
    record("until they were open", "s", openingSeconds);
    record("resident with all of them", "MB", residentBytes / 1e6);
    record("until all had their answer", "s", answeredSeconds);
  }

  /** Notes, targets and plots of all stages. */
  report(): void {
    const results = this.#results;
    const failures = this.#classes.flatMap((of) => of.failures);
    results.note(...failures.map(({ kind, count, example }) => `Failed: ${count} ${kind}, the first: ${example}`));
    const failed = failures.reduce((sum, { count }) => sum + count, 0);
    const due = this.#classes.reduce((sum, of) => sum + of.due, 0);
    const none = { must: 0, aim: 0 };
    const open = `${grouped(results.median(idleTask, "open at once"))} were open`;
    results.atMost("requests that failed under load", "requests", failed, none, `of ${grouped(due)}`);
    results.atMost("idle streams that could not be opened", "streams", this.#notOpened, none, open);
    results.atMost("memory of an idle stream", "KB", results.median(idleTask, "memory of one"), {});
    results.atMost("slowest ÷ fastest of 16 exhaustive searches", "x", this.#unfairness, {});
    const interactive = results.samples.filter(({ at }) => at !== undefined);
    const latencies = interactive.filter(({ subject }) => ["p50", "p99", "p99.9"].includes(subject));
    const clients = interactive.flatMap(({ subject, at = NaN }) => (subject === "p50" ? [at] : []));
    const throughput = clients.map((count) => {
      const task = `${count} ${interactiveText}`;
      return { x: results.median(task, "p99"), y: results.median(task, "answered") };
    });
    const title = "Interactive searches: latency by number of clients";
    const x = "clients that ask at a time";
    results.plot(curvePlot({ name: "load-latency", title, x, y: "latency, ms" }, latencies));
    results.plot({
      name: "load-throughput",
      title: `Throughput against p99: ${clients.map(grouped).join(", ")} interactive clients, from left to right as p99 grows`,
      x: axis("p99, ms", "log"),
      y: axis("answers a second", "linear"),
      series: [line("trawl", throughput)],
    });
    results.plot({
      name: "load-percentiles",
      title: "Interactive searches: latency by percentile",
      x: axis("one of this many searches takes longer (100: p99)", "log"),
      y: axis("latency, ms", "log"),
      series: this.#curves,
    });
  }

  /** `at` is the number of clients, where plots show it. */
  #recordClass(task: string, of: ClassResult, at?: number): void {
    this.#classes.push(of);
    const { latency, firstMatches, failures } = of;
    const record = (subject: string, unit: string, value: number) => this.#results.less(task, subject, unit, value, at);
    this.#results.more(task, "answered", "/s", of.goodPerSecond, at);
    if (latency.count > 0) {
      record("p50", "ms", latency.p50Ms);
      record("p90", "ms", latency.p90Ms);
      record("p99", "ms", latency.p99Ms);
      record("p99.9", "ms", latency.p999Ms);
      record("max", "ms", latency.maxMs);
    }
    if (firstMatches.count > 0) record("first matches p99", "ms", firstMatches.p99Ms);
    const failed = failures.reduce((sum, { count }) => sum + count, 0);
    record("failed", "requests", failed);
    const ratio = unfairness(of.queries);
    if (ratio !== undefined) record("slowest ÷ fastest", "x", ratio);
  }

  #recordCost(task: string, peakBytes: number, { generator }: LoadResult): void {
    this.#results.less(task, "peak anonymous memory", "MB", peakBytes / 1e6);
    this.#results.less(task, "generator", "% of a core", 100 * generator.cpuShare);
  }

  /** Interactive searches at a constant rate beside another load, until the returned function is called. */
  #startBeside(): () => Promise<ClassResult> {
    const stop = new AbortController();
    const pace: Pace = { kind: "open", ratePerSecond: 20, inFlightMax: 1000 };
    const running = this.#load(pace, this.#interactive, { durationSeconds: 600 }, steady, stop.signal);
    return async () => {
      stop.abort();
      return (await running).of;
    };
  }

  #load(
    pace: Pace,
    requests: readonly LoadRequest[],
    bounds: Partial<LoadLimits>,
    reader: Reader = steady,
    signal?: AbortSignal,
  ): Promise<ClientsResult> {
    return runClients(this.#trawl.url, pace, requests, { timeoutSeconds: 120, ...bounds }, { reader, signal });
  }
}

function search(word: string): StreamRequest {
  const query = `type:file case:yes ${word}`;
  return streamRequest(query, "literal");
}

function closed(concurrency: number): Pace {
  return { kind: "closed", concurrency };
}

/** How many connections this process and a daemon can hold, by the limit of open files that both have. */
function connectionsPossible(): number {
  const [, soft] = /^Max open files +(\d+|unlimited)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
  return soft === "unlimited" ? Infinity : Number(soft) - otherFiles;
}

/** Shards, mirrors and logs of a daemon, and connections besides those that are counted. */
const otherFiles = 1500;

/** Whether the condition became true within the time. */
async function until(limitMs: number, condition: () => Promise<boolean>): Promise<boolean> {
  const endMs = monotonicMs() + limitMs;
  for (;;) {
    if (await condition()) return true;
    if (monotonicMs() > endMs) return false;
    await sleep(50);
  }
}

/** The whole seconds of a stage, without the first one, which warms up, if there are enough. */
function steadySeconds({ timeline, sendingSeconds }: LoadResult): LoadResult["timeline"] {
  const whole = timeline.filter(({ second }) => second + 1 <= sendingSeconds);
  return whole.length > 2 ? whole.slice(1) : whole;
}
