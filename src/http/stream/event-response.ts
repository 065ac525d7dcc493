import type { Log } from "../../base/log.js";
import type { MetricRegistry } from "../../base/metrics.js";
import { SseStream, acceptedEncoding, sseHeaders, type StreamObserver } from "./sse.js";
import { plainText } from "../server/headers.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";
import type { WriteBudget } from "./write-budget.js";

export interface EventServices {
  readonly metrics: MetricRegistry;
  readonly log: Log;
  /** A client that takes no byte for this long is cut. */
  readonly stallMs: number;
  /** One for all streams of a server. */
  readonly budget: WriteBudget;
}

/** Begins an answer of events, compressed where the client takes that, and counts it. */
export function startEvents(
  request: HttpRequest,
  response: HttpResponse,
  { metrics: { metrics }, log, stallMs, budget: turns }: EventServices,
): SseStream {
  const observer: StreamObserver = {
    bytesSent: (bytes) => metrics.streamBytesSent.inc(bytes),
    stalled: () => metrics.streamsStalled.inc(),
  };
  const encoding = acceptedEncoding(request.headers.get("accept-encoding"));
  const body = response.startStream(200, sseHeaders(encoding));
  metrics.streamsOpen.inc();
  response.onClosed(() => metrics.streamsOpen.dec());
  const stream = new SseStream(body, encoding, stallMs, turns, observer, log);
  response.onRevoked((reason) => stream.fail(reason));
  return stream;
}

/** A stream has no length and no end that could be told without it. */
export function refuseHead(response: HttpResponse): void {
  response.reply(405, { ...plainText, Allow: "GET, OPTIONS" }, "method not allowed\n");
}
