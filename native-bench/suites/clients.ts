import type { LoadRequest } from "../load/request.js";
import { runLoad } from "../load/run-load.js";
import { trawlQuery, type BenchQuery } from "../peers/queries.js";
import { firstResults, zoektQuery } from "../peers/zoekt.js";

export const clientCount = 32;

/** Results that each client asks for. */
export const resultsWanted = 500;

/** One round of many clients. */
export interface ClientRound {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly failedCount: number;
  /** Why the first one failed; "" when none did. */
  readonly failure: string;
  /** CPU use of the generator, as a share of one core. */
  readonly generatorShare: number;
}

/**
 * What people type: words, and expressions that begin with one. Others are left out because zoekt takes seconds for a
 * single one of them: with them the mix measured nothing else, 6.8 requests a second against our 448.
 */
export function interactiveQueries(queries: readonly BenchQuery[]): BenchQuery[] {
  return queries.filter(({ isHuge, spansLines, pattern }) => !isHuge && !spansLines && /^\w{3}/.test(pattern));
}

export function trawlRequests(queries: readonly BenchQuery[]): LoadRequest[] {
  return queries.map((query) => {
    const text = trawlQuery(query, resultsWanted);
    return { kind: "stream", query: text, patternType: query.kind, version: "", display: undefined };
  });
}

export function zoektRequests(queries: readonly BenchQuery[]): LoadRequest[] {
  return queries.map((query) => ({ kind: "zoekt", query: zoektQuery(query), options: firstResults(resultsWanted) }));
}

/** 32 clients; each asks one of the requests as soon as it has the answer to its last one. */
export async function measureClients(
  url: string,
  requests: readonly LoadRequest[],
  seconds: number,
): Promise<ClientRound> {
  const result = await runLoad({
    url,
    pace: { kind: "closed", concurrency: clientCount },
    connections: clientCount,
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
