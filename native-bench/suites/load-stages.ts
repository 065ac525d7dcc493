import { readFileSync } from "node:fs";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import type { LoadLimits } from "../load/options.js";
import type { Pace } from "../load/pace.js";
import { usualSlow, type Reader } from "../load/reader.js";
import type { LoadRequest } from "../load/request.js";
import type { ClassResult, LoadResult, SecondRow } from "../load/result.js";
import { runLoad } from "../load/run-load.js";
import type { Trawl } from "../peers/trawl.js";
import { readMemory, watchMemory, type ProcessMemory } from "../system/measure.js";

/** The requests of all stages. */
export interface Asked {
  readonly interactive: readonly LoadRequest[];
  /** A search whose answer is most of the corpus. */
  readonly exhaustive: LoadRequest;
  /** A search that takes next to no time. */
  readonly rare: LoadRequest;
}

/** A number of clients that each ask again as soon as they have their answer. */
export interface ClientStage {
  readonly clients: number;
  readonly result: LoadResult;
  readonly of: ClassResult;
  readonly peak: ProcessMemory;
}

export async function measureInteractive(
  trawl: Trawl,
  { interactive }: Asked,
  clients: number,
  seconds: number,
): Promise<ClientStage> {
  const memory = watchMemory(trawl.pid);
  const result = await load(trawl.url, closed(clients), interactive, { durationSeconds: seconds });
  return { clients, result, of: onlyClass(result), peak: memory().peak };
}

/** A number of exhaustive searches at a time, and interactive ones beside them at a constant rate. */
export interface ExhaustiveStage extends ClientStage {
  readonly beside: ClassResult;
}

/** Each exhaustive search is read to its end; there are two for each client, and at least four. */
export async function measureExhaustive(trawl: Trawl, asked: Asked, clients: number): Promise<ExhaustiveStage> {
  const memory = watchMemory(trawl.pid);
  const beside = startBeside(trawl, asked);
  const bounds = { requestsMax: Math.max(4, 2 * clients), drainSeconds: 60 };
  const result = await load(trawl.url, closed(clients), [asked.exhaustive], bounds);
  return { clients, result, of: onlyClass(result), beside: await beside.end(), peak: memory().peak };
}

/** Clients that arrive at a constant rate, begin an exhaustive search, and leave after its first event. */
export interface LeavingStage {
  readonly of: ClassResult;
  readonly beside: ClassResult;
  readonly peak: ProcessMemory;
  /** From when the last one had left until no search ran; undefined when some did not end. */
  readonly endedMs: number | undefined;
}

export const leavingPerSecond = 100;

export async function measureLeaving(trawl: Trawl, asked: Asked, seconds: number): Promise<LeavingStage> {
  const memory = watchMemory(trawl.pid);
  const beside = startBeside(trawl, asked);
  const reader: Reader = { kind: "leaving" };
  const pace: Pace = { kind: "open", ratePerSecond: leavingPerSecond, inFlightMax: 10_000 };
  const result = await load(trawl.url, pace, [asked.exhaustive], { durationSeconds: seconds }, reader);
  const besideResult = await beside.end();
  const { peak } = memory();
  const leftMs = monotonicMs();
  const hasEnded = await until(5_000, async () => (await metric(trawl, "trawl_searches_running")) === 0);
  return { of: onlyClass(result), beside: besideResult, peak, endedMs: hasEnded ? monotonicMs() - leftMs : undefined };
}

/** Streams that are open and silent: their searches wait until others end. */
export interface IdleStage {
  /** As the daemon counts them. */
  readonly streams: number;
  readonly wanted: number;
  readonly openingSeconds: number;
  readonly bytesEach: number;
  readonly residentBytes: number;
  /** A page that needs no search, while the streams were idle. */
  readonly page: ClassResult;
  /** From when searches could run again until the last stream had its whole answer. */
  readonly answeredSeconds: number;
  readonly of: ClassResult;
}

/** How the measured daemon is started: one client may take every search slot, and all the others fit in the queue. */
export const concurrentSearches = 64;
const settings = [`search.concurrent=${concurrentSearches}`, "search.queue=20000", "clients.sharePercent=100"];
export const idleOptions: readonly string[] = settings.flatMap((setting) => ["--set", setting]);

/**
 * Slow readers of long answers take all search slots, and the others wait behind them. Then the slow readers leave, and
 * every stream must get its answer.
 */
export async function measureIdle(trawl: Trawl, asked: Asked, wanted: number, seconds: number): Promise<IdleStage> {
  const leave = new AbortController();
  const blockers = closed(concurrentSearches);
  const bounds = { durationSeconds: 120, drainSeconds: 0 };
  const blocking = load(trawl.url, blockers, [asked.exhaustive], bounds, usualSlow, leave.signal);
  if (!(await until(10_000, async () => (await metric(trawl, "trawl_searches_running")) === concurrentSearches)))
    throw new TrawlError("internal", "not all search slots were taken: the exhaustive answer may be too small");
  const before = readMemory(trawl.pid);
  const startMs = monotonicMs();
  const waitingBounds = { durationSeconds: 120, requestsMax: wanted, drainSeconds: 60 };
  const waiting = load(trawl.url, closed(wanted), [asked.rare], waitingBounds);
  await until(20_000, async () => (await metric(trawl, "trawl_searches_queued")) >= wanted);
  const openingSeconds = (monotonicMs() - startMs) / 1000;
  const pace: Pace = { kind: "open", ratePerSecond: 50, inFlightMax: 1000 };
  const page = await load(trawl.url, pace, [{ kind: "get", path: "/healthz" }], { durationSeconds: seconds });
  const streams = await metric(trawl, "trawl_searches_queued");
  const { residentBytes, anonymousBytes } = readMemory(trawl.pid);
  leave.abort();
  const freeMs = monotonicMs();
  const result = await waiting;
  const answeredSeconds = (monotonicMs() - freeMs) / 1000;
  await blocking;
  const bytesEach = (anonymousBytes - before.anonymousBytes) / Math.max(1, streams);
  const [of, pageClass] = [onlyClass(result), onlyClass(page)];
  return { streams, wanted, openingSeconds, bytesEach, residentBytes, page: pageClass, answeredSeconds, of };
}

/** How many connections this process and a daemon can hold, by the limit of open files that both have. */
export function connectionsPossible(): number {
  const [, soft] = /^Max open files +(\d+|unlimited)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
  return soft === "unlimited" ? Infinity : Number(soft) - otherFiles;
}

/** Shards, mirrors and logs of a daemon, and connections besides those that are counted. */
const otherFiles = 1500;

/** Interactive searches beside another load, until `end`. */
function startBeside(trawl: Trawl, { interactive }: Asked): { end(): Promise<ClassResult> } {
  const stop = new AbortController();
  const pace: Pace = { kind: "open", ratePerSecond: 20, inFlightMax: 1000 };
  const running = load(trawl.url, pace, interactive, { durationSeconds: 600 }, steady, stop.signal);
  return {
    end: async () => {
      stop.abort();
      return onlyClass(await running);
    },
  };
}

const steady: Reader = { kind: "steady" };
const limits: LoadLimits = { durationSeconds: 60, requestsMax: 10_000_000, timeoutSeconds: 120, drainSeconds: 30 };

function closed(concurrency: number): Pace {
  return { kind: "closed", concurrency };
}

function load(
  url: string,
  pace: Pace,
  requests: readonly LoadRequest[],
  bounds: Partial<LoadLimits>,
  reader: Reader = steady,
  signal?: AbortSignal,
): Promise<LoadResult> {
  const connections = pace.kind === "closed" ? pace.concurrency : 1000;
  const classes = [{ name: "clients", weight: 1, reader, requests }];
  return runLoad({ url, classes, pace, connections, limits: { ...limits, ...bounds }, signal });
}

function onlyClass({ classes: [of] }: LoadResult): ClassResult {
  if (of === undefined) throw new TrawlError("internal", "a run has no class");
  return of;
}

async function metric(trawl: Trawl, name: string): Promise<number> {
  const text = await (await fetch(`${trawl.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? NaN);
}

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
export function steadySeconds({ timeline, sendingSeconds }: LoadResult): readonly SecondRow[] {
  const whole = timeline.filter(({ second }) => second + 1 <= sendingSeconds);
  return whole.length > 2 ? whole.slice(1) : whole;
}
