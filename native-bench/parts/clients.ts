import type { LoadRequest } from "../load/request.js";
import { runLoad } from "../load/run-load.js";
import { trawlQuery, type BenchQuery } from "../peers/queries.js";
import { firstResults, zoektQuery } from "../peers/zoekt.js";

export const clientCount = 32;

/** What one round of many clients came to. */
export interface ClientRound {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly failedCount: number;
  /** Why the first one failed; "" when none did. */
  readonly failure: string;
  /** Of one core, what the generator took. */
  readonly generatorShare: number;
}

/** Results that each of the clients wants. */
export const resultsWanted = 500;

/**
 * What people type: words, and expressions that begin with one. Those that do not are left out also because one takes
 * zoekt seconds: with them in the mix it was a matter of these alone, 6.8 requests a second against our 448.
 */
export function interactiveQueries(table: readonly BenchQuery[]): BenchQuery[] {
  return table.filter(({ isHuge, spansLines, pattern }) => !isHuge && !spansLines && /^\w{3}/.test(pattern));
}

export function trawlRequests(queries: readonly BenchQuery[]): LoadRequest[] {
  return queries.map((query) => ({
    kind: "stream",
    query: trawlQuery(query, resultsWanted),
    patternType: query.kind,
    version: "",
    display: undefined,
  }));
}

export function zoektRequests(queries: readonly BenchQuery[]): LoadRequest[] {
  return queries.map((query) => ({ kind: "zoekt", query: zoektQuery(query), options: firstResults(resultsWanted) }));
}

/** 32 clients, each of which asks one of the requests when it has the answer to its last one. */
export async function measureClients(
  url: string,
  requests: readonly LoadRequest[],
  seconds: number,
): Promise<ClientRound> {
  const result = await runLoad({
    url,
    token: "",
    pace: { kind: "closed", concurrency: clientCount },
    connections: clientCount,
    seed: 1,
    onSecond: () => {},
    signal: undefined,
    classes: [{ name: "interactive", weight: 1, reader: { kind: "steady" }, requests }],
    limits: { durationSeconds: seconds, requestsMax: 10_000_000, timeoutSeconds: 60, drainSeconds: 30 },
  });
  const [clients] = result.classes;
  return {
    requestsPerSecond: clients?.goodPerSecond ?? 0,
    p50Ms: clients?.latency.p50Ms ?? NaN,
    p99Ms: clients?.latency.p99Ms ?? NaN,
    failedCount: clients?.failures.reduce((sum, { count }) => sum + count, 0) ?? 0,
    failure: clients?.failures[0]?.example ?? "",
    generatorShare: result.generator.cpuShare,
  };
}
