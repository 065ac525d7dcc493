import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { TrawlError } from "../../src/base/errors.js";
import { firstLine, start } from "../system/processes.js";
import type { Distribution } from "./distribution.js";
import type { Pace } from "./options.js";
import type { LoadResult } from "./result.js";
import { runLoad } from "./run-load.js";

/** What the generator itself costs, measured against a server that does nothing. */
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

/** A server that answers at once, as a process of its own, which prints its address. */
export function startNullServer(): ChildProcess {
  return start(process.execPath, [fileURLToPath(new URL("null-server-main.js", import.meta.url))], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

/** Takes about `4 * seconds`. The first quarter only warms both sides. */
export async function measureOverhead(seconds: number): Promise<Overhead> {
  const server = startNullServer();
  try {
    const url = await firstLine(server);
    await load(url, { kind: "closed", concurrency: 32 }, "x", seconds);
    const small = await load(url, { kind: "closed", concurrency: 32 }, "x", seconds);
    const paced = await load(url, { kind: "open", ratePerSecond, inFlightMax: 1000 }, "x", seconds);
    const bulk = await load(url, { kind: "closed", concurrency: 1 }, `bytes:${streamBytes}`, seconds);
    const [answered, paceClass, bulkClass] = [small, paced, bulk].map(({ classes: [only] }) => only);
    if (answered === undefined || paceClass === undefined || bulkClass === undefined)
      throw new TrawlError("internal", "a run has no class");
    return {
      requestsPerSecond: answered.goodPerSecond,
      cpuMicrosecondsPerRequest: (small.generator.cpuShare * small.seconds * 1e6) / answered.whole,
      ratePerSecond,
      latency: paceClass.latency,
      megabytesPerSecond: bulkClass.bytesPerSecond / 1e6,
    };
  } finally {
    server.kill();
  }
}

async function load(url: string, pace: Pace, query: string, durationSeconds: number): Promise<LoadResult> {
  const result = await runLoad({
    url,
    pace,
    connections: 64,
    classes: [
      {
        name: "null",
        weight: 1,
        reader: { kind: "steady" },
        requests: [{ kind: "stream", query, patternType: "", version: "", display: undefined }],
      },
    ],
    limits: { durationSeconds, requestsMax: 10_000_000, timeoutSeconds: 60, drainSeconds: 10 },
  });
  const failure = result.classes[0]?.failures[0];
  if (failure !== undefined) throw new TrawlError("internal", `the null server failed: ${failure.example}`);
  return result;
}
