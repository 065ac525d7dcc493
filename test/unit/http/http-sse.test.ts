import { randomBytes } from "node:crypto";
import { get } from "node:http";
import { connect, type Socket } from "node:net";
import { gunzipSync } from "node:zlib";
import t from "tap";
import { noOrigin } from "../../../src/model/request-origin.js";
import { monotonicMs, sleep } from "../../../src/base/deadline.js";
import { silentLog } from "../../../src/base/log.js";
import { BlockQueue } from "../../../src/http/stream/block-queue.js";
import {
  SseStream,
  acceptedEncoding,
  eventBytesMax,
  sseHeaders,
  type StreamEncoding,
  WriteBudget,
} from "../../../src/http/stream/sse.js";
import { blockBytesMax, type ByteStream } from "../../../src/http/server/byte-stream.js";
import { HttpServer } from "../../../src/http/server/uws.js";
import { until } from "../../support/waiting.js";

const megabyte = 1 << 20;

/** A server with one route, which passes each stream to `produce`. */
function serve(produce: (sink: SseStream) => void, encoding: StreamEncoding, stallMs: number) {
  const counts = { bytesSent: 0, stalled: 0 };
  const observer = {
    bytesSent: (bytes: number) => {
      counts.bytesSent += bytes;
    },
    stalled: () => {
      counts.stalled++;
    },
  };
  const server = new HttpServer(silentLog(), () => {});
  const turns = new WriteBudget();
  server.route("GET", "/", (_request, response) => {
    produce(
      new SseStream(
        response.startStream(200, sseHeaders(encoding)),
        encoding,
        stallMs,
        turns,
        observer,
        silentLog(),
        noOrigin,
      ),
    );
  });
  const port = server.listen("127.0.0.1", 0, () => {});
  return { server, port, url: `http://127.0.0.1:${port}/`, counts };
}

/**
 * Sends `total` bytes of events that do not compress, as a well-behaved producer does: no more than `credit` pending at
 * a time.
 */
function pour(sink: SseStream, total: number, eventBytes: number, credit: number): { peak: number } {
  const seen = { peak: 0 };
  const payload = randomBytes(eventBytes);
  let left = total;
  const more = () => {
    while (left > 0 && !sink.closed && sink.pendingBytes < credit) {
      sink.send("matches", ['["', payload, '"]']);
      left -= eventBytes;
      seen.peak = Math.max(seen.peak, sink.pendingBytes);
    }
    if (left <= 0) sink.end();
  };
  sink.onDrain(more);
  more();
  return seen;
}

function open(port: number): Socket {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  return socket;
}

/** The body without the transfer encoding, as sent. */
function rawBody(port: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    get({ port, host: "127.0.0.1" }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve(Buffer.concat(chunks)));
    }).on("error", reject);
  });
}

t.test("an event is two lines and an empty one", async (t) => {
  const { server, url } = serve(
    (sink) => {
      sink.send("matches", ["[", Buffer.from('{"a":"é"}'), "]"]);
      sink.send("done", ["{}"]);
      sink.end();
      sink.send("late", ["{}"]);
      t.equal(sink.closed, true);
    },
    "identity",
    60_000,
  );
  t.teardown(() => server.stop(0));
  const response = await fetch(url);
  t.equal(await response.text(), 'event: matches\ndata: [{"a":"é"}]\n\nevent: done\ndata: {}\n\n');
  t.match(Object.fromEntries(response.headers), {
    "content-type": /^text\/event-stream$/,
    "cache-control": "no-cache",
    connection: "keep-alive",
    "transfer-encoding": "chunked",
    "x-accel-buffering": "no",
    "content-encoding": undefined,
  });
});

t.test("a stream that fails ends with the reason", async (t) => {
  const { server, url } = serve(
    (sink) => {
      sink.send("matches", ["[]"]);
      sink.fail("the reason");
      sink.send("late", ["{}"]);
    },
    "identity",
    60_000,
  );
  t.teardown(() => server.stop(0));
  t.equal(
    await (await fetch(url)).text(),
    'event: matches\ndata: []\n\nevent: error\ndata: {"message":"the reason"}\n\nevent: done\ndata: {}\n\n',
  );
});

t.test("an event of 10 MiB arrives complete, a larger one is not sent", async (t) => {
  const { server, url } = serve(
    (sink) => {
      sink.send("matches", [Buffer.alloc(eventBytesMax, "y")]);
      sink.send("matches", [Buffer.alloc(eventBytesMax, "z"), "z"]);
      sink.end();
    },
    "identity",
    60_000,
  );
  t.teardown(() => server.stop(0));
  const text = await (await fetch(url)).text();
  t.equal(text.length, "event: matches\ndata: \n\n".length + eventBytesMax);
  t.notOk(text.includes("z"));
});

t.test("events are sent immediately, not at the end of the stream", async (t) => {
  for (const encoding of ["identity", "gzip"] as const) {
    let sink: SseStream | undefined;
    const { server, url } = serve(
      (opened) => {
        sink = opened;
        opened.send("progress", ['{"n":1}']);
      },
      encoding,
      60_000,
    );
    const reader = (await fetch(url)).body!.getReader();
    const first = await reader.read();
    t.equal(Buffer.from(first.value!).toString(), 'event: progress\ndata: {"n":1}\n\n', encoding);
    sink!.send("progress", ['{"n":2}']);
    const second = await reader.read();
    t.equal(Buffer.from(second.value!).toString(), 'event: progress\ndata: {"n":2}\n\n', encoding);
    sink!.end();
    t.equal((await reader.read()).done, true);
    await server.stop(0);
  }
});

t.test("gzip carries the same bytes and ends as a complete gzip stream", async (t) => {
  const sent = Buffer.from(Array.from({ length: 300_000 }, (_, at) => ((at * 7919) % 251) + (at % 5)));
  const { server, port } = serve(
    (sink) => {
      for (let at = 0; at < sent.length; at += 50_000) sink.send("m", [sent.subarray(at, at + 50_000)]);
      sink.end();
    },
    "gzip",
    60_000,
  );
  t.teardown(() => server.stop(0));
  const raw = gunzipSync(await rawBody(port));
  const framed = Array.from({ length: 6 }, (_, n) => [
    Buffer.from("event: m\ndata: "),
    sent.subarray(n * 50_000, (n + 1) * 50_000),
    Buffer.from("\n\n"),
  ]).flat();
  t.ok(Buffer.concat(framed).equals(raw));
});

t.test("a paused reader pauses the producer, and gets every byte once it reads", async (t) => {
  for (const encoding of ["identity", "gzip"] as const) {
    const total = 24 * megabyte;
    const credit = 256 * 1024;
    let stream: SseStream | undefined;
    let seen = { peak: 0 };
    const { server, port } = serve(
      (sink) => {
        stream = sink;
        seen = pour(sink, total, 100_000, credit);
      },
      encoding,
      60_000,
    );
    const socket = open(port).pause();
    await until("the socket fills", () => stream !== undefined && stream.pendingBytes > 0);
    await sleep(100);
    t.equal(stream!.closed, false, `${encoding}: the producer waits`);
    // A batch that is being compressed counts until all of it is through, beside what came out of it already.
    const batches = encoding === "gzip" ? 2 : 1;
    t.ok(
      stream!.pendingBytes < batches * (credit + 110_000),
      `nothing piles up meanwhile, ${stream!.pendingBytes} bytes pending with ${encoding}`,
    );
    let received = 0;
    socket.on("data", (bytes) => {
      received += bytes.length;
    });
    socket.resume();
    await until("all of it arrives", () => received > total && stream!.closed);
    t.ok(seen.peak < credit + 110_000, `pending bytes stay below the credit and one event, saw ${seen.peak}`);
    await server.stop(2000);
  }
});

t.test("the end of a block that met a full socket arrives without another write", async (t) => {
  let full = false;
  let sentBytes = 0;
  const { server, port } = serve(
    (sink) => {
      const fill = () => {
        if (full) return;
        sink.send("matches", [Buffer.alloc(14_000, "x")]);
        sentBytes += 14_000;
        setImmediate(() => {
          full = sink.pendingBytes > 0;
          fill();
        });
      };
      fill();
    },
    "identity",
    60_000,
  );
  t.teardown(() => server.stop(0));
  const socket = open(port).pause();
  await until("the socket is full", () => full);
  let received = 0;
  socket.on("data", (bytes) => {
    received += bytes.length;
  });
  socket.resume();
  await until("all that was sent arrives", () => received > sentBytes);
  socket.destroy();
});

t.test("a slow reader gets its complete result", async (t) => {
  const total = 3 * megabyte;
  const { server, port } = serve(
    (sink) => {
      pour(sink, total, 50_000, 128 * 1024);
    },
    "identity",
    60_000,
  );
  t.teardown(() => server.stop(0));
  const socket = open(port).pause();
  let received = 0;
  socket.on("data", (bytes) => {
    received += bytes.length;
    socket.pause();
    setTimeout(() => socket.resume(), 10);
  });
  socket.resume();
  await until("the whole result arrives", () => received > total);
  socket.destroy();
});

t.test("a client that disconnects closes the sink once", async (t) => {
  let closed = 0;
  let sink: SseStream | undefined;
  const { server, port } = serve(
    (opened) => {
      sink = opened;
      sink.onClosed(() => {
        closed++;
      });
      pour(sink, 100 * megabyte, 100_000, 256 * 1024);
    },
    "identity",
    60_000,
  );
  t.teardown(() => server.stop(0));
  const socket = open(port).pause();
  await until("the socket fills", () => (sink?.pendingBytes ?? 0) > 0);
  socket.destroy();
  await until("the sink is closed", () => closed > 0);
  t.equal(sink!.pendingBytes, 0, "what was not sent is dropped");
  sink!.send("matches", ["[]"]);
  sink!.end();
  await sleep(20);
  t.equal(closed, 1);
});

t.test("a client that stops reading is disconnected", async (t) => {
  let closedAtMs = 0;
  const { server, port, counts } = serve(
    (sink) => {
      sink.onClosed(() => {
        closedAtMs = monotonicMs();
      });
      pour(sink, 100 * megabyte, 100_000, 256 * 1024);
    },
    "identity",
    400,
  );
  t.teardown(() => server.stop(0));
  const startMs = monotonicMs();
  const socket = open(port).pause();
  await until("the client is cut", () => closedAtMs > 0);
  t.ok(closedAtMs - startMs >= 400, "not before its time");
  t.equal(counts.stalled, 1);
  socket.destroy();
});

t.test("an idle stream is not a stalled one", async (t) => {
  let sink: SseStream | undefined;
  const { server, port, counts } = serve(
    (opened) => {
      sink = opened;
      sink.send("progress", ["{}"]);
    },
    "identity",
    100,
  );
  t.teardown(() => server.stop(0));
  const socket = open(port);
  await sleep(400);
  t.equal(sink!.closed, false);
  t.equal(counts.stalled, 0);
  socket.destroy();
});

t.test("drain", async (t) => {
  const stream = new FakeStream();
  const sink = new SseStream(
    stream,
    "identity",
    60_000,
    new WriteBudget(),
    { bytesSent: () => {}, stalled: () => {} },
    silentLog(),
    noOrigin,
  );
  let drains = 0;
  sink.onDrain(() => {
    drains++;
  });
  sink.send("a", ["{}"]);
  t.equal(drains, 0, "never from inside send");
  t.equal(sink.pendingBytes, "event: a\ndata: {}\n\n".length);
  await until("it drains", () => drains === 1);
  t.equal(sink.pendingBytes, 0);
  stream.full = true;
  sink.send("b", [Buffer.alloc(40_000)]);
  await until("a block is written", () => stream.blocks.length === 2);
  await sleep(5);
  t.equal(stream.blocks.length, 2, "nothing is written after the socket said it is full");
  t.ok(sink.pendingBytes > 40_000, "the block in the socket's buffer still counts");
  t.equal(drains, 1);
  stream.full = false;
  stream.writable();
  await until("it drains again", () => drains === 2);
  sink.send("c", ["{}"]);
  sink.send("d", ["{}"]);
  await until("events sent together drain", () => drains > 2 && sink.pendingBytes === 0);
  t.equal(drains, 3, "together");
  t.equal(stream.blocks.at(-1)?.toString(), "event: c\ndata: {}\n\nevent: d\ndata: {}\n\n", "and share a block");
  t.ok(stream.blocks.every((block) => block.length <= blockBytesMax));
});

t.test("streams take turns", async (t) => {
  const turns = new WriteBudget();
  const streams = [new FakeStream(), new FakeStream()];
  const sinks = streams.map(
    (stream) =>
      new SseStream(
        stream,
        "identity",
        60_000,
        turns,
        { bytesSent: () => {}, stalled: () => {} },
        silentLog(),
        noOrigin,
      ),
  );
  const seen: number[] = [];
  const note = (): void => void seen.push(Math.max(...streams.map(({ blocks }) => blocks.length)));
  for (const sink of sinks) sink.send("matches", [Buffer.alloc(megabyte)]);
  while (sinks.some(({ pendingBytes }) => pendingBytes > 0)) {
    await new Promise((resolve) => setImmediate(resolve));
    note();
  }
  t.ok(seen.length > 4, `${seen.length} turns, so that others are served between them`);
  for (const { blocks } of streams)
    t.equal(
      blocks.reduce((sum, { length }) => sum + length, 0),
      "event: matches\ndata: \n\n".length + megabyte,
    );
});

t.test("blocks", async (t) => {
  const queue = new BlockQueue();
  const lengths = [1, 14_999, 15_000, 1, 45_001, 7, 29_999, 0, 100_000];
  const pieces = lengths.map((length, at) => Buffer.alloc(length, at + 1));
  for (const piece of pieces) queue.append(piece);
  t.equal(
    queue.bytes,
    lengths.reduce((sum, length) => sum + length),
  );
  const taken: Uint8Array[] = [];
  for (let block = queue.take(); block; block = queue.take()) taken.push(Buffer.from(block));
  t.ok(Buffer.concat(taken).equals(Buffer.concat(pieces)), "the same bytes in the same order");
  t.ok(
    taken.slice(0, -1).every((block) => block.length === blockBytesMax),
    "all but the last are full",
  );
  t.equal(queue.bytes, 0);
  const large = Buffer.alloc(60_000);
  queue.append(large);
  t.equal(queue.take()?.buffer, large.buffer, "a large piece is not copied");
});

t.test("the memory of a block is used again when it has been written, and not before", async (t) => {
  const [one, two] = [new BlockQueue(), new BlockQueue()];
  one.append(Buffer.from("first"));
  const first = one.take();
  two.append(Buffer.from("second"));
  t.equal(first?.toString(), "first", "not yet written");
  t.equal(one.take(), undefined, "now it is");
  one.append(Buffer.from("third"));
  t.equal(one.take()?.buffer, first?.buffer);
  t.equal(two.take()?.toString(), "second");
  two.append(Buffer.from("never taken"));
  two.clear();
  two.append(Buffer.from("fourth"));
  t.equal(two.take()?.toString(), "fourth");
});

t.test("texts in blocks", async (t) => {
  const queue = new BlockQueue();
  const texts = ["", "é".repeat(7_000), "", "\u20ac", "x".repeat(999), "", "\u20ac".repeat(20_000), "\ud800", "end"];
  for (const text of texts) queue.appendText(text);
  const bytes = Buffer.from(texts.join(""));
  t.equal(queue.bytes, bytes.length);
  const taken = queue.takeAll();
  t.ok(Buffer.concat(taken).equals(bytes), "the same bytes in the same order");
  t.ok(
    taken.slice(0, -1).every((block) => block.length === blockBytesMax),
    "all but the last are full",
  );
  queue.appendText("");
  t.equal(queue.take(), undefined, "no text makes no block");
});

t.test("Accept-Encoding", async (t) => {
  const rows: [header: string | undefined, encoding: StreamEncoding][] = [
    [undefined, "identity"],
    ["", "identity"],
    ["gzip", "gzip"],
    ["deflate, GZIP;q=0.5", "gzip"],
    ["gzip;q=0", "identity"],
    ["gzip; q=0.0", "identity"],
    ["br", "identity"],
    ["*", "gzip"],
    ["identity, gzip;q=0.5", "identity"],
    ["gzip;q=nonsense, br", "identity"],
  ];
  for (const [header, encoding] of rows) t.equal(acceptedEncoding(header), encoding, String(header));
});

class FakeStream implements ByteStream {
  readonly blocks: Buffer[] = [];
  full = false;
  closed = false;
  writable: () => void = () => {};
  write(block: Uint8Array): boolean {
    this.blocks.push(Buffer.from(block));
    return !this.full;
  }
  writeLast(block: Uint8Array): void {
    this.write(block);
    this.end();
  }
  end(): void {}
  cut(): void {}
  onWritable(callback: () => void): void {
    this.writable = callback;
  }
  onClosed(): void {}
}
