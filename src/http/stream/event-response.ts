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
  /** A client that reads nothing for this long is disconnected. */
  readonly stallMs: number;
  /** Shared by all streams of a server. */
  readonly budget: WriteBudget;
}

/** Starts an event-stream response, compressed if the client accepts that, and counts it. */
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

/** A stream has neither a length nor an end that could be known in advance. */
export function refuseHead(response: HttpResponse): void {
  response.reply(405, { ...plainText, Allow: "GET, OPTIONS" }, "method not allowed\n");
}
