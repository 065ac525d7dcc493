/** Clients of a search job's export that read a byte now and then, or slowly but steadily, on real sockets. */
import { appendFileSync, readdirSync, readlinkSync, truncateSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { monotonicMs, sleep } from "../../../src/base/deadline.js";
import { silentLog } from "../../../src/base/log.js";
import { exportHandler, exportPaths, type ExportServices } from "../../../src/http/routes/export-route.js";
import { HttpServer } from "../../../src/http/server/uws.js";
import { anonymous } from "../../../src/model/viewer.js";
import { limitUnsentBytes } from "../../../src/native/socket/socket.js";
import { until, within } from "../../support/waiting.js";

/** More than the buffers of both sockets, so that the server has to wait. */
const fileBytes = 64_000_000;
const end = "the end\n";
const slowCount = 8;
const path = "/.api/search/export/1.jsonl";

/** The minute that the daemon waits for a client takes half a second here, and the second between two bytes 8 ms. */
const stallMs = 500;
const byteMs = 8;

interface Site {
  readonly port: number;
  readonly file: string;
  /** How long each response took that the server has closed. */
  readonly closedAfterMs: number[];
}

/** Serves one finished job whose results are zeros, except for their end. */
function serve(t: Test): Site {
  const file = join(t.testdir(), "results.jsonl");
  writeFileSync(file, "");
  truncateSync(file, fileBytes - end.length);
  appendFileSync(file, end);
  const jobs = {
    get: () => ({ id: 1, startedAt: 1, resultBytes: fileBytes, logBytes: 0 }),
    files: () => ({ results: file, log: file }),
    requireReadable: () => Promise.resolve(),
  } as unknown as ExportServices["jobs"];
  const [[pattern, form, example]] = exportPaths;
  const handler = exportHandler({ jobs, log: silentLog(), stallMs }, form, example);
  const server = new HttpServer(silentLog(), () => {});
  const closedAfterMs: number[] = [];
  server.route("GET", pattern, (request, response) => {
    const startedMs = monotonicMs();
    response.onClosed(() => closedAfterMs.push(monotonicMs() - startedMs));
    return handler(request, response, anonymous);
  });
  const port = server.listen("127.0.0.1", 0, (bound) => t.ok(limitUnsentBytes(bound, 131_072)));
  t.teardown(() => server.stop(0));
  return { port, file, closedAfterMs };
}

/** Asks for the export, and takes one byte each `byteMs`. */
function trickle(t: Test, { port }: Site, header: string): void {
  const socket = connect({ port, host: "127.0.0.1" }).pause();
  socket.on("error", () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`);
  const reading = setInterval(() => socket.read(1), byteMs);
  t.teardown(() => {
    clearInterval(reading);
    socket.destroy();
  });
}

/** Downloads the whole file at full speed. */
async function downloaded({ port }: Site): Promise<{ encoding: string | null; bytes: number; last: string }> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  let bytes = 0;
  let last = Buffer.alloc(0);
  for await (const part of response.body as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    last = Buffer.concat([last, part.subarray(-end.length)]).subarray(-end.length);
  }
  return { encoding: response.headers.get("content-encoding"), bytes, last: String(last) };
}

/** File descriptors of this process on the file. */
function openCount(file: string): number {
  const target = (name: string): string => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`);
    } catch {
      return "";
    }
  };
  return readdirSync("/proc/self/fd").filter((name) => target(name) === file).length;
}

t.test("clients that read a byte a second are cut, hold little memory, and slow nobody down", async (t) => {
  const site = serve(t);
  await downloaded(site);
  const before = process.memoryUsage().rss;
  for (let i = 0; i < slowCount; i++) trickle(t, site, i % 2 === 0 ? "Range: bytes=1-" : "Accept-Encoding: identity");
  await until("all are answered", () => openCount(site.file) === slowCount);

  t.same(await within(downloaded(site), "another client"), { encoding: "gzip", bytes: fileBytes, last: end });

  const grown = process.memoryUsage().rss - before;
  t.ok(grown < (slowCount * fileBytes) / 16, `the process has grown by ${Math.round(grown / 1e6)} MB`);

  await until("the slow ones are cut", () => site.closedAfterMs.length === slowCount + 2);
  await until("their files are closed", () => openCount(site.file) === 0);
  const slowest = Math.max(...site.closedAfterMs);
  t.ok(slowest < 20 * stallMs, `after ${(slowest / stallMs).toFixed(1)} of their time`);
});

t.test("one that takes a block in each period is served to the end", async (t) => {
  const site = serve(t);
  const socket = connect({ port: site.port, host: "127.0.0.1" });
  const last = `bytes=${fileBytes - 12_000_000}-`;
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nRange: ${last}\r\n\r\n`);
  const startedMs = monotonicMs();
  let received = 0;
  let tail = "";
  for await (const chunk of socket) {
    const part = chunk as Buffer;
    received += part.length;
    tail = (tail + part.toString("latin1")).slice(-end.length);
    // Longer than the time in which a client must take something, all in all.
    await sleep(Math.max(0, (received / 12_000_000) * 3 * stallMs - (monotonicMs() - startedMs)));
  }
  t.equal(tail, end);
  t.ok(received > 12_000_000);
});
