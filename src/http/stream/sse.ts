import Negotiator from "negotiator";
import { escapeSeparators } from "../../base/text.js";
import { callAfter, callEvery, monotonicMs, type PendingCall } from "../../base/deadline.js";
import type { Log } from "../../base/log.js";
import { originFields, type RequestOrigin } from "../../model/request-origin.js";
import { type EventPart, EventWriter } from "../../model/event-writer.js";
import { bytesOfPart, releaseAll } from "../../model/search-listener.js";
import { BlockQueue } from "./block-queue.js";
import { GzipBlocks } from "./gzip-blocks.js";
import type { ByteStream } from "../server/byte-stream.js";
import { type Headers, plainText } from "../server/headers.js";
import type { MetricRegistry } from "../../base/metrics.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";

/**
 * Writes events as an event stream, with backpressure.
 *
 * An event is `event: NAME`, `data: JSON` and an empty line; clients of this interface accept nothing else, neither
 * comments nor, unless they asked for it, `id:`. `send` only queues; the queue is written once the calling code has run to completion, so events
 * sent together share a block and a system call. Blocks are written to the socket until it is full, and writing
 * continues when it is writable; what exceeds the budget of an event-loop iteration waits for the next one.
 *
 * Large parts are not copied: the caller transfers ownership with `send` and must not write to them before they are
 * released.
 *
 * The bytes held by this object are `pendingBytes`; the producer enforces the limit. uWebSockets.js holds at most one
 * block for the socket. A client that reads nothing for `stallMs` is disconnected.
 */
export class SseStream extends EventWriter {
  readonly #stream: ByteStream;
  readonly #observer: StreamObserver;
  readonly #log: Log;
  readonly #origin: RequestOrigin;
  readonly #queue = new BlockQueue();
  readonly #gzip: GzipBlocks | undefined;
  readonly #budget: WriteBudget;
  readonly #stallCheck: PendingCall;
  /** Bytes of the block that was written when the socket became full. */
  #blockedBytes = 0;
  #hasWritten = false;
  #socketReady = true;
  #waitsForTurn = false;
  #flushScheduled = false;
  #drainScheduled = false;
  /** True from the `send` that made bytes pending until the drain callbacks are scheduled. */
  #filled = false;
  #ending = false;
  #progressAtMs = monotonicMs();

  constructor(
    stream: ByteStream,
    encoding: StreamEncoding,
    stallMs: number,
    turns: WriteBudget,
    observer: StreamObserver,
    log: Log,
    origin: RequestOrigin,
  ) {
    super();
    this.#stream = stream;
    this.#budget = turns;
    this.#observer = observer;
    this.#log = log;
    this.#origin = origin;
    this.#gzip = encoding === "gzip" ? new GzipBlocks(() => this.#write()) : undefined;
    this.#stallCheck = callEvery(stallMs / stallChecks, () => this.#cutIfStalled(stallMs));
    stream.onWritable(() => this.#resume());
    stream.onClosed(() => this.#streamClosed());
  }

  override get pendingBytes(): number {
    return this.#queue.bytes + (this.#gzip?.pendingBytes ?? 0) + this.#blockedBytes;
  }

  /** With an `id`, a client that reconnects sends it as `Last-Event-ID`. */
  send(event: string, data: readonly EventPart[], id?: string): void {
    if (this.closed) return;
    const bytes = data.reduce(
      (sum, part) => sum + (typeof part === "string" ? Buffer.byteLength(part) : bytesOfPart(part).length),
      0,
    );
    if (bytes > eventBytesMax) {
      const fields = { ...originFields(this.#origin), event, bytes, eventBytesMax };
      this.#log.error(fields, "event dropped: larger than clients accept");
      return releaseAll(data.filter((part) => typeof part !== "string"));
    }
    let text = `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: `;
    for (const part of data) {
      if (typeof part === "string") {
        text += escapeSeparators(part);
        continue;
      }
      this.#queue.appendText(text);
      if (part instanceof Uint8Array) this.#queue.append(part);
      else this.#queue.append(part.bytes, () => part.release());
      text = "";
    }
    this.#queue.appendText(`${text}\n\n`);
    this.#filled = true;
    this.#scheduleFlush();
  }

  /** Data sent before is still delivered; then the response ends. */
  override end(): void {
    if (this.closed) return;
    this.#ending = true;
    this.#scheduleFlush();
    this.close();
  }

  /**
   * Ends the stream with an `error` event. Data sent before is still delivered, because part of an event is useless; a
   * client that has not read it after a second is disconnected.
   */
  fail(message: string): void {
    this.error(message);
    this.done();
    callAfter(failedMs, () => this.#stream.cut());
  }

  #scheduleFlush(): void {
    if (this.#flushScheduled) return;
    this.#flushScheduled = true;
    // After all promises that can be resolved now, because a short search sends its first and last events together.
    process.nextTick(() => {
      this.#flushScheduled = false;
      this.#flush();
    });
  }

  /** Everything queued so far becomes a batch: with gzip it is flushed so that a client can decode it. */
  #flush(): void {
    if (this.#stream.closed) return;
    if (this.#gzip) {
      this.#gzip.push(this.#queue.takeAll(), this.#ending);
      this.#queue.releaseTaken();
    }
    this.#write();
  }

  #write(): void {
    const source = this.#gzip?.output ?? this.#queue;
    while (this.#socketReady && this.#hasTurn()) {
      const block = source.take();
      if (block === undefined) break;
      this.#progressAtMs = monotonicMs();
      this.#budget.recordWritten(block.length);
      this.#observer.bytesSent(block.length);
      if (this.#isWhole(source)) return this.#stream.writeLast(block);
      this.#hasWritten = true;
      this.#socketReady = this.#stream.write(block);
      if (!this.#socketReady) this.#blockedBytes = block.length;
    }
    if (this.#stream.closed || this.pendingBytes > 0) return;
    if (this.#ending) this.#finish();
    else if (this.#filled) this.#scheduleDrain();
  }

  /** Whether the block that was taken from `source` is the whole stream, which one call of the socket writes. */
  #isWhole(source: BlockQueue): boolean {
    return this.#ending && !this.#hasWritten && this.#gzip === undefined && source.bytes === 0;
  }

  /** Otherwise the stream continues in the next iteration, after those that are already waiting. */
  #hasTurn(): boolean {
    if (this.#waitsForTurn) return false;
    if (this.#budget.hasRoom || this.pendingBytes === 0) return true;
    this.#waitsForTurn = true;
    this.#budget.wait(() => {
      this.#waitsForTurn = false;
      this.#write();
    });
    return false;
  }

  #resume(): void {
    this.#socketReady = true;
    this.#blockedBytes = 0;
    this.#progressAtMs = monotonicMs();
    this.#write();
  }

  #finish(): void {
    if (this.#gzip && !this.#gzip.finished) return;
    this.#stream.end();
  }

  /** Deferred, so that a producer that sends from its drain callback does not recurse. */
  #scheduleDrain(): void {
    this.#filled = false;
    if (this.#drainScheduled) return;
    this.#drainScheduled = true;
    setImmediate(() => {
      this.#drainScheduled = false;
      this.drained();
    });
  }

  #cutIfStalled(stallMs: number): void {
    if (this.#socketReady || monotonicMs() - this.#progressAtMs < stallMs) return;
    this.#observer.stalled();
    this.#stream.cut();
  }

  #streamClosed(): void {
    this.#stallCheck.cancel();
    this.#queue.clear();
    this.#gzip?.close();
    this.#blockedBytes = 0;
    this.close();
  }
}

export type StreamEncoding = "identity" | "gzip";

export interface StreamObserver {
  bytesSent(bytes: number): void;
  stalled(): void;
}

/** The largest event that existing clients can read; the searcher splits its events long before that. */
export const eventBytesMax = 10 * 1024 * 1024;

/** Time for a client to read the end of a failed stream. */
const failedMs = 1000;

/** A stall is detected after at most 1/4 more than its time. */
const stallChecks = 4;

/** Two of the headers are for intermediaries: the stream must be neither cached nor buffered. */
export function sseHeaders(encoding: StreamEncoding): Headers {
  return {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-cache",
    Connection: "keep-alive",
    "X-Accel-Buffering": "no",
    Vary: "Accept-Encoding, Authorization, Cookie, Origin, X-Requested-With",
    ...(encoding === "gzip" ? { "Content-Encoding": "gzip" } : {}),
  };
}

/** The encoding that an `Accept-Encoding` header prefers; identity if there is no header. */
export function acceptedEncoding(header: string | undefined): StreamEncoding {
  if (header === undefined) return "identity";
  const accepted = new Negotiator({ headers: { "accept-encoding": header } }).encoding(["gzip", "identity"]);
  return accepted === "gzip" ? "gzip" : "identity";
}

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
  const stream = new SseStream(body, encoding, stallMs, turns, observer, log, response.origin);
  response.onRevoked((reason) => stream.fail(reason));
  return stream;
}

/** A stream has neither a length nor an end that could be known in advance. */
export function refuseHead(response: HttpResponse): void {
  response.reply(405, { ...plainText, Allow: "GET, OPTIONS" }, "method not allowed\n");
}

/**
 * Bytes that all event streams together write in one event-loop iteration: one or two milliseconds. Eight streams that
 * each have 512 KiB to write take 17 ms, during which the main thread would serve nothing else.
 */
const turnBytesMax = 256 * 1024;

/** Limits the streams of one server to `turnBytesMax` plus one block per event-loop iteration. */
export class WriteBudget {
  #leftBytes = turnBytesMax;
  /** In order of arrival. */
  #waiting: (() => void)[] = [];
  #endsTurn = false;

  /** Whether a stream may write in this iteration. */
  get hasRoom(): boolean {
    return this.#leftBytes > 0;
  }

  recordWritten(byteCount: number): void {
    this.#leftBytes -= byteCount;
    this.#scheduleEnd();
  }

  /** Calls back in the next iteration; if there is no room even then, the caller must wait again. */
  wait(goOn: () => void): void {
    this.#waiting.push(goOn);
    this.#scheduleEnd();
  }

  /** Sockets are polled between two calls of `setImmediate`. */
  #scheduleEnd(): void {
    if (this.#endsTurn) return;
    this.#endsTurn = true;
    setImmediate(() => {
      this.#endsTurn = false;
      this.#leftBytes = turnBytesMax;
      for (const goOn of this.#waiting.splice(0)) goOn();
    });
  }
}
