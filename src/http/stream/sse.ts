import Negotiator from "negotiator";
import { callAfter, callEvery, monotonicMs, type PendingCall } from "../../base/deadline.js";
import type { Log } from "../../base/log.js";
import { bytesOfPart, type EventPart, type EventSink } from "../../model/event-sink.js";
import { BlockQueue } from "./block-queue.js";
import { GzipBlocks } from "./gzip-blocks.js";
import type { ByteStream } from "../server/byte-stream.js";
import type { Headers } from "../server/headers.js";
import type { WriteBudget } from "./write-budget.js";

/**
 * Events to the bytes of an event stream, with backpressure.
 *
 * An event is `event: NAME`, `data: JSON` and an empty line; clients of this interface accept nothing else, no comment,
 * no `id:`. `send` only queues; the queue is written once the calling code has run to its end, so events sent together
 * share a block and a system call. Blocks go to the socket until it is full and go on when it is writable; what is more
 * than fits into a turn of the event loop waits for the next one.
 *
 * Large parts are not copied: the caller gives them up with `send` and must not write to them before they are given
 * back.
 *
 * The bytes that this object holds are `pendingBytes`; who fills it keeps the bound. On the socket's side one block at
 * most is held by uWebSockets.js. A client that takes no byte for `stallMs` is cut. uWebSockets.js does the same by
 * itself after 10 to 12 s without room in the socket's buffer, so a longer `stallMs` has effect only for a client that
 * keeps making a little room.
 */
export class SseStream implements EventSink {
  readonly #stream: ByteStream;
  readonly #observer: StreamObserver;
  readonly #log: Log;
  readonly #queue = new BlockQueue();
  readonly #gzip: GzipBlocks | undefined;
  readonly #budget: WriteBudget;
  readonly #stallCheck: PendingCall;
  readonly #drainCallbacks: (() => void)[] = [];
  readonly #closedCallbacks: (() => void)[] = [];
  /** Bytes of the block that met a full socket. */
  #blockedBytes = 0;
  #socketReady = true;
  #waitsForTurn = false;
  #flushScheduled = false;
  #drainScheduled = false;
  /** True from the `send` that made bytes pending until the drain callbacks are scheduled. */
  #filled = false;
  #ending = false;
  #closed = false;
  #progressAtMs = monotonicMs();

  constructor(
    stream: ByteStream,
    encoding: StreamEncoding,
    stallMs: number,
    turns: WriteBudget,
    observer: StreamObserver,
    log: Log,
  ) {
    this.#stream = stream;
    this.#budget = turns;
    this.#observer = observer;
    this.#log = log;
    this.#gzip = encoding === "gzip" ? new GzipBlocks(() => this.#write()) : undefined;
    this.#stallCheck = callEvery(stallMs / stallChecks, () => this.#cutIfStalled(stallMs));
    stream.onWritable(() => this.#resume());
    stream.onClosed(() => this.#streamClosed());
  }

  get pendingBytes(): number {
    return this.#queue.bytes + (this.#gzip?.pendingBytes ?? 0) + this.#blockedBytes;
  }

  get closed(): boolean {
    return this.#closed;
  }

  send(event: string, data: readonly EventPart[]): void {
    if (this.#closed) return;
    const bytes = data.reduce(
      (sum, part) => sum + (typeof part === "string" ? Buffer.byteLength(part) : bytesOfPart(part).length),
      0,
    );
    if (bytes > eventBytesMax) {
      this.#log.error({ event, bytes, eventBytesMax }, "event dropped: larger than clients accept");
      return;
    }
    let text = `event: ${event}\ndata: `;
    for (const part of data) {
      if (typeof part === "string") {
        text += part;
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

  onDrain(callback: () => void): void {
    this.#drainCallbacks.push(callback);
  }

  onClosed(callback: () => void): void {
    if (this.#closed) callback();
    else this.#closedCallbacks.push(callback);
  }

  /** What was sent still arrives; then the response ends. */
  end(): void {
    if (this.#closed) return;
    this.#ending = true;
    this.#scheduleFlush();
    this.#close();
  }

  /**
   * Ends the stream with an `error` event. What was sent before still arrives, as a part of an event is of no use; a
   * client that has not taken it after a second is cut.
   */
  fail(message: string): void {
    this.send("error", [JSON.stringify({ message })]);
    this.send("done", ["{}"]);
    this.end();
    callAfter(failedMs, () => this.#stream.cut());
  }

  #scheduleFlush(): void {
    if (this.#flushScheduled) return;
    this.#flushScheduled = true;
    queueMicrotask(() => {
      this.#flushScheduled = false;
      this.#flush();
    });
  }

  /** Everything queued so far becomes a batch: with gzip it is compressed up to a point where a client can read it. */
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
      this.#socketReady = this.#stream.write(block);
      if (!this.#socketReady) this.#blockedBytes = block.length;
    }
    if (this.#stream.closed || this.pendingBytes > 0) return;
    if (this.#ending) this.#finish();
    else if (this.#filled) this.#scheduleDrain();
  }

  /** Otherwise the stream goes on in the next turn, behind those that wait already. */
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
      if (this.#closed) return;
      for (const callback of this.#drainCallbacks) callback();
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
    this.#close();
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const callback of this.#closedCallbacks.splice(0)) callback();
  }
}

export type StreamEncoding = "identity" | "gzip";

export interface StreamObserver {
  bytesSent(bytes: number): void;
  stalled(): void;
}

/** The size that the readers of existing clients can hold; the searcher splits its events long before. */
export const eventBytesMax = 10 * 1024 * 1024;

/** A client may take so long to read the end of a stream that failed. */
const failedMs = 1000;

/** A stall is noticed after at most 1/4 more than its time. */
const stallChecks = 4;

/** Two of the headers matter to intermediaries: nothing may keep the stream back to cache or to buffer it. */
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

/** The encoding that an `Accept-Encoding` header prefers; identity when there is none. */
export function acceptedEncoding(header: string | undefined): StreamEncoding {
  if (header === undefined) return "identity";
  const accepted = new Negotiator({ headers: { "accept-encoding": header } }).encoding(["gzip", "identity"]);
  return accepted === "gzip" ? "gzip" : "identity";
}
