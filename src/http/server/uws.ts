import { monotonicMs, sleep } from "../../base/deadline.js";
import { errorMessage } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import { clientNetwork } from "../../model/client.js";
import { readBody, tooLarge } from "./body-reader.js";
import { ClientAddresses } from "../access/client-address.js";
import type { BodyAdmission, Handler, Method, RequestCheck, RequestObserver } from "./handler.js";
import { plainText, type Headers } from "./headers.js";
import { Listener } from "./listener.js";
import { ByteBudget, RequestBody } from "./request-body.js";
import { copyRequest, withBody, type HttpRequest, type RequestHead } from "./request.js";
import { HttpResponse } from "./response.js";
import { Router } from "./router.js";
import { loadBinding, type NativeApp, type NativeRequest, type NativeResponse } from "./uws-binding.js";

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
  readonly #listener: Listener;
  readonly #responses = new Set<HttpResponse>();
  #fallback: Handler = answerNoRoute;
  #headersOf: (request: RequestHead) => Headers = () => ({});
  #check: RequestCheck = () => undefined;
  #budget = new ByteBudget(Infinity, Infinity);
  #openMax = Infinity;
  #refusedCount = 0;
  #refusalLoggedMs = -Infinity;
  #addresses = new ClientAddresses([]);
  #stopped = false;

  constructor(log: Log, observe: RequestObserver) {
    this.#log = log;
    this.#observe = observe;
    this.#app = native.App();
    this.#listener = new Listener(native, this.#app, log);
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
    const bound = this.#listener.open(host, port, given);
    tuneListener(bound);
    return bound;
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
    this.#listener.close();
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
      const request = copyRequest(native, res, req, method, this.#addresses);
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
      `requests are refused: ${this.#openMax} are open, the maximum that the limit on file descriptors allows (LimitNOFILE)`,
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
    readBody(res, body, response, () =>
      this.#run(receiver.handler, withBody(request, request.params, body.bytes), response),
    );
  }

  #fail(response: HttpResponse, error: unknown): void {
    this.#log.error({ err: error }, `request failed: ${errorMessage(error)}`);
    response.fail();
  }
}

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
const noBytes = new Uint8Array(0);

function answerNoRoute(request: HttpRequest, response: HttpResponse): void {
  response.reply(404, plainText, request.path.startsWith("/.api/") ? "no route\n" : "not found\n");
}

function allowed(methods: readonly string[]): string {
  return methods.includes("GET")
    ? ["GET", "HEAD", ...methods.filter((method) => method !== "GET")].join(", ")
    : methods.join(", ");
}
