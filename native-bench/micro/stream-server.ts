// Serves event streams in one of several ways: `stream-server.js WAY TEXT KERNEL`. Prints its port. A request is a
// StreamOrder. What is served is made of the text, which the fixture has put there.
import { createServer } from "node:http";
import { createServer as createSocketServer } from "node:net";
import { TrawlError } from "../../src/base/errors.js";
import { silentLog } from "../../src/base/log.js";
import { SseStream, sseHeaders } from "../../src/http/sse.js";
import { loadBinding } from "../../src/http/uws-binding.js";
import { blockBytesMax, HttpServer } from "../../src/http/uws.js";
import { WriteTurns } from "../../src/http/write-turns.js";
import { loadKernel } from "../../src/kernel/load.js";
import { limitUnsentBytes } from "../../src/kernel/socket.js";
import { EventStream } from "../../src/search/event-stream.js";
import { openText } from "./fixture.js";
import { foundBatches, makeEvents, newBuffer, type FoundEvents, type FoundName } from "./stream-events.js";
import { orderOf, type StreamOrder, type StreamWay } from "./stream-order.js";
import { pour, type Outlet, type Pieces } from "./stream-pour.js";

/** Bytes that a search lets gather for a client. */
const creditBytes = 512 * 1024;

/** As the daemon sets it. */
const unsentBytesMax = 128 * 1024;

const stallMs = 60_000;

/** A bare socket is given so much at a time at least. */
const socketBytesMin = 128 * 1024;

/** Of small events, as the order of them allows. */
const socketRepeats = 8;

const native = loadBinding();
const [way, textFolder = "", kernelName] = process.argv.slice(2);
const kernel = loadKernel(kernelName === "native" ? "native" : "ts");
const events = makeEvents(kernel, openText(textFolder).reader);
serve(way as StreamWay);

function serve(kind: StreamWay): void {
  switch (kind) {
    case "trawl":
      return serveWithTrawl();
    case "uWebSockets.js":
      return serveWithUws();
    case "node:http":
      return serveWithNode();
    case "socket":
      return serveWithSocket();
  }
}

function say(port: number): void {
  process.stdout.write(`${port}\n`);
}

function serveWithTrawl(): void {
  const server = new HttpServer(silentLog(), () => {});
  const observer = { bytesSent: () => {}, stalled: () => {} };
  const turns = new WriteTurns();
  server.route("GET", "/", (request, response) => {
    const order = orderOf(request.query);
    const encoding = order.gzip ? "gzip" : "identity";
    const sink = new SseStream(
      response.startStream(200, sseHeaders(encoding)),
      encoding,
      stallMs,
      turns,
      observer,
      silentLog(),
    );
    if (order.source.kind === "ready") pourReady(sink, events.ready[order.source.set].elements, order.times);
    else pourFound(sink, events.found[order.source.name], order.times);
  });
  say(server.listen("127.0.0.1", 0, (port) => limitUnsentBytes(port, unsentBytesMax)));
}

function pourReady(sink: SseStream, elements: readonly Buffer[], times: number): void {
  const eventCount = times * elements.length;
  let sent = 0;
  const more = (): void => {
    while (sent < eventCount && !sink.closed && sink.pendingBytes < creditBytes) {
      sink.send("matches", ["[", elements[sent++ % elements.length], "]"]);
    }
    if (sent === eventCount) sink.end();
  };
  sink.onDrain(more);
  more();
}

/** As a search does it, but that the one thread of this process writes the matches, too. */
function pourFound(sink: SseStream, found: FoundEvents, times: number): void {
  const stream = new EventStream(sink, { filters: () => [], progress: (done) => progressOf(found, done) }, () => {});
  const spare: Buffer[] = [];
  const batches = repeated(times, () => foundBatches(kernel, found, () => spare.pop() ?? newBuffer()));
  let isDone = false;
  const more = (): void => {
    while (!isDone && !sink.closed && stream.gatheredBytes + sink.pendingBytes < creditBytes) {
      const { value, done } = batches.next();
      isDone = done === true;
      if (isDone) stream.finish(undefined, undefined);
      else if (value !== undefined)
        stream.addMatches({ bytes: value.bytes, giveBack: () => spare.push(Buffer.from(value.bytes.buffer)) });
    }
  };
  sink.onDrain(more);
  more();
}

function* repeated<T>(times: number, each: () => Iterable<T>): Generator<T, undefined> {
  for (let i = 0; i < times; i++) yield* each();
}

function progressOf({ matchCount }: FoundEvents, done: boolean) {
  return { done, matchCount, durationMs: 0, skipped: [], trace: "" };
}

function eventsOf(elements: readonly Buffer[]): Buffer[] {
  return elements.map((text) => Buffer.concat([Buffer.from("event: matches\ndata: ["), text, Buffer.from("]\n\n")]));
}

/**
 * The bare library: finished blocks, each in a cork of its own. Larger ones are not safe with the release that we use:
 * when the socket takes less than what is corked, what was to be written behind it is lost.
 */
function serveWithUws(): void {
  const whole = events.ready.map(({ elements }) => eventsOf(elements));
  const blocks = whole.map((pieces) => blocksOf(Buffer.concat(pieces)));
  const app = native.App();
  app.any("/", (response, request) => {
    const order = orderOf(request.getQuery());
    let isOpen = true;
    response.onAborted(() => {
      isOpen = false;
    });
    response.cork(() => {
      for (const [name, value] of headersOf(order)) response.writeHeader(name, value);
    });
    pour(readyPieces(order.gzip ? whole : blocks, order), order.gzip, {
      write: (bytes) => {
        let isReady = false;
        if (isOpen)
          response.cork(() => {
            isReady = response.write(bytes);
          });
        return isReady;
      },
      onWritable: (callback) =>
        response.onWritable(() => {
          callback();
          return true;
        }),
      end: () => {
        if (isOpen) response.cork(() => response.end());
      },
    });
  });
  app.listen("127.0.0.1", 0, native.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
    if (socket !== false) say(native.getSocketPort(socket));
  });
}

function blocksOf(bytes: Buffer): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / blockBytesMax) }, (_, i) =>
    bytes.subarray(i * blockBytesMax, (i + 1) * blockBytesMax),
  );
}

/**
 * Finished events are written as they are; found matches are at hand as objects, which is less than ours starts from.
 */
function serveWithNode(): void {
  const ready = events.ready.map(({ elements }) => eventsOf(elements));
  const found = { lines: objectsOf("lines"), chunks: objectsOf("chunks") };
  const server = createServer((request, response) => {
    const order = orderOf(request.url?.split("?")[1] ?? "");
    response.writeHead(200, headersOf(order).flat());
    const pieces =
      order.source.kind === "ready"
        ? readyPieces(ready, order)
        : objectPieces(found[order.source.name], events.found[order.source.name], order.times);
    pour(pieces, order.gzip, {
      write: (bytes) => response.write(bytes),
      onWritable: (callback) => response.on("drain", callback),
      end: () => response.end(),
    });
  });
  server.listen(0, "127.0.0.1", () => sayAddress(server.address()));
}

function sayAddress(address: ReturnType<ReturnType<typeof createSocketServer>["address"]>): void {
  if (typeof address === "object" && address !== null) say(address.port);
}

/** The match objects of each event. */
function objectsOf(name: FoundName): object[][] {
  return Array.from(
    foundBatches(kernel, events.found[name], newBuffer),
    ({ bytes }) => JSON.parse(`[${bytes.toString()}]`) as object[],
  );
}

function objectPieces(objects: readonly object[][], found: FoundEvents, times: number): Pieces {
  const end = `event: progress\ndata: ${JSON.stringify(progressOf(found, true))}\n\nevent: done\ndata: {}\n\n`;
  const count = times * objects.length;
  return {
    count: count + 1,
    at: (i) => (i === count ? end : `event: matches\ndata: ${JSON.stringify(objects[i % objects.length])}\n\n`),
  };
}

function readyPieces(sets: readonly (readonly Buffer[])[], { source, times }: StreamOrder): Pieces {
  if (source.kind !== "ready") throw new TrawlError("internal", "only finished events are sent this way");
  const pieces = sets[source.set];
  return { count: times * pieces.length, at: (i) => pieces[i % pieces.length] };
}

/** Both libraries keep the connection alive unless they are told otherwise. */
function headersOf({ gzip }: StreamOrder): [string, string][] {
  return Object.entries(sseHeaders(gzip ? "gzip" : "identity")).filter(([name]) => name !== "Connection");
}

/** The same bytes without a server behind them: an answer in chunks that was finished before it is asked for. */
function serveWithSocket(): void {
  const sets = events.ready.map(({ elements }) => {
    const once = Buffer.concat(
      eventsOf(elements).flatMap((event) => [
        Buffer.from(`${event.length.toString(16)}\r\n`),
        event,
        Buffer.from("\r\n"),
      ]),
    );
    const repeats = once.length < socketBytesMin ? socketRepeats : 1;
    return { repeats, bytes: Buffer.concat(Array.from({ length: repeats }, () => once)) };
  });
  const server = createSocketServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (request) => {
      const order = orderOf(/\?(\S+)/.exec(request.toString())?.[1] ?? "");
      if (order.source.kind !== "ready") return;
      const { repeats, bytes } = sets[order.source.set];
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      const outlet: Outlet = {
        write: (piece) => socket.write(piece),
        onWritable: (callback) => socket.on("drain", callback),
        end: () => socket.write("0\r\n\r\n"),
      };
      pour({ count: order.times / repeats, at: () => bytes }, false, outlet);
    });
  });
  server.listen(0, "127.0.0.1", () => sayAddress(server.address()));
}
