/**
 * Clients of a search job's export that read a byte now and then, or slowly but steadily, on real sockets. The test moves the
 * clock, so that no client is slower than it is meant to be.
 */
import { appendFileSync, readdirSync, readlinkSync, truncateSync, writeFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as startTimer } from "node:timers";
import { createGunzip } from "node:zlib";
import t, { type Test } from "tap";
import { monotonicMs } from "../../../src/base/deadline.js";
import { silentLog } from "../../../src/base/log.js";
import { exportHandler, exportPaths, type ExportServices } from "../../../src/http/routes/export-route.js";
import { HttpServer } from "../../../src/http/server/uws.js";
import { anonymous } from "../../../src/model/viewer.js";
import { limitUnsentBytes } from "../../../src/native/socket/socket.js";
import { TestClock } from "../../support/test-clock.js";

/** More than the buffers of both sockets, so that the server has to wait. */
const fileBytes = 64_000_000;
const end = "the end\n";
const slowCount = 8;
const path = "/.api/search/export/1.jsonl";

/** As in the daemon. */
const stallMs = 60_000;

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

/** Asks for the export, and reads nothing by itself. */
function ask(t: Test, { port }: Site, header: string): Socket {
  const socket = connect({ port, host: "127.0.0.1" }).pause();
  socket.on("error", () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`);
  t.teardown(() => socket.destroy());
  return socket;
}

/** Waits in real time, while the clock of the test stands still. */
async function waitFor(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise<void>((resolve) => startTimer(resolve, 2));
}

/** Waits until the server has read what it sends next: its threads take real time, in which the clock stands still. */
function untilRead(): Promise<void> {
  return waitFor(() => !process.getActiveResourcesInfo().some((name) => name.startsWith("FSReq")));
}

/** Downloads the whole file at full speed. */
async function downloaded({ port }: Site): Promise<{ encoding: string | undefined; bytes: number; last: string }> {
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    get({ port, host: "127.0.0.1", path, agent: false, headers: { "Accept-Encoding": "gzip" } }, resolve).on(
      "error",
      reject,
    ),
  );
  let bytes = 0;
  let last = Buffer.alloc(0);
  for await (const part of response.pipe(createGunzip()) as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    last = Buffer.concat([last, part.subarray(-end.length)]).subarray(-end.length);
  }
  return { encoding: response.headers["content-encoding"], bytes, last: String(last) };
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
  const clock = new TestClock(t);
  const site = serve(t);
  await downloaded(site);
  const before = process.memoryUsage().rss;
  const slow = Array.from({ length: slowCount }, (_, i) =>
    ask(t, site, i % 2 === 0 ? "Range: bytes=1-" : "Accept-Encoding: identity"),
  );
  await waitFor(() => openCount(site.file) === slowCount);

  t.same(await downloaded(site), { encoding: "gzip", bytes: fileBytes, last: end }, "another client");
  await waitFor(() => site.closedAfterMs.length === 2);

  const grown = process.memoryUsage().rss - before;
  t.ok(grown < (slowCount * fileBytes) / 16, `the process has grown by ${Math.round(grown / 1e6)} MB`);

  for (let seconds = 0; seconds < 2.5 * (stallMs / 1000); seconds++) {
    for (const socket of slow) socket.read(1);
    await untilRead();
    await clock.advance(1000);
  }
  await waitFor(() => site.closedAfterMs.length === slowCount + 2 && openCount(site.file) === 0);
  const slowest = Math.max(...site.closedAfterMs);
  t.ok(slowest < 2.5 * stallMs, `after ${(slowest / stallMs).toFixed(1)} of their time`);
});

t.test("one that takes a block in each period is served to the end", async (t) => {
  const clock = new TestClock(t);
  const site = serve(t);
  const socket = ask(t, site, "Connection: close");
  let [received, tail] = [0, ""];
  for await (const chunk of socket) {
    const part = chunk as Buffer;
    received += part.length;
    tail = (tail + part.toString("latin1")).slice(-end.length);
    // All in all longer than the time in which a client must take something, in which it takes more than sockets hold.
    await clock.advance((part.length / fileBytes) * 4 * stallMs);
  }
  t.equal(tail, end);
  t.ok(received > fileBytes);
});
