import { callAfter, type PendingCall } from "../../base/deadline.js";
import { errorMessage } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import { readSecret } from "../../base/secret-source.js";
import type { SearchSpan } from "../../search/report/search-span.js";

/** Spans that wait. Each takes about 1 KB. */
const queuedMax = 4_096;

/** Spans of one request. */
const batchMax = 512;

/** A span is sent this long after its search, together with those that end meanwhile. */
const delayMs = 2_000;

/** A batch is sent this often, with a pause between two attempts that doubles from the first to the last. */
const attemptsMax = 5;
const firstRetryMs = 1_000;

const requestMsMax = 10_000;

/** After the stop command, what waits is sent within this time. */
const lastMs = 1_000;

/** Statuses after which OTLP expects the same request again. */
const retriedStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** The answer to a batch. */
export interface ExportAnswer {
  readonly status: number;
  /** Spans that the collector has not accepted, although it accepted the batch. */
  readonly rejectedCount: number;
}

/** Sends the JSON of a batch. Rejects if there is no answer. */
export type SendSpans = (json: string, signal: AbortSignal) => Promise<ExportAnswer>;

export interface ExporterServices {
  readonly send: SendSpans;
  /** Attributes of the process. */
  readonly resource: Readonly<Record<string, string>>;
  readonly metrics: Pick<Metrics, "spansExported" | "spansDropped">;
  readonly log: Log;
}

/**
 * Sends spans to a collector, by OTLP over HTTP with JSON. Searches never wait for it: a span is put into a bounded queue,
 * and dropped and counted if there is no room, or if the collector does not accept it after some attempts.
 */
export class SpanExporter {
  readonly #services: ExporterServices;
  readonly #queue: SearchSpan[] = [];
  readonly #stop = new AbortController();
  #pending: PendingCall | undefined;
  #running: Promise<void> | undefined;
  #attempts = 0;
  #hasFailed = false;
  #isClosed = false;

  constructor(services: ExporterServices) {
    this.#services = services;
  }

  add(span: SearchSpan): void {
    if (this.#isClosed || this.#queue.length >= queuedMax) {
      this.#drop(1, "full");
      return;
    }
    this.#queue.push(span);
    if (this.#running === undefined && this.#attempts === 0)
      this.#schedule(this.#queue.length >= batchMax ? 0 : delayMs);
  }

  /** Sends what waits, once, within a short time. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#pending?.cancel();
    const limit = callAfter(lastMs, () => this.#stop.abort());
    await this.#running;
    while (this.#queue.length > 0 && !this.#stop.signal.aborted && this.#attempts === 0) await this.#sendBatch();
    limit.cancel();
    this.#drop(this.#queue.splice(0).length, "failed");
  }

  #schedule(waitMs: number): void {
    if (this.#isClosed || (this.#pending !== undefined && waitMs > 0)) return;
    this.#pending?.cancel();
    this.#pending = callAfter(waitMs, () => {
      this.#pending = undefined;
      this.#running = this.#sendBatch().finally(() => {
        this.#running = undefined;
        if (this.#attempts > 0) this.#schedule(firstRetryMs * 2 ** (this.#attempts - 1));
        else if (this.#queue.length > 0) this.#schedule(this.#queue.length >= batchMax ? 0 : delayMs);
      });
    });
  }

  /** Never rejects. What is not sent stays at the front of the queue. */
  async #sendBatch(): Promise<void> {
    const { send, resource, metrics } = this.#services;
    const batch = this.#queue.slice(0, batchMax);
    try {
      const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(requestMsMax)]);
      const { status, rejectedCount } = await send(toJson(resource, batch), signal);
      if (status >= 200 && status < 300) {
        const rejected = Math.min(Math.max(rejectedCount, 0), batch.length);
        this.#queue.splice(0, batch.length);
        metrics.spansExported.inc(batch.length - rejected);
        this.#drop(rejected, "rejected");
        [this.#attempts, this.#hasFailed] = [0, false];
        return;
      }
      this.#fail(batch.length, `the collector answers with ${status}`, retriedStatuses.has(status));
    } catch (error) {
      this.#fail(batch.length, errorMessage(error), true);
    }
  }

  /** One line is logged until a batch is accepted again. */
  #fail(count: number, reason: string, mayRetry: boolean): void {
    if (!this.#hasFailed) this.#services.log.warn({ reason }, "spans cannot be exported (tracing.endpoint)");
    this.#hasFailed = true;
    this.#attempts++;
    if (mayRetry && this.#attempts < attemptsMax) return;
    this.#attempts = 0;
    this.#queue.splice(0, count);
    this.#drop(count, "failed");
  }

  #drop(count: number, reason: "full" | "failed" | "rejected"): void {
    if (count > 0) this.#services.metrics.spansDropped.inc({ reason }, count);
  }
}

/** The numbers of the protocol for a span that answers a request, and for its status. */
const serverKind = 2;
const failedStatus = 2;

function toJson(resource: Readonly<Record<string, string>>, spans: readonly SearchSpan[]): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: toAttributes(resource) },
        scopeSpans: [{ scope: { name: "trawl" }, spans: spans.map(toProtocol) }],
      },
    ],
  });
}

function toProtocol({ traceId, spanId, parentSpanId, startMs, endMs, isFailed, attributes }: SearchSpan): unknown {
  return {
    traceId,
    spanId,
    ...(parentSpanId === "" ? {} : { parentSpanId }),
    name: "search",
    kind: serverKind,
    startTimeUnixNano: toNanoseconds(startMs),
    endTimeUnixNano: toNanoseconds(endMs),
    attributes: toAttributes(attributes),
    status: isFailed ? { code: failedStatus } : {},
  };
}

/** As text, because a number would be rounded: with microseconds, which fit into one. */
function toNanoseconds(unixMs: number): string {
  return `${Math.round(unixMs * 1000)}000`;
}

function toAttributes(attributes: Readonly<Record<string, string | number>>): readonly unknown[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: toValue(value) }));
}

function toValue(value: string | number): unknown {
  if (typeof value === "string") return { stringValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** Limit on the part of an answer that is read. */
const answerBytesMax = 64 << 10;

/** A header, as in a file. Other texts are tokens. */
const headerLine = /^([A-Za-z0-9-]+): +(\S.*)$/;

/**
 * Sends batches to a URL. `credential` is where the header that lets them in is, or "": the line `NAME: VALUE`, or a token, which is sent as
 * `Authorization: Bearer`. It is read for each batch, so that it can be replaced; throws `bad-config` if it cannot be read at the start.
 */
export function spanSender(url: string, userAgent: string, credential: string): SendSpans {
  const readHeader = (): Readonly<Record<string, string>> => {
    if (credential === "") return {};
    const text = readSecret(credential, "tracing.credential");
    const [, name, value] = headerLine.exec(text) ?? ["", "Authorization", `Bearer ${text}`];
    return { [name]: value };
  };
  readHeader();
  return async (json, signal) => {
    const headers = { "Content-Type": "application/json", "User-Agent": userAgent, ...readHeader() };
    const response = await fetch(url, { method: "POST", headers, body: json, redirect: "manual", signal });
    return { status: response.status, rejectedCount: await readRejectedCount(response) };
  };
}

/** What a collector says about a batch that it has accepted in part; 0 if it says nothing that is understood. */
async function readRejectedCount(response: Response): Promise<number> {
  const chunks: Uint8Array[] = [];
  let byteCount = 0;
  for await (const chunk of response.body ?? []) {
    byteCount += chunk.length;
    if (byteCount > answerBytesMax) return 0;
    chunks.push(chunk);
  }
  try {
    const answer = JSON.parse(Buffer.concat(chunks).toString()) as {
      readonly partialSuccess?: { readonly rejectedSpans?: unknown };
    } | null;
    return Number(answer?.partialSuccess?.rejectedSpans ?? 0) || 0;
  } catch {
    return 0;
  }
}
