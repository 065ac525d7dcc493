import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { TrawlError } from "../../src/base/errors.js";
import { firstLine, start } from "../system/processes.js";
import type { Distribution } from "./distribution.js";
import type { Pace } from "./pace.js";
import type { ClassResult, LoadResult } from "./result.js";
import { runLoad } from "./run-load.js";

/** The cost of the generator itself, measured against a server that does nothing. */
export interface Overhead {
  /** 32 clients that ask for a stream of one event as fast as they can. */
  readonly requestsPerSecond: number;
  readonly cpuMicrosecondsPerRequest: number;
  /** Of the same requests at a constant rate: what the clock, the client and the loopback add to each latency. */
  readonly ratePerSecond: number;
  readonly latency: Distribution;
  /** Of a stream of 150 MB whose grammar is checked. */
  readonly megabytesPerSecond: number;
}

const ratePerSecond = 500;
const streamBytes = 150_000_000;

/** A server that answers at once, in a process of its own, which prints its address. */
export function startNullServer(): ChildProcess {
  const program = fileURLToPath(new URL("null-server-main.js", import.meta.url));
  return start(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
}

/** Takes about `4 * seconds`. The first quarter only warms up both sides. */
export async function measureOverhead(seconds: number): Promise<Overhead> {
  const server = startNullServer();
  try {
    const url = await firstLine(server);
    const full: Pace = { kind: "closed", concurrency: 32 };
    await load(url, full, "x", seconds);
    const small = await load(url, full, "x", seconds);
    const paced = await load(url, { kind: "open", ratePerSecond, inFlightMax: 1000 }, "x", seconds);
    const bulk = await load(url, { kind: "closed", concurrency: 1 }, `bytes:${streamBytes}`, seconds);
    const { cpuShare } = small.result.generator;
    return {
      requestsPerSecond: small.of.goodPerSecond,
      cpuMicrosecondsPerRequest: (cpuShare * small.result.seconds * 1e6) / small.of.whole,
      ratePerSecond,
      latency: paced.of.latency,
      megabytesPerSecond: bulk.of.bytesPerSecond / 1e6,
    };
  } finally {
    server.kill();
  }
}

async function load(
  url: string,
  pace: Pace,
  query: string,
  durationSeconds: number,
): Promise<{ readonly result: LoadResult; readonly of: ClassResult }> {
  const request = { kind: "stream", query, patternType: "", version: "", display: undefined } as const;
  const result = await runLoad({
    url,
    pace,
    connections: 64,
    classes: [{ name: "null", weight: 1, reader: { kind: "steady" }, requests: [request] }],
    limits: { durationSeconds, requestsMax: 10_000_000, timeoutSeconds: 60, drainSeconds: 10 },
  });
  const [of] = result.classes;
  const failure = of?.failures[0];
  if (of === undefined || failure !== undefined)
    throw new TrawlError("internal", `the null server failed: ${failure?.example ?? "there is no result"}`);
  return { result, of };
}
