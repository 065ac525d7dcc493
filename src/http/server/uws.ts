import { callAfter, monotonicMs, sleep } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import { clientNetwork } from "../../model/client.js";
import { originFields } from "../../model/request-origin.js";
import { ClientAddresses } from "./client-address.js";
import type {
  BodyAdmission,
  BodySink,
  Handler,
  Method,
  RequestCheck,
  RequestObserver,
  StreamAdmission,
} from "./handler.js";
import { type Headers, plainText } from "./headers.js";
import { acceptsProblem } from "./problem.js";
import { ByteBudget, RequestBody } from "./request-body.js";
import { copyRequest, type HttpRequest, type RequestHead, withBody } from "./request.js";
import { HttpResponse } from "./response.js";
import { Router } from "./router.js";
import {
  type ListenSocket,
  loadBinding,
  type NativeApp,
  type NativeModule,
  type NativeRequest,
  type NativeResponse,
  readAllForms,
} from "./uws-binding.js";
import { type FullShare, refusalError } from "../../base/fair-semaphore.js";
import { replaceListener } from "../../native/socket/socket.js";

/**
 * The HTTP server and, with uws-binding.ts, the only file that uses uWebSockets.js.
 *
 * That library crashes the process if a handler throws or returns without a response, or if a response is used after
 * its client has disconnected, and a request that is read after the first `await` contains another request's bytes.
 * Therefore handlers get a copy of the request and an `HttpResponse` that does nothing once it is closed, and
 * exceptions become a plain 500 and a log line.
 */
export class HttpServer {
  readonly #log: Log;
  readonly #observe: RequestObserver;
  readonly #router = new Router<Route>();
  readonly #app: NativeApp;
  readonly #listener: Listener;
  /** Their number only: a `Set` of them would keep them in memory, for the reason that `LiveMap` gives. */
  #openCount = 0;
  #fallback: Handler = answerNoRoute;
  #fallbackName = noRoute;
  #headersOf: (request: RequestHead) => Headers = () => ({});
  #check: RequestCheck = () => undefined;
  #budget = new ByteBudget(Infinity, Infinity);
  #openMax = Infinity;
  #refusedCount = 0;
  #refusalLoggedMs = -Infinity;
  #addresses = new ClientAddresses([]);
  #singleHeader = "";
  #stopped = false;

  constructor(log: Log, observe: RequestObserver) {
    this.#log = log;
    this.#observe = observe;
    this.#app = native.App();
    if (httpSecret === undefined) {
      log.warn(
        "requests in HTTP/1.0, with a target in absolute form or after a blank line are refused: the addon is not built, or the binary of uWebSockets.js is not the one that it knows",
      );
    }
    this.#listener = new Listener(native, this.#app, log);
    this.#app.any("/*", (res, req) => this.#accept(res, req));
  }

  /**
   * Sets the headers of every response, including those without a route; a handler's headers of the same name take
   * precedence.
   */
  setHeaders(headersOf: (request: RequestHead) => Headers): void {
    this.#headersOf = headersOf;
  }

  /** Sets the check that may refuse a request before it is processed, whatever its path and method. */
  setCheck(check: RequestCheck): void {
    this.#check = check;
  }

  /** Sets the limits on the bodies of all requests, and of one client. */
  setBodyBudget(budget: ByteBudget): void {
    this.#budget = budget;
  }

  /**
   * Sets the limit on open responses; a further request is refused with 503, and its connection is closed. Monitoring
   * requests are still answered.
   */
  setOpenMax(count: number): void {
    this.#openMax = count;
  }

  /** Sets the proxies that are trusted to report their clients' addresses. */
  /** Refuses requests in which this header occurs twice: a proxy and its client may mean different users. */
  setSingleHeader(name: string): void {
    this.#singleHeader = name.toLowerCase();
  }

  setClientAddresses(addresses: ClientAddresses): void {
    this.#addresses = addresses;
  }

  /** Adds a route without a body; see `Router` for patterns. A GET route also handles HEAD, without the body. */
  route(method: Method, pattern: string, handler: Handler): void {
    this.#router.add(method, pattern, { kind: "plain", handler });
  }

  /**
   * Adds a route whose handler is called with the complete body of at most `bodyBytesMax`; a longer one is refused with
   * 413.
   */
  routeWithBody(method: Method, pattern: string, bodyBytesMax: number, handler: Handler): void {
    this.routeWithAdmission(method, pattern, bodyBytesMax, ({ remoteAddress }) => ({
      client: clientNetwork(remoteAddress),
      handler,
    }));
  }

  /**
   * Like `routeWithBody`, for a body that not every client may send: `admission` is called before any of it is read.
   */
  routeWithAdmission(method: Method, pattern: string, bodyBytesMax: number, admission: BodyAdmission): void {
    this.#router.add(method, pattern, { kind: "body", admission, bodyBytesMax });
  }

  /** Adds a route that receives its body as it arrives, whose length its sink limits. */
  routeWithStream(method: Method, pattern: string, admission: StreamAdmission): void {
    this.#router.add(method, pattern, { kind: "stream", admission });
  }

  /** Method and pattern of each route, in the order in which they were added. */
  routes(): readonly { readonly method: string; readonly pattern: string }[] {
    return this.#router.patterns();
  }

  hasRoute(method: string, pattern: string): boolean {
    return this.routes().some((route) => route.method === method && route.pattern === pattern);
  }

  /**
   * Sets the handler of requests that match no route, whatever their method; without it they get 404. They are observed
   * under this name.
   */
  otherwise(handler: Handler, name = noRoute): void {
    this.#fallback = handler;
    this.#fallbackName = name;
  }

  /**
   * Opens the port, 0 for a free one, and returns its number. `tuneListener` gets the number of the listening port
   * before a client does, to set socket options that accepted sockets inherit.
   *
   * The port is opened exclusively: otherwise a second daemon would share it silently.
   *
   * `given` is the descriptor of a socket that is already listening, on which clients may be waiting; the server takes
   * ownership of it. uWebSockets.js cannot use an existing socket, so it opens a free port, whose socket is replaced
   * before the event loop polls it.
   */
  listen(host: string, port: number, tuneListener: (port: number) => void, given?: number): number {
    const bound = this.#listener.open(host, port, given);
    tuneListener(bound);
    return bound;
  }

  /** Requests without a complete response. */
  get openResponses(): number {
    return this.#openCount;
  }

  /**
   * Accepts no more connections, waits at most `graceMs` until the open responses have ended, and disconnects the rest.
   * A connection accepted just before may still send its request. Each connection is closed after its next response.
   * Idempotent.
   */
  async stop(graceMs: number): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#listener.close();
    const startMs = monotonicMs();
    const isOver = (): boolean =>
      monotonicMs() >= startMs + (this.#openCount > 0 ? graceMs : Math.min(graceMs, lastRequestMs));
    while (!isOver()) await sleep(drainPollMs);
    this.#app.close();
  }

  /** Runs in a callback of uWebSockets.js: nothing may be thrown from here. */
  #accept(res: NativeResponse, req: NativeRequest): void {
    const method = req.getCaseSensitiveMethod();
    const startMs = monotonicMs();
    const served: Served = { route: noRoute };
    const response = new HttpResponse(
      res,
      method === "HEAD",
      (status) => {
        this.#openCount--;
        this.#observe({ method, status, route: served.route, durationMs: monotonicMs() - startMs });
      },
      () => this.#stopped,
    );
    this.#openCount++;
    try {
      const { request, isHttp10, fault } = copyRequest(
        res,
        req,
        method,
        this.#addresses,
        httpSecret,
        this.#singleHeader,
      );
      response.origin = request;
      if (acceptsProblem(request.headers.get("accept"))) response.sendProblems();
      if (fault !== undefined) return refuseFraming(response, fault);
      if (isHttp10) response.avoidChunks();
      if (request.headers.get("connection")?.toLowerCase() === "close") response.announceClose();
      else response.offerKeepAlive();
      if (this.#openCount > this.#openMax && !monitoringPaths.has(request.path)) return this.#refuse(response);
      const refusal = this.#check(request);
      if (refusal !== undefined) return response.reply(refusal.status, plainText, `${refusal.message}\n`);
      response.setHeaders(this.#headersOf(request));
      this.#dispatch(res, request, response, served);
    } catch (error) {
      this.#fail(response, error);
    }
  }

  /** Logs the number of refusals once a minute. */
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
      `requests are refused: ${this.#openMax} are open, the maximum that the limit on file descriptors allows (LimitNOFILE)`,
    );
    this.#refusedCount = 0;
    this.#refusalLoggedMs = monotonicMs();
  }

  #dispatch(res: NativeResponse, request: RequestHead, response: HttpResponse, served: Served): void {
    // The preflight that a browser sends before a request from a page of another origin: the headers are the response.
    if (request.method === "OPTIONS" && request.path.startsWith("/.api/")) return response.reply(200, {}, "");
    if (request.method === "OPTIONS" && request.path === serverPath)
      return response.reply(200, { Allow: allowed(this.#router.methods()) }, "");
    const found = this.#router.find(request.method === "HEAD" ? "GET" : request.method, request.path);
    switch (found.kind) {
      case "none":
        served.route = this.#fallbackName;
        return this.#run(this.#fallback, withBody(request, {}, noBytes), response);
      case "other-method":
        return response.reply(405, { ...plainText, Allow: allowed(found.methods) }, "method not allowed\n");
      case "route": {
        const { route, params } = found;
        served.route = found.pattern;
        if (route.kind === "plain") return this.#run(route.handler, withBody(request, params, noBytes), response);
        if (route.kind === "stream") return this.#stream(res, withBody(request, params, noBytes), route, response);
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
   * Requests refused here or by the admission are answered immediately: uWebSockets.js discards the rest of the body,
   * so the client receives the response.
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
    readBody(res, body, response, () =>
      this.#run(receiver.handler, withBody(request, request.params, body.bytes), response),
    );
  }

  /** Like `#receive`, without the body in memory: while a chunk is being written, the socket is not read. */
  #stream(res: NativeResponse, request: HttpRequest, { admission }: StreamRoute, response: HttpResponse): void {
    const sink = admission(request, response);
    if (sink === undefined || response.closed) return;
    const fail = (error: unknown): void => this.#fail(response, error);
    response.onClosed(() => void sink.abort().catch(fail));
    if (Number(request.headers.get("content-length")) > sink.bytesMax)
      return response.reply(413, plainText, tooManyBytes(sink.bytesMax));
    streamBody(res, sink, response, fail);
  }

  #fail(response: HttpResponse, error: unknown): void {
    this.#log.error({ ...originFields(response.origin), err: error }, `request failed: ${errorMessage(error)}`);
    response.fail();
  }
}

/** How a request is observed. */
interface Served {
  route: string;
}

type Route = { readonly kind: "plain"; readonly handler: Handler } | BodyRoute | StreamRoute;

interface StreamRoute {
  readonly kind: "stream";
  readonly admission: StreamAdmission;
}

interface BodyRoute {
  readonly kind: "body";
  readonly admission: BodyAdmission;
  readonly bodyBytesMax: number;
}

const native = loadBinding();
const httpSecret = readAllForms();
const drainPollMs = 20;
/** That of `OPTIONS *`, which asks what the server as a whole can do (RFC 9110, 9.3.7). */
const serverPath = "/*";

/** Requests that operators need in just this situation; none of them stays open. */
const monitoringPaths: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);
const refusalLogMs = 60_000;

/** A request follows its connection within this time, unless a client only keeps a connection ready. */
const lastRequestMs = 100;
const noBytes = new Uint8Array(0);
const noRoute = "none";

/**
 * Bytes that arrived with such a request may be taken for another one. Because the response is still open, uWebSockets.js
 * then disconnects the client instead of handling it.
 */
function refuseFraming(response: HttpResponse, fault: string): void {
  setImmediate(() => response.reply(400, { ...plainText, Connection: "close" }, `bad request: ${fault}\n`));
}

function answerNoRoute(request: HttpRequest, response: HttpResponse): void {
  response.reply(404, plainText, request.path.startsWith("/.api/") ? "no route\n" : "not found\n");
}

function allowed(methods: readonly string[]): string {
  return methods.includes("GET")
    ? ["GET", "HEAD", ...methods.filter((method) => method !== "GET")].join(", ")
    : methods.join(", ");
}

const tooLarge = "body too large\n";
const tooManyPieces = "the body arrives in too many small pieces; send larger chunks\n";
const tooSlow = "the body did not arrive in time\n";

/** Time limit for a whole body. uWebSockets.js disconnects earlier if less than 16 KB/s arrive for 10 to 12 s. */
const bodyMsMax = 60_000;

/**
 * Reads a body and calls `done` when it is complete; errors are answered here. Each chunk is copied, because its memory
 * belongs to uWebSockets.js again when the callback returns.
 */
function readBody(res: NativeResponse, body: RequestBody, response: HttpResponse, done: () => void): void {
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

/** Time limit for a body that is not held in memory: 100 MB at 170 KB/s. */
const streamedMsMax = 600_000;

function tooManyBytes(bytesMax: number): string {
  return `the body has more than ${bytesMax} bytes\n`;
}

/** Passes a body to a sink, and reads the socket only as fast as the sink takes it. */
function streamBody(res: NativeResponse, sink: BodySink, response: HttpResponse, fail: (error: unknown) => void): void {
  const cut = callAfter(streamedMsMax, () => response.reply(408, plainText, tooSlow));
  response.onClosed(() => cut.cancel());
  let byteCount = 0;
  let written = Promise.resolve();
  res.onData((chunk, isLast) => {
    if (response.closed) return;
    byteCount += chunk.byteLength;
    if (byteCount > sink.bytesMax) return response.reply(413, plainText, tooManyBytes(sink.bytesMax));
    // The memory of the chunk belongs to uWebSockets.js again when this returns.
    const bytes = Buffer.from(new Uint8Array(chunk));
    if (bytes.length > 0) {
      res.pause();
      written = written.then(async () => {
        if (response.closed) return;
        await sink.write(bytes);
        if (!response.closed) res.resume();
      });
    }
    if (isLast) {
      cut.cancel();
      written = written.then(() => (response.closed ? undefined : sink.end()));
    }
    written.catch(fail);
  });
}

function refuseBody(response: HttpResponse, full: FullShare): void {
  const { httpStatus, message } = refusalError(full, "bytes of request bodies");
  response.reply(httpStatus, { ...plainText, "Retry-After": "1" }, `${message}\n`);
}

/** The port on which the server listens. */
class Listener {
  readonly #native: NativeModule;
  readonly #app: NativeApp;
  readonly #log: Log;
  #socket: ListenSocket | undefined;

  constructor(native: NativeModule, app: NativeApp, log: Log) {
    this.#native = native;
    this.#app = app;
    this.#log = log;
  }

  /** Opens the port, or uses the socket `given`, and returns its number. See `HttpServer.listen`. */
  open(host: string, port: number, given: number | undefined): number {
    return (given === undefined ? undefined : this.#take(host, given)) ?? this.#open(host, port);
  }

  #take(host: string, given: number): number | undefined {
    const taken = replaceListener(this.#open(host, 0), given);
    if (taken !== undefined) return taken;
    this.#log.error("the socket passed by the service manager is not listening; opening the port again");
    this.close();
    return undefined;
  }

  #open(host: string, port: number): number {
    let bound: number | undefined;
    this.#app.listen(host, port, this.#native.LIBUS_LISTEN_EXCLUSIVE_PORT, (listenSocket) => {
      if (!listenSocket) return;
      this.#socket = listenSocket;
      bound = this.#native.us_socket_local_port(listenSocket);
    });
    if (bound === undefined) {
      throw new TrawlError(
        "conflict",
        `cannot listen on ${host}:${port}: the address is in use or does not belong to this host`,
      );
    }
    return bound;
  }

  close(): void {
    if (this.#socket) this.#native.us_listen_socket_close(this.#socket);
    this.#socket = undefined;
  }
}
