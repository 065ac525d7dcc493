import { exhaustive, type LoadRequest } from "./request.js";
import { TrawlError } from "../../src/base/errors.js";
import type { FailureKind } from "./answer-check.js";

/** What a run of the generator sends, how, and for how long. */
export interface LoadOptions {
  /** `http://HOST:PORT`, with a path if the server's own paths are below one. */
  readonly url: string;
  /** Sent as `Authorization: token …`; none by default. */
  readonly token?: string;
  readonly classes: readonly LoadClass[];
  readonly pace: Pace;
  /** The most connections. A request that finds all of them busy waits, and its latency includes the wait. */
  readonly connections: number;
  readonly limits: LoadLimits;
  /** Two runs with the same seed choose the same requests in the same order; 1 by default. */
  readonly seed?: number;
  /** Called once a second with what happened in it. */
  readonly onSecond?: (row: SecondRow) => void;
  /** Ends the run early. */
  readonly signal?: AbortSignal | undefined;
}

/** Clients of one kind. */
export interface LoadClass {
  readonly name: string;
  /** The share of requests of this class, relative to the others'. */
  readonly weight: number;
  readonly reader: Reader;
  /** One of them is chosen at random each time. */
  readonly requests: readonly LoadRequest[];
}

/** When a run ends; see `loadBounds`. */
export interface LoadLimits {
  readonly durationSeconds: number;
  readonly requestsMax: number;
  /** For one answer, from when its request was sent. */
  readonly timeoutSeconds: number;
  /** How long to wait for answers once no more requests are sent. */
  readonly drainSeconds: number;
}

/** Throws `bad-config` for options that the generator does not support. */
export function requireLoadOptions({ url, token = "", classes, pace, connections, limits }: LoadOptions): void {
  const require = (condition: boolean, message: string): void => {
    if (!condition) throw new TrawlError("bad-config", message);
  };
  const isHttp = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  require(isHttp, `url ${url}: must be http://HOST:PORT or https://HOST`);
  require(!/[^\x21-\x7e]/.test(token), "the token has a character that no token has");
  require(classes.length > 0, "nothing to send: the mix is empty");
  for (const { name, weight, requests } of classes) {
    require(requests.length > 0, `nothing to send for ${name}`);
    require(weight > 0, `the share of ${name} must be a number above 0`);
  }
  if (pace.kind === "open") {
    requireWithin("rate", pace.ratePerSecond);
    requireWithin("in-flight", pace.inFlightMax);
  } else {
    requireWithin("concurrency", pace.concurrency);
    requireWithin("pause", pace.pauseSeconds ?? 0);
  }
  requireWithin("connections", connections);
  requireWithin("duration", limits.durationSeconds);
  requireWithin("requests", limits.requestsMax);
  requireWithin("timeout", limits.timeoutSeconds);
  requireWithin("drain", limits.drainSeconds);
}

/** When requests begin. */
export type Pace =
  /**
   * Requests begin at a constant rate, whether earlier ones were answered or not, and latency counts from when a
   * request was due: like users who are independent of each other. A request that would exceed `inFlightMax` is not
   * sent and counts as a failure.
   */
  | { readonly kind: "open"; readonly ratePerSecond: number; readonly inFlightMax: number }
  /**
   * Clients that each ask again when they have their answer, after a pause if one is given, which also precedes the
   * first request. A server that stalls is asked less meanwhile.
   */
  | { readonly kind: "closed"; readonly concurrency: number; readonly pauseSeconds?: number };

/** How a client reads its answer. */
export type Reader =
  | { readonly kind: "steady" }
  /** Reads no more than this on average. */
  | { readonly kind: "slow"; readonly bytesPerSecond: number }
  /** Stops reading once, after the first event, and then continues. */
  | { readonly kind: "paused"; readonly pauseMs: number }
  /** Closes the connection after the first event. */
  | { readonly kind: "leaving" };

/**
 * Slow and paused clients of the `load` command's mix. A server notices them only once its own buffers are full.
 */
export const usualSlow: Reader = { kind: "slow", bytesPerSecond: 256 * 1024 };
const usualPause: Reader = { kind: "paused", pauseMs: 2000 };

interface Bound {
  readonly min: number;
  readonly max: number;
  readonly isWhole: boolean;
  readonly unit: string;
}

/**
 * The limits of one generator. Beyond them the figures would describe the generator and not the server: a small request
 * costs it 80 µs of its one core (measured by overhead.ts, in each run of the harness). Connections and clients stay
 * below the usual limits of open files and of ports to one address.
 */
export const loadBounds = {
  rate: { min: 0.01, max: 10_000, isWhole: false, unit: "requests a second" },
  concurrency: { min: 1, max: 10_000, isWhole: true, unit: "clients" },
  connections: { min: 1, max: 10_000, isWhole: true, unit: "connections" },
  "in-flight": { min: 1, max: 20_000, isWhole: true, unit: "requests" },
  duration: { min: 0.1, max: 3600, isWhole: false, unit: "seconds" },
  requests: { min: 1, max: 10_000_000, isWhole: true, unit: "requests" },
  timeout: { min: 0.1, max: 600, isWhole: false, unit: "seconds" },
  pause: { min: 0, max: 600, isWhole: false, unit: "seconds" },
  drain: { min: 0, max: 60, isWhole: false, unit: "seconds" },
} as const satisfies Readonly<Record<string, Bound>>;

export type BoundName = keyof typeof loadBounds;

/** Throws `bad-config` unless the value is within its bounds. */
function requireWithin(name: BoundName, value: number): void {
  const { min, max, isWhole, unit } = loadBounds[name];
  if (value >= min && value <= max && (!isWhole || Number.isInteger(value))) return;
  const range = `${isWhole ? "a whole number " : ""}from ${min} to ${max} ${unit}`;
  throw new TrawlError("bad-config", `${name} ${value}: must be ${range}`);
}

interface ClientKind {
  readonly meaning: string;
  readonly reader: Reader;
  /** Which of the queries such a client asks, and in which form. */
  readonly requests: (queries: readonly LoadRequest[]) => readonly LoadRequest[];
}

const steady: Reader = { kind: "steady" };

const asWritten: ClientKind["requests"] = (queries) => queries.filter(({ kind }) => kind !== "graphql");
const forAll: ClientKind["requests"] = (queries) =>
  queries.flatMap((query) => (query.kind === "stream" ? [exhaustive(query)] : []));
const graphqlOnly: ClientKind["requests"] = (queries) => queries.filter(({ kind }) => kind === "graphql");

/** The clients that a mix is made of. */
export const clientKinds = {
  interactive: { meaning: "asks a query as it is written", reader: steady, requests: asWritten },
  exhaustive: { meaning: "asks for every match, with count:all", reader: steady, requests: forAll },
  graphql: { meaning: "sends a GraphQL operation", reader: steady, requests: graphqlOnly },
  slow: { meaning: "reads 256 KiB a second", reader: usualSlow, requests: asWritten },
  paused: { meaning: "reads nothing for 2 s after the first event", reader: usualPause, requests: asWritten },
  leaving: { meaning: "leaves after the first event", reader: { kind: "leaving" }, requests: asWritten },
} as const satisfies Readonly<Record<string, ClientKind>>;

type ClientKindName = keyof typeof clientKinds;

/**
 * `interactive=9,exhaustive=1` as classes that ask these queries; undefined asks each query as it is written, equally
 * often.
 */
export function parseMix(mix: string | undefined, queries: readonly LoadRequest[]): LoadClass[] {
  if (mix === undefined) return plainClasses(queries);
  const classes = mix.split(",").map((part) => {
    const [, name = "", weight = ""] = /^\s*([a-z]+)=([0-9.]+)\s*$/.exec(part) ?? [];
    if (isClientKind(name)) return newClass(name, Number(weight), queries);
    const names = Object.keys(clientKinds).join(", ");
    throw new TrawlError("bad-config", `mix ${JSON.stringify(part)}: must be NAME=SHARE with one of ${names}`);
  });
  if (new Set(classes.map(({ name }) => name)).size === classes.length) return classes;
  throw new TrawlError("bad-config", `mix ${mix}: a name comes twice`);
}

function plainClasses(queries: readonly LoadRequest[]): LoadClass[] {
  const classes = (["interactive", "graphql"] as const).map((name) => newClass(name, 1, queries));
  return classes
    .map((each) => ({ ...each, weight: each.requests.length }))
    .filter(({ requests }) => requests.length > 0);
}

function newClass(name: ClientKindName, weight: number, queries: readonly LoadRequest[]): LoadClass {
  const { reader, requests } = clientKinds[name];
  return { name, weight, reader, requests: requests(queries) };
}

function isClientKind(name: string): name is ClientKindName {
  return Object.hasOwn(clientKinds, name);
}

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
