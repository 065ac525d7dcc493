import { compileProgram, ended, start } from "../system/processes.js";
import { TrawlError } from "../../src/base/errors.js";

/** The most connections and requests that the program has room for, and the most that are counted one by one. */
export const generatorBounds = { connections: 1024, requests: 100_000 } as const;

/** A request that is sent, also repeatedly. */
export interface HttpRequest {
  readonly method: "GET" | "POST";
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How requests are sent. */
export interface RequestPace {
  /** Each carries one request at a time. */
  readonly connections: number;
  /** At most. */
  readonly seconds: number;
  /** Latency counts from when a request was due; undefined lets each connection ask again when it has its answer. */
  readonly ratePerSecond?: number | undefined;
  /** How long a connection that has its answer waits; no part of the latency. */
  readonly pauseSeconds?: number;
  /** Ends after so many requests, of which each counts; without it, those of the first tenth of the time do not. */
  readonly count?: number;
  /** Whether answers to the same request must have the same length, as far as their head tells one. */
  readonly isSame?: boolean;
}

/** The result. */
export interface Latencies {
  readonly answered: number;
  readonly perSecond: number;
  /** Including those of HTTP. */
  readonly bytesPerSecond: number;
  /** Of the generator itself, as a share of a core. */
  readonly cpuShare: number;
  /** How many latencies the others are of. */
  readonly count: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  /** With a count: the latencies in the order in which the requests were sent, 0 for one without a good answer. */
  readonly eachMs: readonly number[];
  /** Requests without a good answer, by kind. */
  readonly failures: Readonly<Partial<Record<FailureKind, number>>>;
  /** The first one that was not 200; 0 for none. */
  readonly firstStatus: number;
}

/** Every way in which a request fails. Each failure is counted, and has no latency. */
export const failureTable = {
  denied: "HTTP 401 or 403",
  overloaded: "HTTP 503",
  status: "another HTTP status than 200",
  "other-length": "an answer of another length than the first to the same request",
  "no-done": "a stream that ended without `done`",
  reset: "the server closed the connection",
  unfinished: "no whole answer, and no byte for 10 s",
} as const;

export type FailureKind = keyof typeof failureTable;

/**
 * Puts a load on a server: a program in C, in a process of its own, that takes a few microseconds for a request. Only the
 * status of an answer and its end are checked; a suite reads what the answers hold beforehand or afterwards.
 *
 * It is ours because no generator of Debian has both speeds: wrk and hey only ask again when they are answered, and
 * h2load counts latency from when a request was sent. Of a server that stalls for 300 of every 500 ms, h2load at 100
 * requests a second reports a p90 of 0.3 ms where this one reports more than 150.
 */
export class Generator {
  readonly #program: string;

  private constructor(program: string) {
    this.#program = program;
  }

  /** Throws `not-found` without a C compiler. */
  static async compile(workFolder: string): Promise<Generator> {
    return new Generator(await compileProgram("native-bench/load/generator.c", workFolder));
  }

  /** Sends the requests in turn. Throws `internal` unless each answer is good: other times would be those of something else. */
  async measure(url: string, requests: readonly HttpRequest[], pace: RequestPace): Promise<Latencies> {
    const result = await this.run(url, requests, pace);
    const failed = describeFailures(result);
    if (failed === "" && result.answered > 0) return result;
    throw new TrawlError("internal", `${url}: ${failed === "" ? "no answer" : failed}`);
  }

  /** The same, whatever the server does; throws `internal` where it cannot be reached. */
  async run(url: string, requests: readonly HttpRequest[], pace: RequestPace): Promise<Latencies> {
    const { connections, ratePerSecond = 0, seconds, pauseSeconds = 0, count = 0, isSame = false } = pace;
    const { hostname, port } = new URL(url);
    const numbers = [connections, ratePerSecond, seconds, pauseSeconds, count, Number(isSame)];
    // getaddrinfo takes an IPv6 address without brackets.
    const args = [hostname.replace(/^\[|\]$/g, ""), port === "" ? "80" : port, ...numbers.map(String)];
    const child = start(this.#program, args, { stdio: ["pipe", "pipe", "inherit"] });
    let text = "";
    child.stdout?.on("data", (bytes: Buffer) => {
      text += bytes.toString();
    });
    child.stdin?.on("error", () => {});
    child.stdin?.end(requests.map((request) => `${encodeRequest(request)}\0`).join(""));
    await ended(child, (seconds + graceSeconds) * 1000);
    const result = JSON.parse(text === "" ? '{"failure":"nothing was printed"}' : text) as Latencies & {
      readonly failure?: string;
    };
    if (result.failure !== undefined) throw new TrawlError("internal", `${url}: ${result.failure}`);
    return result;
  }
}

/** `3 overloaded, 1 reset (the first status is 503)`; "" for none. */
function describeFailures({ failures, firstStatus }: Latencies): string {
  const counts = Object.entries(failures).map(([kind, count]) => `${count} ${kind}`);
  return `${counts.join(", ")}${firstStatus === 0 ? "" : ` (the first status is ${firstStatus})`}`;
}

/** For answers that began in time; the program itself ends when the server sends nothing for 10 s. */
const graceSeconds = 60;

function encodeRequest({ method, path, headers, body }: HttpRequest): string {
  const length = body === "" ? {} : { "Content-Length": String(Buffer.byteLength(body)) };
  const lines = Object.entries({ Host: "localhost", ...headers, ...length }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

export function getRequest(path: string): HttpRequest {
  return { method: "GET", path, headers: {}, body: "" };
}

export function postJson(path: string, body: object, headers: Readonly<Record<string, string>> = {}): HttpRequest {
  const json = { "Content-Type": "application/json", Accept: "application/json" };
  return { method: "POST", path, headers: { ...json, ...headers }, body: JSON.stringify(body) };
}
