/**
 * Slow clients on real sockets, at the speed of the wall clock: a reader of 100 KB/s outlives uWebSockets.js' stall
 * timer, which cuts it after some 20 s unless the listening socket bounds unsent bytes; one that stops is cut by our own
 * deadline.
 */
import { connect, type Socket } from "node:net";
import t from "tap";
import { noOrigin } from "../../../src/model/request-origin.js";
import { monotonicMs, sleep } from "../../../src/base/deadline.js";
import { silentLog } from "../../../src/base/log.js";
import { SseStream, sseHeaders, WriteBudget } from "../../../src/http/stream/sse.js";
import { HttpServer } from "../../../src/http/server/uws.js";
import { limitUnsentBytes } from "../../../src/native/socket/socket.js";

const bytesPerSecond = 100_000;
/** More than the buffers of both sockets, so that the server has to wait. */
const resultBytes = 16_000_000;
const slowMs = 25_000;
const creditBytes = 256 * 1024;

const stallMs = 15_000;

t.test("slow clients", async (t) => {
  const closedAfterMs: number[] = [];
  let pendingPeak = 0;
  const server = new HttpServer(silentLog(), () => {});
  server.route("GET", "/", (_request, response) => {
    const startedMs = monotonicMs();
    const observer = { bytesSent: () => {}, stalled: () => t.pass("our own deadline") };
    const sink = new SseStream(
      response.startStream(200, sseHeaders("identity")),
      "identity",
      stallMs,
      new WriteBudget(),
      observer,
      silentLog(),
      noOrigin,
    );
    response.onClosed(() => closedAfterMs.push(monotonicMs() - startedMs));
    const payload = Buffer.alloc(50_000, "x");
    let left = resultBytes;
    const more = () => {
      for (; left > 0 && sink.pendingBytes < creditBytes; left -= payload.length) sink.send("matches", [payload]);
      pendingPeak = Math.max(pendingPeak, sink.pendingBytes);
      if (left <= 0) sink.end();
    };
    sink.onDrain(more);
    more();
  });
  const port = server.listen("127.0.0.1", 0, (bound) => t.ok(limitUnsentBytes(bound, 131_072)));
  t.teardown(() => server.stop(0));

  const stopped = open(port).pause();
  const received = await readSlowly(open(port));
  t.ok(received > resultBytes, `the slow reader got ${received} bytes`);
  t.equal(closedAfterMs.length, 2);
  const stoppedSeconds = Math.min(...closedAfterMs) / 1000;
  t.ok(stoppedSeconds > 8 && stoppedSeconds < 50, `the one that stopped was cut after ${stoppedSeconds.toFixed(1)} s`);
  t.ok(pendingPeak < creditBytes + 51_000, `at most ${pendingPeak} bytes waited`);
  stopped.destroy();
});

function open(port: number): Socket {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  return socket;
}

/**
 * Takes `bytesPerSecond` for `slowMs`, then what is left at full speed, until the chunked body has ended or the server
 * closes; returns the bytes.
 */
async function readSlowly(socket: Socket): Promise<number> {
  const startedMs = monotonicMs();
  let received = 0;
  let tail = "";
  while (!tail.endsWith("0\r\n\r\n")) {
    const elapsedMs = monotonicMs() - startedMs;
    const chunk = socket.read(
      elapsedMs > slowMs ? undefined : Math.min(10_000, socket.readableLength || 1),
    ) as Buffer | null;
    if (chunk === null) {
      if (socket.destroyed || socket.readableEnded) break;
      await sleep(10);
      continue;
    }
    received += chunk.length;
    tail = (tail + chunk.toString("latin1")).slice(-5);
    const aheadMs = (received / bytesPerSecond) * 1000 - elapsedMs;
    if (aheadMs > 0 && elapsedMs < slowMs) await sleep(aheadMs);
  }
  socket.destroy();
  return received;
}
