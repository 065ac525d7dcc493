import { TrawlError } from "../../src/base/errors.js";
import { compileProgram } from "../system/compile.js";
import { ended, start } from "../system/processes.js";

/** One request that is sent over and over. */
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

/** What came of it. Latencies are those after the first tenth of the time. */
export interface SmallResult {
  readonly answered: number;
  readonly perSecond: number;
  /** With HTTP's own. */
  readonly bytesPerSecond: number;
  /** What the generator itself took of a core. */
  readonly cpuShare: number;
  readonly count: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
}

/**
 * A generator in C for what the other one, written for mixes and streams that are checked event by event, costs more to
 * ask than a server needs to answer. It is a process of its own.
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

  /** Throws `internal` for the first answer that is not good. */
  async measure(
    url: string,
    request: SmallRequest,
    { connections, ratePerSecond, seconds }: SmallPace,
  ): Promise<SmallResult> {
    const args = [new URL(url).port, connections, ratePerSecond ?? 0, seconds].map(String);
    const child = start(this.#program, args, { stdio: ["pipe", "pipe", "inherit"] });
    let text = "";
    child.stdout?.on("data", (bytes: Buffer) => {
      text += bytes.toString();
    });
    child.stdin?.on("error", () => {});
    child.stdin?.end(bytesOf(request));
    await ended(child, (seconds + graceSeconds) * 1000);
    return resultOf(text);
  }
}

const graceSeconds = 20;

function bytesOf({ method, path, headers, body }: SmallRequest): string {
  const length = body === "" ? {} : { "Content-Length": String(Buffer.byteLength(body)) };
  const lines = Object.entries({ Host: "localhost", ...headers, ...length }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

function resultOf(text: string): SmallResult {
  const result = JSON.parse(text === "" ? '{"failure":"nothing was printed"}' : text) as SmallResult & {
    readonly failure?: string;
  };
  if (result.failure !== undefined) throw new TrawlError("internal", `small-requests: ${result.failure}`);
  return result;
}
