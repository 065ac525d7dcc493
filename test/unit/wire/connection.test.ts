import { Duplex } from "node:stream";
import t from "tap";
import {
  type ByteChannel,
  channelsMax,
  Connection,
  type ConnectionEnd,
  segmentHeader,
  segmentKinds,
  windowBytesMin,
} from "../../../src/wire/connection.js";
import { until } from "../../support/waiting.js";

/** Two ends of a socket in memory: what is written to one arrives at the other. */
function socketPair(): readonly [Duplex, Duplex] {
  const make = (other: () => Duplex): Duplex =>
    new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _encoding, done) => {
        other().push(chunk);
        setImmediate(done);
      },
      destroy: (error, done) => {
        queueMicrotask(() => other().destroy());
        done(error);
      },
    });
  const left: Duplex = make(() => right);
  const right: Duplex = make(() => left);
  return [left, right];
}

/** What arrives over a channel. */
class Heard {
  readonly #chunks: Buffer[] = [];
  length = 0;
  closed: string | undefined;

  constructor(channel: ByteChannel) {
    channel.receive({
      bytes: (chunk) => {
        this.#chunks.push(Buffer.from(chunk));
        this.length += chunk.length;
      },
      closed: (reason) => {
        this.closed = reason ?? "whole";
      },
    });
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

function endOf(more: Partial<ConnectionEnd> = {}): ConnectionEnd {
  return {
    version: "1",
    windowBytes: windowBytesMin,
    name: "the other end",
    askMs: 60_000,
    accept: undefined,
    onHello: () => undefined,
    onMissed: () => undefined,
    onClosed: () => undefined,
    ...more,
  };
}

/** A connection, whose accepting end keeps the channels that are opened. */
function connected(windowBytes = windowBytesMin) {
  const [near, far] = socketPair();
  const accepted: { readonly channel: ByteChannel; readonly heard: Heard }[] = [];
  const accept = (channel: ByteChannel): void => void accepted.push({ channel, heard: new Heard(channel) });
  const client = new Connection(near, endOf({ windowBytes }));
  const server = new Connection(far, endOf({ accept, windowBytes }));
  near.on("data", (chunk: Buffer) => client.receive(chunk));
  far.on("data", (chunk: Buffer) => server.receive(chunk));
  const open = (): { readonly channel: ByteChannel; readonly heard: Heard } => {
    const channel = client.open();
    if (channel === undefined) throw new Error("no channel");
    return { channel, heard: new Heard(channel) };
  };
  return { client, server, open, accepted };
}

function numbered(length: number, seed: number): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, i) => (i * seed + (i >> 8)) & 0xff));
}

t.test("bytes arrive as they were sent over each channel, in both directions, whatever their sizes", async (t) => {
  for (const windowBytes of [windowBytesMin, 4 * windowBytesMin]) {
    const { open, accepted } = connected(windowBytes);
    const sizes = [1, 70, 5_000, 300_000, 4, 90_000];
    let [written, wanted] = [0, 0];
    const sendTo = (channel: ByteChannel, seed: number): Buffer => {
      for (const size of sizes) {
        wanted++;
        channel.write([numbered(3, seed), numbered(size, seed)], () => written++);
      }
      return Buffer.concat(sizes.flatMap((size) => [numbered(3, seed), numbered(size, seed)]));
    };
    const near = [3, 5, 7].map((seed) => {
      const { channel, heard } = open();
      return { channel, heard, sent: sendTo(channel, seed) };
    });
    await until("they are accepted", () => accepted.length === near.length);
    const back = accepted.map(({ channel }, i) => sendTo(channel, 11 + i));
    const length = near[0].sent.length;
    await until("all has arrived", () => [...near, ...accepted].every(({ heard }) => heard.length === length));
    await until("each memory is given back, once", () => written === wanted);
    for (const [i, { sent, heard, channel }] of near.entries()) {
      t.ok(accepted[i].heard.bytes.equals(sent), "to the other end");
      t.ok(heard.bytes.equals(back[i]), "and back");
      t.equal(channel.waitingBytes, 0, "nothing waits");
    }
  }
});

t.test("a channel that is not read holds its window, and no other channel", async (t) => {
  const { open, accepted } = connected();
  const [slow, fast] = [open(), open()];
  slow.channel.write([Buffer.from("s")]);
  fast.channel.write([Buffer.from("f")]);
  await until("they are accepted", () => accepted.length === 2);
  slow.channel.pause();
  const large = numbered(1_000_000, 3);
  let released = 0;
  for (const { channel } of accepted) channel.write([large], () => released++);
  await until("the other one has all", () => fast.heard.length === large.length);
  t.equal(slow.heard.length, 0);
  t.equal(accepted[0].channel.waitingBytes, large.length - windowBytesMin);
  t.equal(released, 1, "what waits is not given back");
  slow.channel.resume();
  await until("it is read", () => slow.heard.length === large.length);
  t.ok(slow.heard.bytes.equals(large));
  accepted[0].channel.finish();
  await until("it has ended", () => slow.heard.closed !== undefined);
  t.equal(slow.heard.closed, "whole");
});

t.test("who stops listening again is told no more than a step", async (t) => {
  const { open, accepted } = connected();
  const { channel } = open();
  channel.write([Buffer.from("x")]);
  await until("it is accepted", () => accepted.length === 1);
  channel.pause();
  const large = numbered(200_000, 3);
  accepted[0].channel.write([large]);
  await until("the window is full", () => accepted[0].channel.waitingBytes === large.length - windowBytesMin);
  const heard: Buffer[] = [];
  channel.receive({
    bytes: (chunk) => {
      heard.push(Buffer.from(chunk));
      channel.pause();
    },
    closed: () => undefined,
  });
  for (let length = 0; length < large.length; length = Buffer.concat(heard).length) {
    channel.resume();
    await until("more comes", () => Buffer.concat(heard).length > length);
  }
  t.ok(heard.length >= large.length / windowBytesMin + 4, `${heard.length} steps`);
  t.ok(Buffer.concat(heard).equals(large));
});

t.test("what is given up is given back, and what comes for it is dropped", async (t) => {
  const { client, server, open, accepted } = connected();
  const { channel, heard } = open();
  channel.write([Buffer.from("x")]);
  await until("it is accepted", () => accepted.length === 1);
  channel.pause();
  let released = 0;
  accepted[0].channel.write([numbered(500_000, 3)], () => released++);
  channel.close();
  await until("the other end has learned it", () => accepted[0].heard.closed !== undefined);
  t.match(accepted[0].heard.closed, /given it up/);
  await until("its memory is free", () => released === 1);
  t.equal(heard.closed, undefined, "who closes is told nothing");

  const later = open();
  later.channel.write([Buffer.from("y")]);
  await until("the connection goes on", () => accepted.length === 2);
  server.destroy("it is over");
  await until("all channels end", () => later.heard.closed !== undefined && accepted[1].heard.closed !== undefined);
  t.equal(accepted[1].heard.closed, "it is over");
  t.ok(client.isClosed);
  t.equal(client.open(), undefined);
});

t.test("a channel that is opened first may speak last", async (t) => {
  const { open, accepted } = connected();
  const [early, late] = [open(), open()];
  late.channel.write([Buffer.from("late")]);
  early.channel.write([Buffer.from("early")]);
  await until("both arrive", () => accepted.length === 2 && accepted[1].heard.length === 5);
  t.same(
    accepted.map(({ heard }) => heard.bytes.toString()),
    ["late", "early"],
  );
});

t.test("channels have a limit", (t) => {
  const { client } = connected();
  for (let i = 0; i < channelsMax; i++) client.open();
  t.equal(client.open(), undefined);
  t.end();
});

t.test("whoever sends what may not be sent is not heard any more", async (t) => {
  const { data, hello, ping, window } = segmentKinds;
  const said = (kind: number, bytes = Buffer.alloc(0), id = 0): Buffer =>
    Buffer.concat([segmentHeader(id, kind, bytes.length), bytes]);
  const greeting = (windowBytes: number, version = "1"): Buffer => {
    const bytes = Buffer.from(`----${version}`);
    bytes.writeUInt32LE(windowBytes);
    return said(hello, bytes);
  };
  const good = greeting(windowBytesMin);
  const chunk = Buffer.alloc(60_000);
  const rows: readonly (readonly [what: string, bytes: readonly Buffer[], reason: RegExp])[] = [
    ["data without a name", [said(data, chunk, 1)], /before it has said who it is/],
    ["a name twice", [good, good], /twice or not at all/],
    ["no window", [greeting(0)], /a window of 0 bytes/],
    ["a huge window", [greeting(2 ** 31)], /a window of 2147483648 bytes/],
    ["no data", [good, said(data, Buffer.alloc(0), 1)], /a segment of 0 bytes/],
    ["too much at once", [good, segmentHeader(1, data, 300_000)], /a segment of 300000 bytes/],
    ["more than the window", [good, said(data, chunk, 1), said(data, chunk, 1)], /more than the window/],
    ["a long name", [segmentHeader(0, hello, 5_000)], /a segment of 5000 bytes/],
    ["a kind of its own", [good, said(99)], /kind 99/],
    ["a window that is none", [good, said(data, chunk, 1), said(window, Buffer.alloc(3), 1)], /no number/],
    [
      "windows without an end",
      [good, said(data, chunk, 1), said(window, Buffer.alloc(4, 0xff), 1), said(window, Buffer.alloc(4, 0xff), 1)],
      /too wide/,
    ],
  ];
  for (const [what, pieces, reason] of rows)
    for (const step of [1_000_000, 5]) {
      const [near] = socketPair();
      let closed = "";
      // Whoever does not take what arrives has a window that fills.
      const accept = (channel: ByteChannel): void => {
        channel.receive({ bytes: () => undefined, closed: () => undefined });
        channel.pause();
      };
      const connection = new Connection(near, endOf({ accept, onClosed: (said) => (closed = said) }));
      const bytes = Buffer.concat(pieces);
      for (let at = 0; at < bytes.length; at += step) connection.receive(bytes.subarray(at, at + step));
      await until(what, () => closed !== "");
      t.match(closed, reason, what);
    }

  const [near, far] = socketPair();
  const connection = new Connection(near, endOf());
  const answered: Buffer[] = [];
  connection.receive(Buffer.concat([good, ...Array.from({ length: 1_000 }, () => said(ping))]));
  far.on("data", (bytes: Buffer) => answered.push(bytes));
  await until("it is answered", () => answered.length > 1);
  t.ok(Buffer.concat(answered).length < 100, "one answer for all questions that were there");
  const [idle] = socketPair();
  let reason = "";
  const flooded = new Connection(
    idle,
    endOf({ accept: (channel) => channel.close(), onClosed: (said) => (reason = said) }),
  );
  flooded.receive(good);
  for (let id = 1; id < 400_000 && !flooded.isClosed; id += 1_000)
    flooded.receive(Buffer.concat(Array.from({ length: 1_000 }, (_, i) => said(data, Buffer.alloc(1), id + i))));
  await until("who never reads the answers is left", () => reason !== "");
  t.match(reason, /does not read what it is answered/);
  connection.receive(said(data, chunk, 7));
  await until("only the end that connects opens channels", () => connection.isClosed);
});

t.test("ends of two versions say so, and nothing else", async (t) => {
  const [near, far] = socketPair();
  let acceptedCount = 0;
  const client = new Connection(near, endOf({ version: "1" }));
  const server = new Connection(far, endOf({ version: "2", accept: () => acceptedCount++ }));
  const channel = client.open();
  if (channel === undefined) throw new Error("no channel");
  const heard = new Heard(channel);
  channel.write([Buffer.from("hello")]);
  near.on("data", (chunk: Buffer) => client.receive(chunk));
  far.on("data", (chunk: Buffer) => server.receive(chunk));
  await until("it is refused", () => heard.closed !== undefined);
  t.match(heard.closed, /it runs version 2, and this node 1/);
  const next = client.open();
  if (next === undefined) throw new Error("no channel");
  const another = new Heard(next);
  await until("later ones, too", () => another.closed !== undefined);
  t.equal(acceptedCount, 0);
});
