import { randomBytes } from "node:crypto";
import type { SearchRequest } from "../../model/search-request.js";
import type { SearchEnd } from "./search-report.js";
import { hashOfQuery } from "./slow-searches.js";

/** A search as a span of a distributed trace. Times are Unix times in milliseconds. */
export interface SearchSpan {
  /** 32 hexadecimal digits: those of the client, if it has sent some. */
  readonly traceId: string;
  readonly spanId: string;
  /** The client's span; "" if the trace begins here. */
  readonly parentSpanId: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly isFailed: boolean;
  readonly attributes: Readonly<Record<string, string | number>>;
}

const traceIdBytes = 16;
const spanIdBytes = 8;

/** Undefined if the client has decided that its trace is not recorded. `trace` is the URL of the search's own trace. */
export function toSpan(request: SearchRequest, end: SearchEnd, trace: string): SearchSpan | undefined {
  const { origin, viewer, query, client } = request;
  const parent = origin?.traceParent;
  if (parent?.isSampled === false) return undefined;
  const ids = randomBytes(traceIdBytes + spanIdBytes).toString("hex");
  const endMs = new Date().getTime();
  return {
    traceId: parent?.traceId ?? ids.slice(2 * spanIdBytes),
    spanId: ids.slice(0, 2 * spanIdBytes),
    parentSpanId: parent?.spanId ?? "",
    startMs: endMs - end.durationMs,
    endMs,
    isFailed: end.outcome === "failed",
    attributes: {
      "client.address": origin?.remoteAddress ?? client,
      "user.name": viewer.name,
      "trawl.request_id": origin?.requestId ?? "",
      "trawl.query_hash": hashOfQuery(query),
      "trawl.lane": end.lane,
      "trawl.outcome": end.outcome,
      "trawl.matches": end.matchCount,
      "trawl.first_matches_ms": end.firstMatchesMs ?? -1,
      "trawl.worker_ms": end.workerMs,
      "trawl.scanned_bytes": end.stats.scannedBytes,
      "trawl.shards": end.stats.shardsSearched,
      "trawl.trace": trace,
    },
  };
}
