import { compileProgram, ended, start } from "../system/processes.js";
import { TrawlError } from "../../src/base/errors.js";

/** A request that is sent, also repeatedly. */
export interface SmallRequest {
  readonly method: "GET" | "POST";
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How often it is sent, and by how many connections that each carry one at a time. */
export interface SmallPace {
  readonly connections: number;
  /** Latency counts from when a request was due; undefined lets each connection ask again when it has its answer. */
  readonly ratePerSecond: number | undefined;
  readonly seconds: number;
}

/** The result. Latencies are those after the first tenth of the time. */
export interface SmallResult {
  readonly answered: number;
  readonly perSecond: number;
  /** Including those of HTTP. */
  readonly bytesPerSecond: number;
  /** CPU use of the generator itself, as a share of a core. */
  readonly cpuShare: number;
  readonly count: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
}

/**
 * A generator in C, for requests that a server answers in less time than the other generator, which checks streams event
 * by event, needs to send them. It runs in a process of its own.
 *
 * It is ours because no generator of Debian has both speeds: wrk and hey only ask again when they are answered, and
 * h2load counts latency from when a request was sent. Of a server that stalls for 300 of every 500 ms, h2load at 100
 * requests a second reports a p90 of 0.3 ms where this one reports more than 150.
 */
export class SmallRequests {
  readonly #program: string;

  private constructor(program: string) {
    this.#program = program;
  }

  /** Throws `not-found` without a C compiler. */
  static async compile(workFolder: string): Promise<SmallRequests> {
    return new SmallRequests(await compileProgram("native-bench/load/small-requests.c", workFolder));
  }

  /** Sends the requests in turn. Throws `internal` for the first answer that is not good. */
  async measure(
    url: string,
    requests: readonly SmallRequest[],
    { connections, ratePerSecond, seconds }: SmallPace,
  ): Promise<SmallResult> {
    const args = [new URL(url).port, connections, ratePerSecond ?? 0, seconds].map(String);
    const child = start(this.#program, args, { stdio: ["pipe", "pipe", "inherit"] });
    let text = "";
    child.stdout?.on("data", (bytes: Buffer) => {
      text += bytes.toString();
    });
    child.stdin?.on("error", () => {});
    child.stdin?.end(requests.map((request) => `${encodeRequest(request)}\0`).join(""));
    await ended(child, (seconds + graceSeconds) * 1000);
    return parseResult(text);
  }
}

/** For answers that began in time; the program itself fails when the server sends nothing for 10 s. */
const graceSeconds = 60;

function encodeRequest({ method, path, headers, body }: SmallRequest): string {
  const length = body === "" ? {} : { "Content-Length": String(Buffer.byteLength(body)) };
  const lines = Object.entries({ Host: "localhost", ...headers, ...length }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

function parseResult(text: string): SmallResult {
  const result = JSON.parse(text === "" ? '{"failure":"nothing was printed"}' : text) as SmallResult & {
    readonly failure?: string;
  };
  if (result.failure !== undefined) throw new TrawlError("internal", `small-requests: ${result.failure}`);
  return result;
}
