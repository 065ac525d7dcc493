import { SseCheck } from "../sse-check.js";
import type { Exchangeable } from "./adapter.js";

/** A search at `/.api/search/stream`. */
export interface StreamRequest {
  readonly kind: "stream";
  readonly query: string;
  /** "" leaves it to the server, as with `version`. */
  readonly patternType: string;
  readonly version: string;
  /** Undefined for no limit. */
  readonly display: number | undefined;
}

export function streamExchange({ query, patternType, version, display }: StreamRequest): Exchangeable {
  const params = new URLSearchParams({ q: query });
  if (patternType !== "") params.set("t", patternType);
  if (version !== "") params.set("v", version);
  if (display !== undefined) params.set("display", String(display));
  return {
    label: query,
    method: "GET",
    path: `/.api/search/stream?${params}`,
    headers: { accept: "text/event-stream" },
    body: null,
    contentType: "text/event-stream",
    newCheck: () => new SseCheck(),
  };
}

/** The same search for every match there is. */
export function exhaustive(request: StreamRequest): StreamRequest {
  const query = /(^|[\s(])count:/.test(request.query) ? request.query : `count:all ${request.query}`;
  return { ...request, query, display: undefined };
}
