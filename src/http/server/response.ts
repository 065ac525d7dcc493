import { type ByteStream, closedStream } from "./byte-stream.js";
import { type Headers, plainText, statusText } from "./headers.js";
import type { NativeResponse } from "./uws-binding.js";
import { assert } from "../../base/assert.js";
import { internalError, noOrigin, type RequestOrigin } from "../../model/request-origin.js";
import type { ErrorCode } from "../../base/errors.js";
import { problemAnswer } from "./problem.js";

/** The status counted for a request whose client disconnected before the response. */
const clientClosedStatus = 499;

const chunksRefused =
  "This answer is a stream, which needs HTTP/1.1, and the request was in HTTP/1.0. A proxy has to ask in HTTP/1.1 " +
  "(nginx: proxy_http_version 1.1), curl without -0.\n";

/** uWebSockets.js closes a connection 8 to 12 s after its last response; a request needs some time to arrive. */
const keepAlive = "timeout=7";

/**
 * One response: exactly one `reply` or one `startStream`, or nothing if the client disconnected first. Every method
 * does nothing once `closed`.
 */
export class HttpResponse {
  readonly #res: NativeResponse;
  readonly #bodyless: boolean;
  readonly #ended: (status: number) => void;
  readonly #isLast: () => boolean;
  readonly #closedCallbacks: (() => void)[] = [];
  #headers: Headers = {};
  #origin: RequestOrigin = noOrigin;
  #connection: "kept" | "closed" | undefined;
  #avoidsChunks = false;
  #sendsProblems = false;
  #revoked: ((reason: string) => void) | undefined;
  #status: number | undefined;
  #closed = false;

  /** If `isLast` returns true when the response ends, the connection is closed. */
  constructor(res: NativeResponse, bodyless: boolean, ended: (status: number) => void, isLast: () => boolean) {
    this.#res = res;
    this.#isLast = isLast;
    this.#bodyless = bodyless;
    this.#ended = ended;
    res.onAborted(() => this.#close(clientClosedStatus));
  }

  /** The request that is answered: the response has its id. */
  get origin(): RequestOrigin {
    return this.#origin;
  }

  set origin(origin: RequestOrigin) {
    this.#origin = origin;
  }

  /** Sets headers that the response will have in any case. */
  setHeaders(headers: Headers): void {
    this.#headers = headers;
  }

  /** Adds headers that the response will have in any case. */
  addHeaders(headers: Headers): void {
    this.#headers = { ...this.#headers, ...headers };
  }

  /**
   * The response says how long its connection waits for another request, so that no client sends one while it is being
   * closed.
   */
  offerKeepAlive(): void {
    this.#connection = "kept";
  }

  /** The client has asked for the connection to be closed, which uWebSockets.js does without saying so. */
  announceClose(): void {
    this.#connection = "closed";
  }

  /** The client does not know chunks, in which a stream would be sent: it gets 505 instead. */
  avoidChunks(): void {
    this.#avoidsChunks = true;
  }

  /** Sends errors as `application/problem+json` instead of plain text, because the client accepts it. */
  sendProblems(): void {
    this.#sendsProblems = true;
  }

  /** True if the response is complete, or the client has disconnected. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Calls back once, when `closed` becomes true; immediately if it already is. */
  onClosed(callback: () => void): void {
    if (this.#closed) callback();
    else this.#closedCallbacks.push(callback);
  }

  /** Sends an error: a line of text, or a problem with this code. `headers` are in addition to those of a text. */
  replyError(status: number, code: ErrorCode, message: string, headers: Headers = {}): void {
    this.#reply(status, { ...plainText, ...headers }, `${message}\n`, code);
  }

  /** Sends the whole response at once. */
  reply(status: number, headers: Headers, body: string | Uint8Array): void {
    this.#reply(status, headers, body, undefined);
  }

  #reply(status: number, givenHeaders: Headers, givenBody: string | Uint8Array, code: ErrorCode | undefined): void {
    if (this.#closed || this.#status !== undefined) return;
    this.#status = status;
    const isProblem =
      this.#sendsProblems && status >= 400 && givenHeaders["Content-Type"] === plainText["Content-Type"];
    const { headers, body } = isProblem
      ? problemAnswer(status, code, { ...this.#headers, ...givenHeaders }, givenBody, this.#origin.requestId)
      : { headers: givenHeaders, body: givenBody };
    this.#res.cork(() => {
      this.#writeHead(status, headers);
      if (this.#bodyless) this.#res.endWithoutBody(Buffer.byteLength(body));
      else this.#res.end(body, headers["Connection"] === "close" || this.#isLast());
    });
    this.#close(status);
  }

  /**
   * Sends a response that consists only of a head. `byteCount` is the length that a complete response would state;
   * undefined if that is unknown.
   */
  replyHead(status: number, headers: Headers, byteCount: number | undefined): void {
    if (this.#closed || this.#status !== undefined) return;
    this.#status = status;
    this.#res.cork(() => {
      this.#writeHead(status, headers);
      this.#res.endWithoutBody(byteCount);
    });
    this.#close(status);
  }

  /**
   * Like `startStream`, for a body of this many bytes, at least one: the response states its length, and ends with its
   * last byte.
   */
  startSizedStream(status: number, headers: Headers, byteCount: number): ByteStream {
    if (this.#closed || this.#status !== undefined) return closedStream;
    this.#status = status;
    return new SizedStream(
      this.#res,
      this,
      byteCount,
      () => this.#writeHead(status, headers),
      () => this.#close(status),
    );
  }

  /**
   * Starts a response in blocks. The head is sent with the first block, so a stream that has sent nothing costs
   * nothing.
   */
  startStream(status: number, headers: Headers): ByteStream {
    if (this.#closed || this.#status !== undefined) return closedStream;
    if (this.#avoidsChunks) {
      this.reply(505, plainText, chunksRefused);
      return closedStream;
    }
    this.#status = status;
    return new NativeStream(
      this.#res,
      this,
      () => this.#writeHead(status, headers),
      () => this.#close(status),
    );
  }

  /** Sets how the response ends if its client loses its authorization. */
  onRevoked(callback: (reason: string) => void): void {
    this.#revoked = callback;
  }

  /**
   * The client has lost its authorization: a response that has not started becomes a 401, and one that has is
   * disconnected, unless `onRevoked` has set something else.
   */
  revoke(reason: string): void {
    if (this.#closed) return;
    if (this.#revoked !== undefined) return this.#revoked(reason);
    if (this.#status === undefined) this.reply(401, plainText, `${reason}\n`);
    else this.#res.close();
  }

  /**
   * Responds with 500, and with the id of the request, which is in the log; a response that has started is disconnected, so that the client cannot mistake it for a complete
   * one.
   */
  fail(): void {
    if (this.#closed) return;
    if (this.#status === undefined) this.reply(500, plainText, `${internalError(this.#origin)}\n`);
    else this.#res.close();
  }

  #writeHead(status: number, headers: Headers): void {
    this.#res.writeStatus(`${status} ${statusText[status] ?? "Unknown"}`);
    for (const name in this.#headers) if (headers[name] === undefined) this.#res.writeHeader(name, this.#headers[name]);
    for (const name in headers) this.#res.writeHeader(name, headers[name]);
    if (this.#origin.requestId !== "") this.#res.writeHeader("X-Request-Id", this.#origin.requestId);
    if (headers["Connection"] === "close") return;
    if (this.#connection === "closed") this.#res.writeHeader("Connection", "close");
    else if (this.#connection === "kept" && !this.#isLast()) this.#res.writeHeader("Keep-Alive", keepAlive);
  }

  #close(status: number): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#ended(status);
    for (const callback of this.#closedCallbacks.splice(0)) callback();
  }
}

const noBytes = new Uint8Array(0);

/** The response to which a body belongs. */
interface Closable {
  readonly closed: boolean;
  onClosed(callback: () => void): void;
}

/**
 * Common parts of both kinds of body: the head, which is sent with the first block, and the callback that waits for the
 * socket.
 */
abstract class BodyStream implements ByteStream {
  protected readonly res: NativeResponse;
  protected readonly ended: () => void;
  readonly #response: Closable;
  #writeHead: (() => void) | undefined;
  #writable: (() => void) | undefined;

  constructor(res: NativeResponse, response: Closable, writeHead: () => void, ended: () => void) {
    this.res = res;
    this.ended = ended;
    this.#response = response;
    this.#writeHead = writeHead;
    res.onWritable(() => this.resume());
  }

  abstract write(block: Uint8Array): boolean;
  abstract writeLast(block: Uint8Array): void;
  abstract end(): void;
  protected abstract resume(): boolean;

  get closed(): boolean {
    return this.#response.closed;
  }

  onClosed(callback: () => void): void {
    this.#response.onClosed(callback);
  }

  onWritable(callback: () => void): void {
    this.#writable = callback;
  }

  cut(): void {
    if (!this.closed) this.res.close();
  }

  protected tellWritable(): void {
    this.#writable?.();
  }

  /** Must be called within a cork. */
  protected writeHeadOnce(): void {
    this.#writeHead?.();
    this.#writeHead = undefined;
  }
}

/** A body whose length is not known in advance. */
class NativeStream extends BodyStream {
  write(block: Uint8Array): boolean {
    if (this.closed) return false;
    let ready = false;
    this.res.cork(() => {
      this.writeHeadOnce();
      ready = this.res.write(block);
    });
    return ready;
  }

  writeLast(block: Uint8Array): void {
    if (this.closed) return;
    this.res.cork(() => {
      this.writeHeadOnce();
      this.res.write(block);
      this.res.end();
    });
    this.ended();
  }

  end(): void {
    if (this.closed) return;
    this.res.cork(() => {
      this.writeHeadOnce();
      this.res.end();
    });
    this.ended();
  }

  /**
   * When the socket is full, uWebSockets.js keeps the tail of the block in its own buffer, and sends it only with the
   * next write: in a stream with nothing more to send it would remain there forever. An empty cork sends it.
   */
  protected override resume(): true {
    if (this.closed) return true;
    this.res.cork(() => {});
    this.tellWritable();
    return true;
  }
}

/**
 * A body of known length. uWebSockets.js accepts only as much of a block as the socket does, so the rest of a block
 * waits here, copied.
 */
class SizedStream extends BodyStream {
  readonly #byteCount: number;
  #waiting = noBytes;
  #givenCount = 0;

  constructor(res: NativeResponse, response: Closable, byteCount: number, writeHead: () => void, ended: () => void) {
    assert(byteCount > 0, "an answer without a body is only a head");
    super(res, response, writeHead, ended);
    this.#byteCount = byteCount;
  }

  write(block: Uint8Array): boolean {
    if (this.closed) return false;
    assert(this.#waiting.length === 0, "a stream that is full is not written to");
    this.#givenCount += block.length;
    assert(this.#givenCount <= this.#byteCount, "a body is as long as its head says");
    return this.#send(block);
  }

  writeLast(block: Uint8Array): void {
    this.write(block);
    this.end();
  }

  /** The last byte ends the response. An incomplete one can only be disconnected. */
  end(): void {
    if (this.#givenCount < this.#byteCount) this.cut();
  }

  #send(block: Uint8Array): boolean {
    let isTaken = false;
    let isWhole = false;
    this.res.cork(() => {
      this.writeHeadOnce();
      const from = this.res.getWriteOffset();
      [isTaken, isWhole] = this.res.tryEnd(block, this.#byteCount);
      this.#waiting = isTaken || isWhole ? noBytes : block.slice(this.res.getWriteOffset() - from);
    });
    if (isWhole) this.ended();
    return isTaken;
  }

  protected override resume(): boolean {
    if (this.closed) return true;
    if (this.#waiting.length > 0 && !this.#send(this.#waiting)) return false;
    this.tellWritable();
    return true;
  }
}
