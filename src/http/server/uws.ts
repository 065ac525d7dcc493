import { assert } from "../../base/assert.js";
import { callAfter, monotonicMs, sleep } from "../../base/deadline.js";
import { TrawlError, errorMessage } from "../../base/errors.js";
import { refusalError, type FullShare } from "../../base/fair-semaphore.js";
import type { Log } from "../../base/log.js";
import { replaceListener } from "../../native/socket/socket.js";
import { clientNetwork } from "../../model/client.js";
import { ClientAddresses } from "./client-address.js";
import { ByteBudget, RequestBody } from "./request-body.js";
import { Router } from "./router.js";
import {
  loadBinding,
  type ListenSocket,
  type NativeApp,
  type NativeRequest,
  type NativeResponse,
} from "./uws-binding.js";

/**
 * The HTTP server, and with uws-binding.ts the only file that knows uWebSockets.js.
 *
 * That library kills the process when a handler throws or returns without an answer, when a response is touched after
 * its client left, and it answers a request that is read after the first `await` with another request's bytes. So a
 * handler here gets a copy of the request and a `HttpResponse` that does nothing once it is closed, and whatever it
 * throws becomes a plain 500 and a line in the log.
 */
export class HttpServer {
  readonly #log: Log;
  readonly #observe: RequestObserver;
  readonly #router = new Router<Route>();
  readonly #app: NativeApp;
  readonly #responses = new Set<HttpResponse>();
  #fallback: Handler = answerNoRoute;
  #headersOf: (request: RequestHead) => Headers = () => ({});
  #check: RequestCheck = () => undefined;
  #budget = new ByteBudget(Infinity, Infinity);
  #openMax = Infinity;
  #refusedCount = 0;
  #refusalLoggedMs = -Infinity;
  #addresses = new ClientAddresses([]);
  #listenSocket: ListenSocket | undefined;
  #stopped = false;

  constructor(log: Log, observe: RequestObserver) {
    this.#log = log;
    this.#observe = observe;
    this.#app = native.App();
    this.#app.any("/*", (res, req) => this.#accept(res, req));
  }

  /** Says which headers every answer has, those without a route included; what a handler says of the same name wins. */
  setHeaders(headersOf: (request: RequestHead) => Headers): void {
    this.#headersOf = headersOf;
  }

  /** Says what refuses a request before anything else reads it, whatever its path and method. */
  setCheck(check: RequestCheck): void {
    this.#check = check;
  }

  /** Says how many bytes the bodies of all requests, and of one client, may take together. */
  setBodyBudget(budget: ByteBudget): void {
    this.#budget = budget;
  }

  /**
   * Says how many answers may be open; a further request is refused with 503, and its connection ends. How we are is
   * told all the same.
   */
  setOpenMax(count: number): void {
    this.#openMax = count;
  }

  /** Says which proxies are believed when they tell whom they stand for. */
  setClientAddresses(addresses: ClientAddresses): void {
    this.#addresses = addresses;
  }

  /** Adds a route without a body; see `Router` for patterns. A GET route answers HEAD too, without the body. */
  route(method: Method, pattern: string, handler: Handler): void {
    this.#router.add(method, pattern, { kind: "plain", handler });
  }

  /**
   * Adds a route whose handler is called with the whole body, at most `bodyBytesMax` long; more is refused with 413.
   */
  routeWithBody(method: Method, pattern: string, bodyBytesMax: number, handler: Handler): void {
    this.routeWithAdmission(method, pattern, bodyBytesMax, ({ remoteAddress }) => ({
      client: clientNetwork(remoteAddress),
      handler,
    }));
  }

  /** The same for a body that not everybody may send: `admission` is asked before any of it is read. */
  routeWithAdmission(method: Method, pattern: string, bodyBytesMax: number, admission: BodyAdmission): void {
    this.#router.add(method, pattern, { kind: "body", admission, bodyBytesMax });
  }

  /** What answers requests for paths of no route, whatever their method; without it they get 404. */
  otherwise(handler: Handler): void {
    this.#fallback = handler;
  }

  /**
   * Opens the port, 0 for a free one, and returns its number. `tuneListener` gets the number of the listening
   * port before a client does, to set socket options that accepted sockets inherit.
   *
   * The port is opened exclusively: without that, a second daemon would share it silently.
   *
   * `given` is the descriptor of a socket that listens already, at which clients may wait; it becomes the server's own.
   * uWebSockets.js takes none, so it opens a free port, whose socket is exchanged before the event loop looks at it.
   */
  listen(host: string, port: number, tuneListener: (port: number) => void, given?: number): number {
    const bound = (given === undefined ? undefined : this.#take(host, given)) ?? this.#open(host, port);
    tuneListener(bound);
    return bound;
  }

  #take(host: string, given: number): number | undefined {
    const taken = replaceListener(this.#open(host, 0), given);
    if (taken !== undefined) return taken;
    this.#log.error("the socket that the service manager has kept does not listen; the port is opened anew");
    this.#closeListener();
    return undefined;
  }

  #open(host: string, port: number): number {
    let bound: number | undefined;
    this.#app.listen(host, port, native.LIBUS_LISTEN_EXCLUSIVE_PORT, (listenSocket) => {
      if (!listenSocket) return;
      this.#listenSocket = listenSocket;
      bound = native.getSocketPort(listenSocket);
    });
    if (bound === undefined) {
      throw new TrawlError("conflict", `cannot listen on ${host}:${port}: the address is in use or not of this host`);
    }
    return bound;
  }

  #closeListener(): void {
    if (this.#listenSocket) native.closeSocket(this.#listenSocket);
    this.#listenSocket = undefined;
  }

  /** Requests that have no whole answer yet. */
  get openResponses(): number {
    return this.#responses.size;
  }

  /**
   * Takes no further connections, waits until the open responses have ended, at most `graceMs`, and cuts the rest. A
   * connection that was taken just before may still send its request. Each connection ends with its next answer.
   * Idempotent.
   */
  async stop(graceMs: number): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#closeListener();
    const startMs = monotonicMs();
    const isOver = (): boolean =>
      monotonicMs() >= startMs + (this.#responses.size > 0 ? graceMs : Math.min(graceMs, lastRequestMs));
    while (!isOver()) await sleep(drainPollMs);
    this.#app.close();
  }

  /** Runs in uWebSockets.js' callback: nothing may be thrown from here. */
  #accept(res: NativeResponse, req: NativeRequest): void {
    const method = req.getCaseSensitiveMethod();
    const response = new HttpResponse(
      res,
      method === "HEAD",
      (status) => {
        this.#responses.delete(response);
        this.#observe(method, status);
      },
      () => this.#stopped,
    );
    this.#responses.add(response);
    try {
      const request = snapshot(res, req, method, this.#addresses);
      if (this.#responses.size > this.#openMax && !monitoringPaths.has(request.path)) return this.#refuse(response);
      const refusal = this.#check(request);
      if (refusal !== undefined) return response.reply(refusal.status, plainText, `${refusal.message}\n`);
      response.setHeaders(this.#headersOf(request));
      this.#dispatch(res, request, response);
    } catch (error) {
      this.#fail(response, error);
    }
  }

  /** One line a minute says how often. */
  #refuse(response: HttpResponse): void {
    response.reply(
      503,
      { ...plainText, "Retry-After": "1", Connection: "close" },
      "Too many requests are open. Try again in a moment.\n",
    );
    this.#refusedCount++;
    if (monotonicMs() - this.#refusalLoggedMs < refusalLogMs) return;
    this.#log.warn(
      { refused: this.#refusedCount, open: this.#openMax },
      `requests are refused: ${this.#openMax} are open, and the limit on descriptors allows no more (LimitNOFILE)`,
    );
    this.#refusedCount = 0;
    this.#refusalLoggedMs = monotonicMs();
  }

  #dispatch(res: NativeResponse, request: RequestHead, response: HttpResponse): void {
    // What a browser asks before it lets a page of another origin ask: the headers are the answer.
    if (request.method === "OPTIONS" && request.path.startsWith("/.api/")) return response.reply(200, {}, "");
    const found = this.#router.find(request.method === "HEAD" ? "GET" : request.method, request.path);
    switch (found.kind) {
      case "none":
        return this.#run(this.#fallback, withBody(request, {}, noBytes), response);
      case "other-method":
        return response.reply(405, { ...plainText, Allow: allowed(found.methods) }, "method not allowed\n");
      case "route": {
        const { route, params } = found;
        if (route.kind === "plain") return this.#run(route.handler, withBody(request, params, noBytes), response);
        return this.#receive(res, withBody(request, params, noBytes), route, response);
      }
    }
  }

  #run(handler: Handler, request: HttpRequest, response: HttpResponse): void {
    try {
      handler(request, response)?.catch((error: unknown) => this.#fail(response, error));
    } catch (error) {
      this.#fail(response, error);
    }
  }

  /**
   * What is refused here, or by the admission, is answered at once: uWebSockets.js drops the rest of the body, so the client
   * sees the answer.
   */
  #receive(
    res: NativeResponse,
    request: HttpRequest,
    { admission, bodyBytesMax }: BodyRoute,
    response: HttpResponse,
  ): void {
    const receiver = admission(request, response);
    if (receiver === undefined || response.closed) return;
    if (Number(request.headers.get("content-length")) > bodyBytesMax) return response.reply(413, plainText, tooLarge);
    const body = new RequestBody(bodyBytesMax, this.#budget, receiver.client);
    this.#readBody(res, body, response, () =>
      this.#run(receiver.handler, withBody(request, request.params, body.bytes), response),
    );
  }

  /** Each chunk is copied: its memory is uWebSockets.js' own again when the callback returns. */
  #readBody(res: NativeResponse, body: RequestBody, response: HttpResponse, done: () => void): void {
    const cut = callAfter(bodyMsMax, () => response.reply(408, plainText, tooSlow));
    response.onClosed(() => {
      cut.cancel();
      body.release();
    });
    res.onData((chunk, isLast) => {
      if (response.closed) return;
      const refused = body.push(new Uint8Array(chunk), isLast);
      if (refused === "too-large") return response.reply(413, plainText, tooLarge);
      if (refused === "too-many-pieces") return response.reply(400, plainText, tooManyPieces);
      if (refused !== undefined) return refuseBody(response, refused);
      if (!isLast) return;
      cut.cancel();
      done();
    });
  }

  #fail(response: HttpResponse, error: unknown): void {
    this.#log.error({ err: error }, `request failed: ${errorMessage(error)}`);
    response.fail();
  }
}

export type Method = "GET" | "POST" | "PUT" | "DELETE" | "OPTIONS";

export type Handler = (request: HttpRequest, response: HttpResponse) => Promise<void> | void;

/**
 * Asked before a body is read: who receives it, and whose share it takes. Undefined when the response is answered
 * already, as where the sender may not send it.
 */
export type BodyAdmission = (request: HttpRequest, response: HttpResponse) => BodyReceiver | undefined;

export interface BodyReceiver {
  readonly client: string;
  readonly handler: Handler;
}

/** Told once for each request, when its response ended: `status` is 499 when the client left before an answer. */
export type RequestObserver = (method: string, status: number) => void;

/** A status and a sentence for a request that is refused; undefined for another. */
export type RequestCheck = (request: RequestHead) => { readonly status: number; readonly message: string } | undefined;

/** Header names are written as given. */
export type Headers = Readonly<Record<string, string>>;

/** A copy of what the client sent: valid for as long as someone holds it. */
export interface HttpRequest extends RequestHead {
  /** Decoded parts of the path, by the name they have in the route's pattern. */
  readonly params: Readonly<Record<string, string>>;
  /** Empty when the route takes none. */
  readonly body: Uint8Array;
}

export interface RequestHead {
  readonly method: string;
  /** As sent, percent-encoding included. */
  readonly path: string;
  /** What follows the question mark, as sent. */
  readonly query: string;
  /** Names are in lower case. The first one counts when a header comes twice. */
  readonly headers: ReadonlyMap<string, string>;
  /** The client's, also where it comes through proxies that are trusted. */
  readonly remoteAddress: string;
}

/**
 * One answer: exactly one `reply` or one `startStream`, or nothing when the client left first. Every method does
 * nothing once `closed`.
 */
export class HttpResponse {
  readonly #res: NativeResponse;
  readonly #bodyless: boolean;
  readonly #ended: (status: number) => void;
  readonly #isLast: () => boolean;
  readonly #closedCallbacks: (() => void)[] = [];
  #headers: Headers = {};
  #revoked: ((reason: string) => void) | undefined;
  #status: number | undefined;
  #closed = false;

  /** Where `isLast` says so when the answer ends, the connection ends with it. */
  constructor(res: NativeResponse, bodyless: boolean, ended: (status: number) => void, isLast: () => boolean) {
    this.#res = res;
    this.#isLast = isLast;
    this.#bodyless = bodyless;
    this.#ended = ended;
    res.onAborted(() => this.#close(clientClosedStatus));
  }

  /** Headers that the answer has, whatever it is. */
  setHeaders(headers: Headers): void {
    this.#headers = headers;
  }

  /** True when the answer is whole, or the client left. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Calls back once, when `closed` becomes true; at once when it is. */
  onClosed(callback: () => void): void {
    if (this.#closed) callback();
    else this.#closedCallbacks.push(callback);
  }

  /** The whole answer in one go. */
  reply(status: number, headers: Headers, body: string | Uint8Array): void {
    if (this.#closed || this.#status !== undefined) return;
    this.#status = status;
    this.#res.cork(() => {
      this.#writeHead(status, headers);
      if (this.#bodyless) this.#res.endWithoutBody(Buffer.byteLength(body));
      else this.#res.end(body, headers["Connection"] === "close" || this.#isLast());
    });
    this.#close(status);
  }

  /**
   * An answer that is only a head. `byteCount` is what a whole one would say of its length; undefined when that is not
   * known.
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
   * As `startStream`, for a body of this many bytes, at least one: the answer says its length, and ends with its last
   * byte.
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

  /** An answer in blocks. The head goes out with the first block, so a stream that sends nothing yet costs nothing. */
  startStream(status: number, headers: Headers): ByteStream {
    if (this.#closed || this.#status !== undefined) return closedStream;
    this.#status = status;
    return new NativeStream(
      this.#res,
      this,
      () => this.#writeHead(status, headers),
      () => this.#close(status),
    );
  }

  /** Says how an answer ends whose client has lost its right to it. */
  onRevoked(callback: (reason: string) => void): void {
    this.#revoked = callback;
  }

  /**
   * The client has lost its right to the answer: what has not begun is a 401, and what has is cut, unless `onRevoked`
   * said otherwise.
   */
  revoke(reason: string): void {
    if (this.#closed) return;
    if (this.#revoked !== undefined) return this.#revoked(reason);
    if (this.#status === undefined) this.reply(401, plainText, `${reason}\n`);
    else this.#res.close();
  }

  /** Answers 500; an answer that has begun is cut, so that the client cannot take it for a whole one. */
  fail(): void {
    if (this.#closed) return;
    if (this.#status === undefined) this.reply(500, plainText, "internal error\n");
    else this.#res.close();
  }

  #writeHead(status: number, headers: Headers): void {
    this.#res.writeStatus(`${status} ${statusText[status] ?? "Unknown"}`);
    for (const name in this.#headers) if (headers[name] === undefined) this.#res.writeHeader(name, this.#headers[name]);
    for (const name in headers) this.#res.writeHeader(name, headers[name]);
  }

  #close(status: number): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#ended(status);
    for (const callback of this.#closedCallbacks.splice(0)) callback();
  }
}

/**
 * The body of a streamed answer.
 *
 * Contract:
 * - `write` takes the block in any case. When it returns false the socket is full: the caller writes no more until
 *   `onWritable` calls back. The bytes are copied, so the block is the caller's again when `write` returns.
 * - After `closed` every method does nothing, and `write` returns false.
 *
 * Caller guarantees: a block has 1 to `blockBytesMax` bytes.
 */
export interface ByteStream {
  write(block: Uint8Array): boolean;
  /** Ends the answer; blocks that were written still arrive. */
  end(): void;
  /** Cuts the connection: the client sees an answer that is not whole. */
  cut(): void;
  readonly closed: boolean;
  onWritable(callback: () => void): void;
  onClosed(callback: () => void): void;
}

/**
 * The largest block. Over TLS, blocks of 16,384 bytes and more leave uWebSockets.js with broken chunk framing
 * (uNetworking/uWebSockets.js#1249), and blocks near 16 KB in a cork of their own are the fastest on plain sockets:
 * 4,050 MB/s against 60 MB/s for 1 KB writes.
 */
export const blockBytesMax = 15_000;

/** What both kinds of body have: the head that goes out with the first block, and who waits for the socket. */
abstract class BodyStream implements ByteStream {
  protected readonly res: NativeResponse;
  protected readonly ended: () => void;
  readonly #response: HttpResponse;
  #writeHead: (() => void) | undefined;
  #writable: (() => void) | undefined;

  constructor(res: NativeResponse, response: HttpResponse, writeHead: () => void, ended: () => void) {
    this.res = res;
    this.ended = ended;
    this.#response = response;
    this.#writeHead = writeHead;
    res.onWritable(() => this.resume());
  }

  abstract write(block: Uint8Array): boolean;
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

  /** Within a cork. */
  protected writeHeadOnce(): void {
    this.#writeHead?.();
    this.#writeHead = undefined;
  }
}

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

  end(): void {
    if (this.closed) return;
    this.res.cork(() => {
      this.writeHeadOnce();
      this.res.end();
    });
    this.ended();
  }

  /**
   * uWebSockets.js leaves the tail of the block that met a full socket in its own buffer, and moves it on only with the
   * next write: a stream with nothing to say would keep it for ever. An empty cork moves it.
   */
  protected override resume(): true {
    if (this.closed) return true;
    this.res.cork(() => {});
    this.tellWritable();
    return true;
  }
}

/**
 * A body of known length. uWebSockets.js takes as much of a block as the socket does and no more, so the rest of a
 * block waits here, copied.
 */
class SizedStream extends BodyStream {
  readonly #byteCount: number;
  #waiting = noBytes;
  #givenCount = 0;

  constructor(
    res: NativeResponse,
    response: HttpResponse,
    byteCount: number,
    writeHead: () => void,
    ended: () => void,
  ) {
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

  /** The last byte ends the answer. One that lacks some can only be cut. */
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

const closedStream: ByteStream = {
  closed: true,
  write: () => false,
  end: () => {},
  cut: () => {},
  onWritable: () => {},
  onClosed: (callback) => callback(),
};

type Route = { readonly kind: "plain"; readonly handler: Handler } | BodyRoute;

interface BodyRoute {
  readonly kind: "body";
  readonly admission: BodyAdmission;
  readonly bodyBytesMax: number;
}

const native = loadBinding();
const drainPollMs = 20;
/** What an operator looks at in just that moment; none of them stays open. */
const monitoringPaths: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);
const refusalLogMs = 60_000;

/** A request follows its connection within this time, but for a client that only keeps one ready. */
const lastRequestMs = 100;
const tooLarge = "body too large\n";
const tooManyPieces = "the body comes in too many small pieces; send larger chunks\n";
const tooSlow = "the body did not come in time\n";

/**
 * A whole body comes within this time. uWebSockets.js cuts one that comes at less than 16 KB/s for 10 to 12 s before.
 */
const bodyMsMax = 60_000;
const clientClosedStatus = 499;
const forwardedForHeader = "x-forwarded-for";
const noBytes = new Uint8Array(0);

export const plainText: Headers = { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" };

const statusText: Readonly<Record<number, string>> = {
  200: "OK",
  202: "Accepted",
  204: "No Content",
  206: "Partial Content",
  302: "Found",
  304: "Not Modified",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  413: "Payload Too Large",
  414: "URI Too Long",
  416: "Range Not Satisfiable",
  421: "Misdirected Request",
  422: "Unprocessable Entity",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
};

function refuseBody(response: HttpResponse, full: FullShare): void {
  const { httpStatus, message } = refusalError(full, "bytes of request bodies");
  response.reply(httpStatus, { ...plainText, "Retry-After": "1" }, `${message}\n`);
}

function answerNoRoute(request: HttpRequest, response: HttpResponse): void {
  response.reply(404, plainText, request.path.startsWith("/.api/") ? "no route\n" : "not found\n");
}

function allowed(methods: readonly string[]): string {
  return methods.includes("GET")
    ? ["GET", "HEAD", ...methods.filter((method) => method !== "GET")].join(", ")
    : methods.join(", ");
}

/** Field by field: to spread one takes longer than the rest of a small request's way to its handler. */
function withBody(
  { method, path, query, headers, remoteAddress }: RequestHead,
  params: HttpRequest["params"],
  body: Uint8Array,
): HttpRequest {
  return { method, path, query, headers, remoteAddress, params, body };
}

/** The query is read once and raw: reading one key of it would decode the rest in place. */
function snapshot(res: NativeResponse, req: NativeRequest, method: string, addresses: ClientAddresses): RequestHead {
  const headers = new Map<string, string>();
  native.eachHeader(req, (name, value) => {
    const earlier = headers.get(name);
    if (earlier === undefined) headers.set(name, value);
    // A proxy may add a header of its own behind the one that a client has sent.
    else if (name === forwardedForHeader) headers.set(name, `${earlier},${value}`);
  });
  return {
    method,
    path: req.getUrl(),
    query: req.getQuery() ?? "",
    headers,
    remoteAddress: addresses.of(Buffer.from(res.getRemoteAddressAsText()).toString(), headers.get(forwardedForHeader)),
  };
}
