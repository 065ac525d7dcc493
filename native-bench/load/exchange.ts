import { Client, type Dispatcher } from "undici";
import { type AnswerCheck, connectionFailure, type Failure, statusFailure } from "./answer-check.js";
import type { Reader } from "./options.js";
import type { Exchangeable } from "./request.js";
import { callAfter, monotonicMs, type PendingCall } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";

/** How an exchange ended. */
export type Outcome =
  | { readonly kind: "whole" }
  /** The client left, as intended. */
  | { readonly kind: "left" }
  | { readonly kind: "failed"; readonly failure: Failure };

/** Is told about the progress of an exchange. */
export interface ExchangeObserver {
  /** This many more bytes of the answer's body have arrived. */
  received(byteCount: number): void;
  /** The first matches have begun to arrive. At most once. */
  firstMatches(): void;
  /** Once, as soon as the outcome is certain. */
  ended(outcome: Outcome): void;
  /** Once, with `ended` or after it: the connection is free again. */
  released(): void;
}

/** One request and its answer on one connection, as an undici dispatch handler. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #request: Exchangeable;
  readonly #check: AnswerCheck;
  readonly #reader: Reader;
  readonly #observer: ExchangeObserver;
  readonly #timeout: PendingCall;
  #controller: Dispatcher.DispatchController | undefined;
  #resume: PendingCall | undefined;
  #status = 0;
  #startedMs = 0;
  #byteCount = 0;
  #hasMatches = false;
  #hasPaused = false;
  #hasEnded = false;
  /** The beginning of an answer with another status than 200, for the message. */
  #complaint = "";

  constructor(request: Exchangeable, reader: Reader, timeoutMs: number, observer: ExchangeObserver) {
    this.#request = request;
    this.#check = request.newCheck();
    this.#reader = reader;
    this.#observer = observer;
    const failure: Failure = { kind: "timeout", message: `no whole answer in ${timeoutMs / 1000} s` };
    this.#timeout = callAfter(timeoutMs, () => this.fail(failure));
  }

  /** Sends the request. `more` are headers that every request carries. */
  start(client: Client, basePath: string, more: Readonly<Record<string, string>>): void {
    const { method, path, headers, body } = this.#request;
    client.dispatch({ method, path: basePath + path, headers: { ...headers, ...more }, body }, this);
  }

  /** Ends it with a failure and closes its connection. */
  fail(failure: Failure): void {
    this.#end({ kind: "failed", failure });
    this.#abort();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#startedMs = monotonicMs();
    if (this.#hasEnded) this.#abort();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.#status = status;
    const contentType = String(headers["content-type"] ?? "");
    if (status !== 200 || contentType.startsWith(this.#request.contentType)) return;
    const actual = contentType || "of no type";
    this.fail({ kind: "grammar", message: `the answer is ${actual}, not ${this.#request.contentType}` });
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#hasEnded) return;
    this.#byteCount += bytes.length;
    this.#observer.received(bytes.length);
    if (this.#status !== 200) {
      if (this.#complaint.length < complaintLength) this.#complaint += bytes.toString("utf8", 0, complaintLength);
      return;
    }
    const failure = this.#check.push(bytes);
    if (failure !== undefined) return this.fail(failure);
    if (this.#check.hasMatches && !this.#hasMatches) {
      this.#hasMatches = true;
      this.#observer.firstMatches();
    }
    this.#behave(controller);
  }

  onResponseEnd(): void {
    const failure = this.#status === 200 ? this.#check.end() : statusFailure(this.#status, this.#complaint);
    this.#end(failure === undefined ? { kind: "whole" } : { kind: "failed", failure });
    this.#release();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end({ kind: "failed", failure: connectionFailure(error) });
    this.#release();
  }

  #behave(controller: Dispatcher.DispatchController): void {
    const reader = this.#reader;
    switch (reader.kind) {
      case "steady":
        return;
      case "leaving":
        if (!this.#check.hasBegun) return;
        this.#end({ kind: "left" });
        return this.#abort();
      case "slow": {
        const aheadMs = (this.#byteCount / reader.bytesPerSecond) * 1000 - (monotonicMs() - this.#startedMs);
        if (aheadMs > slowStepMs) this.#pause(controller, aheadMs);
        return;
      }
      case "paused":
        if (this.#hasPaused || !this.#check.hasBegun) return;
        this.#hasPaused = true;
        return this.#pause(controller, reader.pauseMs);
    }
  }

  #pause(controller: Dispatcher.DispatchController, pauseMs: number): void {
    controller.pause();
    this.#resume = callAfter(pauseMs, () => controller.resume());
  }

  #abort(): void {
    this.#controller?.abort(new TrawlError("cancelled", "the client left"));
  }

  #end(outcome: Outcome): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#observer.ended(outcome);
  }

  #release(): void {
    this.#timeout.cancel();
    this.#resume?.cancel();
    this.#observer.released();
  }
}

const complaintLength = 160;

/** A slow reader stops when it is this far ahead. Each stop makes undici copy what arrives meanwhile. */
const slowStepMs = 250;

/**
 * Up to `count` connections to one server, each of which carries one request at a time. They are opened on demand, and
 * the last one used is used next, so a light load stays on a few of them. undici's own pool scans all of its connections
 * for each request, which costs more than the request when there are thousands.
 */
export class Connections {
  readonly #origin: string;
  readonly #count: number;
  readonly #all: Client[] = [];
  readonly #idle: Client[] = [];

  constructor(origin: string, count: number) {
    this.#origin = origin;
    this.#count = count;
  }

  /** An idle connection, the caller's until `release`; undefined when all are busy. */
  take(): Client | undefined {
    const idle = this.#idle.pop();
    if (idle !== undefined || this.#all.length === this.#count) return idle;
    const client = new Client(this.#origin, {
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      // Only the server closes a connection that a client keeps during a pause.
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      connect: { timeout: connectTimeoutMs },
    });
    this.#all.push(client);
    return client;
  }

  release(client: Client): void {
    this.#idle.push(client);
  }

  /** Closes all of them; requests in flight fail. */
  async close(): Promise<void> {
    await Promise.all(this.#all.map((client) => client.destroy()));
  }
}

const connectTimeoutMs = 10_000;
const keepAliveMs = 3_600_000;
