import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Results } from "../report/results.js";
import { firstLine, start } from "../system/processes.js";
import type { Pace } from "./options.js";
import { streamRequest } from "./request.js";
import { type ClientsResult, requireWhole, runClients } from "./run-load.js";

const ratePerSecond = 500;
const streamBytes = 150_000_000;

/** A server that answers at once, in a process of its own, which prints its address. */
export function startNullServer(): ChildProcess {
  const program = fileURLToPath(new URL("null-server-main.js", import.meta.url));
  return start(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
}

/**
 * Records the cost of the generator itself, measured against a server that does nothing. Takes about `4 * seconds`. The
 * first quarter only warms up both sides.
 */
export async function measureOverhead(seconds: number, results: Results): Promise<void> {
  const server = startNullServer();
  try {
    const url = await firstLine(server);
    const full: Pace = { kind: "closed", concurrency: 32 };
    await load(url, full, "x", seconds);
    const small = await load(url, full, "x", seconds);
    const paced = await load(url, { kind: "open", ratePerSecond, inFlightMax: 1000 }, "x", seconds);
    const bulk = await load(url, { kind: "closed", concurrency: 1 }, `bytes:${streamBytes}`, seconds);
    const cpuMicroseconds = small.generator.cpuShare * small.seconds * 1e6;
    const task = "the generator itself, against a server that does nothing";
    results.list("The generator itself");
    results.more(task, "small streams, 32 clients", "/s", small.of.goodPerSecond);
    results.less(task, "the generator's time for each", "µs of a core", cpuMicroseconds / small.of.whole);
    results.less(task, `a small stream at ${ratePerSecond} a second, p50`, "ms", paced.of.latency.p50Ms);
    results.less(task, `a small stream at ${ratePerSecond} a second, p99`, "ms", paced.of.latency.p99Ms);
    results.more(task, "a stream of 150 MB, its grammar checked", "MB/s", bulk.of.bytesPerSecond / 1e6);
  } finally {
    server.kill();
  }
}

async function load(url: string, pace: Pace, query: string, durationSeconds: number): Promise<ClientsResult> {
  const result = await runClients(url, pace, [streamRequest(query, "")], { durationSeconds, drainSeconds: 10 });
  requireWhole(result, "the null server");
  return result;
}
