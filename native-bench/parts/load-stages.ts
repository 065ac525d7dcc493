import { readFileSync } from "node:fs";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import type { LoadLimits, Pace } from "../load/options.js";
import { usualSlow, type Reader } from "../load/reader.js";
import type { LoadRequest } from "../load/request.js";
import type { ClassResult, LoadResult, SecondRow } from "../load/result.js";
import { runLoad } from "../load/run-load.js";
import type { Trawl } from "../peers/trawl.js";
import { memoryOf, watchMemory, type ProcessMemory } from "../system/measure.js";

/** What all stages ask. */
export interface Asked {
  readonly interactive: readonly LoadRequest[];
  /** A search whose answer is most of the corpus. */
  readonly exhaustive: LoadRequest;
  /** A search that is over at once. */
  readonly rare: LoadRequest;
}

/** So many clients that each ask again when they have their answer. */
export interface ClientStage {
  readonly clients: number;
  readonly result: LoadResult;
  readonly of: ClassResult;
  readonly peak: ProcessMemory;
}

export async function measureInteractive(
  trawl: Trawl,
  asked: Asked,
  clients: number,
  seconds: number,
): Promise<ClientStage> {
  const memory = watchMemory(trawl.pid);
  const result = await load(
    trawl.url,
    { kind: "closed", concurrency: clients },
    asked.interactive,
    steady,
    { ...limits, durationSeconds: seconds },
    undefined,
  );
  return { clients, result, of: onlyClass(result), peak: memory().peak };
}

/** So many exhaustive searches at a time, and people who search beside them at a constant rate. */
export interface ExhaustiveStage extends ClientStage {
  readonly beside: ClassResult;
}

/** Each exhaustive search is read to its end: there are two for each client, and four at least. */
export async function measureExhaustive(trawl: Trawl, asked: Asked, clients: number): Promise<ExhaustiveStage> {
  const memory = watchMemory(trawl.pid);
  const beside = besideOf(trawl, asked);
  const bounds = { ...limits, requestsMax: Math.max(4, 2 * clients), drainSeconds: 60 };
  const result = await load(
    trawl.url,
    { kind: "closed", concurrency: clients },
    [asked.exhaustive],
    steady,
    bounds,
    undefined,
  );
  return { clients, result, of: onlyClass(result), beside: await beside.end(), peak: memory().peak };
}

/** Clients that come at a constant rate, begin an exhaustive search, and leave after its first event. */
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
  const beside = besideOf(trawl, asked);
  const pace: Pace = { kind: "open", ratePerSecond: leavingPerSecond, inFlightMax: 10_000 };
  const result = await load(
    trawl.url,
    pace,
    [asked.exhaustive],
    { kind: "leaving" },
    { ...limits, durationSeconds: seconds },
    undefined,
  );
  const besideResult = await beside.end();
  const { peak } = memory();
  const leftMs = monotonicMs();
  const hasEnded = await until(5_000, async () => (await metricOf(trawl, "trawl_searches_running")) === 0);
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
  /** Of a page that needs no search, while the streams were idle. */
  readonly page: ClassResult;
  /** From when the places became free until the last stream had its whole answer. */
  readonly answeredSeconds: number;
  readonly of: ClassResult;
}

/**
 * What the daemon that is measured must be started with: places that can be taken, all by one client, and room for all
 * to wait.
 */
export const placeCount = 64;
export const idleOptions: readonly string[] = [
  "--set",
  `search.concurrent=${placeCount}`,
  "--set",
  "search.queue=20000",
  "--set",
  "clients.sharePercent=100",
];

/**
 * Slow readers of long answers take all places, and the others wait behind them. Then the slow readers leave, and
 * every stream must get its answer.
 */
export async function measureIdle(trawl: Trawl, asked: Asked, wanted: number, seconds: number): Promise<IdleStage> {
  const leave = new AbortController();
  const blocking = load(
    trawl.url,
    { kind: "closed", concurrency: placeCount },
    [asked.exhaustive],
    usualSlow,
    { ...limits, durationSeconds: 120, drainSeconds: 0 },
    leave.signal,
  );
  if (!(await until(10_000, async () => (await metricOf(trawl, "trawl_searches_running")) === placeCount))) {
    throw new TrawlError(
      "internal",
      "the daemon's places could not be taken: its exhaustive answer may be too small to be read slowly",
    );
  }
  const before = memoryOf(trawl.pid);
  const startMs = monotonicMs();
  const waiting = load(
    trawl.url,
    { kind: "closed", concurrency: wanted },
    [asked.rare],
    steady,
    { ...limits, durationSeconds: 120, requestsMax: wanted, drainSeconds: 60 },
    undefined,
  );
  await until(20_000, async () => (await metricOf(trawl, "trawl_searches_queued")) >= wanted);
  const openingSeconds = (monotonicMs() - startMs) / 1000;
  const page = await load(
    trawl.url,
    { kind: "open", ratePerSecond: 50, inFlightMax: 1000 },
    [{ kind: "get", path: "/healthz" }],
    steady,
    { ...limits, durationSeconds: seconds },
    undefined,
  );
  const streams = await metricOf(trawl, "trawl_searches_queued");
  const after = memoryOf(trawl.pid);
  leave.abort();
  const freeMs = monotonicMs();
  const result = await waiting;
  const answeredSeconds = (monotonicMs() - freeMs) / 1000;
  await blocking;
  return {
    streams,
    wanted,
    openingSeconds,
    bytesEach: (after.anonymousBytes - before.anonymousBytes) / Math.max(1, streams),
    residentBytes: after.residentBytes,
    page: onlyClass(page),
    answeredSeconds,
    of: onlyClass(result),
  };
}

/** How many connections this process and a daemon of its own can hold, by the limit of open files that both have. */
export function connectionsPossible(): number {
  const [, soft] = /^Max open files +(\d+|unlimited)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
  return soft === "unlimited" ? Infinity : Number(soft) - otherFiles;
}

/** Shards, mirrors and logs of a daemon, and connections beside those that are counted. */
const otherFiles = 1500;

const steady: Reader = { kind: "steady" };
const limits: LoadLimits = { durationSeconds: 60, requestsMax: 10_000_000, timeoutSeconds: 120, drainSeconds: 30 };
const besidePerSecond = 20;

/** People who search beside something else, until `end`. */
function besideOf(trawl: Trawl, asked: Asked): { end(): Promise<ClassResult> } {
  const stop = new AbortController();
  const running = load(
    trawl.url,
    { kind: "open", ratePerSecond: besidePerSecond, inFlightMax: 1000 },
    asked.interactive,
    steady,
    { ...limits, durationSeconds: 600 },
    stop.signal,
  );
  return {
    end: async () => {
      stop.abort();
      return onlyClass(await running);
    },
  };
}

function load(
  url: string,
  pace: Pace,
  requests: readonly LoadRequest[],
  reader: Reader,
  bounds: LoadLimits,
  signal: AbortSignal | undefined,
): Promise<LoadResult> {
  const connections = pace.kind === "closed" ? pace.concurrency : 1000;
  return runLoad({
    url,
    token: "",
    classes: [{ name: "clients", weight: 1, reader, requests }],
    pace,
    connections,
    limits: bounds,
    seed: 1,
    onSecond: () => {},
    signal,
  });
}

function onlyClass({ classes: [of] }: LoadResult): ClassResult {
  if (of === undefined) throw new TrawlError("internal", "a run has no class");
  return of;
}

async function metricOf(trawl: Trawl, name: string): Promise<number> {
  const text = await (await fetch(`${trawl.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? NaN);
}

/** Whether it came to hold within the time. */
async function until(limitMs: number, holds: () => Promise<boolean>): Promise<boolean> {
  const endMs = monotonicMs() + limitMs;
  for (;;) {
    if (await holds()) return true;
    if (monotonicMs() > endMs) return false;
    await sleep(50);
  }
}

/** The seconds of a stage that are whole and warm. */
export function steadySeconds({ timeline, sendingSeconds }: LoadResult): readonly SecondRow[] {
  const whole = timeline.filter(({ second }) => second + 1 <= sendingSeconds);
  return whole.length > 2 ? whole.slice(1) : whole;
}
