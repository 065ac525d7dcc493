import type { Duplex } from "node:stream";
import { uninitializedBytes } from "../base/bytes.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import { workInSteps } from "../base/yielding.js";
import { GatheredBytes } from "./frames.js";
import { watchConnection } from "./liveness.js";

/** Who gets the bytes of a channel. */
export interface ByteReceiver {
  /** The bytes are valid during the call only. */
  bytes(chunk: Uint8Array): void;
  /** Called once, unless this end has closed the channel. `reason` is undefined if the other end has said everything. */
  closed(reason: string | undefined): void;
}

/** One of the streams of bytes over a connection, in both directions. */
export interface ByteChannel {
  readonly isOpen: boolean;
  /** Bytes that wait in this process to be sent. */
  readonly waitingBytes: number;
  /** To be called at once. */
  receive(receiver: ByteReceiver): void;
  /** `written` is called when the pieces are not needed any more, also if they were not sent. */
  write(pieces: readonly Uint8Array[], written?: () => void): void;
  /** While it is paused nothing arrives, and the other end may send as much as the window of the channel holds. */
  pause(): void;
  resume(): void;
  /** Nothing more will be sent; what was sent arrives. */
  finish(): void;
  /** Abandons the channel in both directions. */
  close(): void;
}

/** What both ends must have in common, besides the version of the program. */
export const connectionProtocol = "trawl-nodes";

/** Bytes that the other end may send over a channel before this one has taken them, and has told so. */
export const windowBytesMin = 64 * 1024;
export const windowBytesMax = 1024 * 1024;

/** Channels of one connection at the same time. */
export const channelsMax = 1_000;

/** Bytes that a connection has given to its socket; the channels hold the rest, and take turns. */
const writtenBytesMax = 512 * 1024;

/** Of one segment: so long the other channels wait for one that sends. */
const segmentBytesMax = 256 * 1024;

/**
 * Bytes that wait in the socket at most: beside those of channels, only answers to what the other end says. If it reads none of them, the
 * connection ends.
 */
const waitingBytesMax = 1024 * 1024;

/** Of what has arrived while a channel was paused, so much is handed on in a step. */
const handedBytes = 16 * 1024;

/** Pieces below this size are copied into one, because each one that is written is a call of the system. */
const smallBytes = 4 * 1024;

/** Kinds of segments. */
export const segmentKinds = { data: 0, end: 1, reset: 2, window: 3, ping: 4, pong: 5, hello: 6 } as const;

const headerBytes = 8;
const noBytes = uninitializedBytes(0);

/** Bytes of a segment that is no data, at most. */
const controlBytesMax = 256;

export interface ConnectionEnd {
  /** The version of the program: that of the other end must be the same. */
  readonly version: string;
  /** Bytes that the other end may send over each channel, unread. */
  readonly windowBytes: number;
  /** The other end, as in sentences. */
  readonly name: string;
  /** How often the other end is asked whether it is there. */
  readonly askMs: number;
  /** Undefined at the end that opens channels. */
  readonly accept: ((channel: ByteChannel) => void) | undefined;
  /** The other end has said who it is. */
  readonly onHello: () => void;
  /** It was silent. */
  readonly onMissed: () => void;
  readonly onClosed: (reason: string) => void;
}

/**
 * One connection between two nodes, on which channels take turns. HTTP/2 would do the same; its streams of Node cost twice the
 * processor time of TLS itself (docs/decisions/0046-segments-over-tls.md).
 *
 *     u32 channel; u24 length and u8 kind, as one u32 with the kind in its upper byte, little-endian; bytes of this length
 *
 *     data     bytes of the channel; the first ones of a number open it, and numbers only grow
 *     end      this end has said everything
 *     reset    this end has abandoned the channel
 *     window   u32: so many bytes more may be sent over the channel
 *     ping     is answered by `pong`
 *     hello    u32: the window of each channel; then the version of the program. The first segment of each end
 *
 * Only the end that has connected opens channels. Each channel begins with a window of `windowBytesMin`, until `hello` says more.
 *
 * Whoever sends what may not be sent, such as more than a window, ends the connection.
 */
export class Connection {
  readonly #socket: Duplex;
  readonly #end: ConnectionEnd;
  readonly #channels = new Map<number, Channel>();
  /** Channels of which nothing has been sent: they get their numbers when something is. */
  readonly #unsent = new Set<Channel>();
  /** Channels that have something to send and may send it, in their turn. */
  readonly #ready: Channel[] = [];
  #lastId = 0;
  /** What the other end lets each channel send at first. */
  #sendWindow = windowBytesMin;
  #hasHello = false;
  /** Why nothing is said over this connection. */
  #refusal: string | undefined;
  #hasPong = false;
  #error: string | undefined;
  #isClosed = false;
  readonly #watch: { heard(): void; cancel(): void };
  /** Of the segment that arrives: its header as far as it is there, and what follows. */
  readonly #header = uninitializedBytes(headerBytes);
  #headerLength = 0;
  #id = 0;
  #kind: number = segmentKinds.data;
  #leftBytes = 0;
  readonly #control = new GatheredBytes();

  /** Whoever makes the socket passes on to `receive` what arrives. */
  constructor(socket: Duplex, end: ConnectionEnd) {
    this.#socket = socket;
    this.#end = end;
    socket.on("error", (error) => {
      this.#error ??= errorMessage(error);
    });
    socket.once("close", () => this.#close());
    this.#watch = watchConnection(this, end.name, end.askMs, end.onMissed);
    const version = Buffer.from(end.version).subarray(0, controlBytesMax - 4);
    this.#write(0, segmentKinds.hello, Buffer.concat([word(end.windowBytes), version]));
  }

  get isClosed(): boolean {
    return this.#isClosed || this.#socket.destroyed;
  }

  /** Whether the other end has said who it is. */
  get isThere(): boolean {
    return this.#hasHello;
  }

  /** Undefined if there are as many as there may be. */
  open(): ByteChannel | undefined {
    if (this.#channels.size + this.#unsent.size >= channelsMax || this.isClosed) return undefined;
    const channel = new Channel(0, this, this.#end.windowBytes, this.#sendWindow);
    this.#unsent.add(channel);
    const refusal = this.#refusal;
    if (refusal !== undefined) queueMicrotask(() => channel.breakOff(refusal));
    return channel;
  }

  ping(): void {
    if (this.#hasHello) this.#write(0, segmentKinds.ping, noBytes);
  }

  destroy(reason?: string): void {
    this.#error ??= reason;
    this.#socket.destroy();
  }

  /** What has arrived; its memory may be used again. Never throws. */
  receive(chunk: Uint8Array): void {
    this.#watch.heard();
    try {
      for (let at = 0; at < chunk.length && !this.isClosed; ) at = this.#take(chunk, at);
    } catch (error) {
      this.destroy(errorMessage(error));
    }
  }

  /** Takes a part of a segment. Returns where the next one begins. */
  #take(chunk: Uint8Array, from: number): number {
    if (this.#leftBytes === 0) {
      const to = Math.min(chunk.length, from + headerBytes - this.#headerLength);
      this.#header.set(chunk.subarray(from, to), this.#headerLength);
      this.#headerLength += to - from;
      if (this.#headerLength === headerBytes) this.#begin();
      return to;
    }
    const to = Math.min(chunk.length, from + this.#leftBytes);
    const piece = chunk.subarray(from, to);
    this.#leftBytes -= piece.length;
    if (this.#kind === segmentKinds.data) this.#channels.get(this.#id)?.take(piece);
    else {
      this.#control.add(piece, this.#control.length + piece.length + this.#leftBytes);
      if (this.#leftBytes === 0) this.#obey();
    }
    return to;
  }

  #begin(): void {
    this.#headerLength = 0;
    this.#id = this.#header.readUInt32LE(0);
    const rest = this.#header.readUInt32LE(4);
    this.#kind = rest >>> 24;
    this.#leftBytes = rest & 0xff_ffff;
    if (this.#kind !== segmentKinds.hello) require(this.#hasHello, "something before it has said who it is");
    if (this.#kind !== segmentKinds.data) {
      require(this.#leftBytes <= controlBytesMax, `a segment of ${this.#leftBytes} bytes`);
      if (this.#leftBytes === 0) this.#obey();
      return;
    }
    require(this.#leftBytes > 0 && this.#leftBytes <= segmentBytesMax, `a segment of ${this.#leftBytes} bytes`);
    if (this.#id > this.#lastId && this.#refusal === undefined) this.#accept();
  }

  /** What a node of another version says is not read. */
  #accept(): void {
    const { accept } = this.#end;
    require(accept !== undefined, "something over a channel that was not opened");
    this.#lastId = this.#id;
    if (this.#channels.size >= channelsMax) return this.sendReset(this.#id);
    const channel = new Channel(this.#id, this, this.#end.windowBytes, this.#sendWindow);
    this.#channels.set(this.#id, channel);
    accept(channel);
  }

  get #allChannels(): Channel[] {
    return [...this.#channels.values(), ...this.#unsent];
  }

  /** The number of a channel of which something is sent for the first time: numbers are sent in their order. */
  giveId(channel: Channel): number {
    this.#unsent.delete(channel);
    this.#channels.set(++this.#lastId, channel);
    return this.#lastId;
  }

  /** Does what a segment without data says. Those of channels that are closed are late. */
  #obey(): void {
    const { bytes } = this.#control.take();
    const channel = this.#channels.get(this.#id);
    switch (this.#kind) {
      case segmentKinds.end:
        return channel?.takeEnd();
      case segmentKinds.reset:
        return channel?.breakOff("the other end has given it up");
      case segmentKinds.window:
        require(bytes.length === 4, "a window that is no number");
        return channel?.widen(bytes.readUInt32LE(0));
      case segmentKinds.ping:
        return this.#answer();
      case segmentKinds.pong:
        return;
      case segmentKinds.hello:
        return this.#meet(bytes);
      default:
        throw wrong(`a segment of the kind ${this.#kind}`);
    }
  }

  /** One answer for all pings before it: whoever does not read gets no more. */
  #answer(): void {
    if (this.#hasPong) return;
    this.#hasPong = true;
    this.#write(0, segmentKinds.pong, noBytes, () => {
      this.#hasPong = false;
    });
  }

  #meet(bytes: Buffer): void {
    require(!this.#hasHello && bytes.length > 4, "who it is, twice or not at all");
    this.#hasHello = true;
    this.#sendWindow = bytes.readUInt32LE(0);
    const isPossible = this.#sendWindow >= windowBytesMin && this.#sendWindow <= windowBytesMax;
    require(isPossible, `a window of ${this.#sendWindow} bytes`);
    const version = bytes.toString("utf8", 4);
    const own = this.#end.version;
    if (version !== own)
      this.#refusal = `it runs version ${version}, and this node ${own}: all nodes must run the same version`;
    this.#end.onHello();
    for (const channel of this.#allChannels)
      if (this.#refusal !== undefined) channel.breakOff(this.#refusal);
      else channel.widen(this.#sendWindow - windowBytesMin);
  }

  /** The channel has something to send. */
  ready(channel: Channel): void {
    this.#ready.push(channel);
    this.#send();
  }

  #send(): void {
    while (this.#socket.writableLength < writtenBytesMax) {
      const channel = this.#ready.shift();
      if (channel === undefined) return;
      if (channel.sendSegment(segmentBytesMax)) this.#ready.push(channel);
    }
  }

  /** With `taken` the other end is told of so many bytes that this one has taken. */
  sendData(id: number, pieces: readonly Uint8Array[], byteCount: number, taken: number, onWritten: () => void): void {
    const written = (): void => {
      onWritten();
      this.#send();
    };
    let small = [segmentHeader(id, segmentKinds.data, byteCount)] as Uint8Array[];
    if (taken > 0) small.unshift(segmentHeader(id, segmentKinds.window, 4), word(taken));
    const [last] = pieces.slice(-1);
    for (const piece of pieces) {
      if (piece.length < smallBytes) {
        small.push(piece);
        continue;
      }
      if (small.length > 0) this.#socket.write(joined(small));
      small = [];
      if (piece === last) return void this.#socket.write(piece, written);
      this.#socket.write(piece);
    }
    this.#socket.write(joined(small), written);
  }

  sendWindow(id: number, byteCount: number): void {
    this.#write(id, segmentKinds.window, word(byteCount));
  }

  sendEnd(id: number): void {
    if (id > 0) this.#write(id, segmentKinds.end, noBytes);
  }

  sendReset(id: number): void {
    if (id > 0) this.#write(id, segmentKinds.reset, noBytes);
  }

  forget(channel: Channel, id: number): void {
    if (id === 0) this.#unsent.delete(channel);
    else this.#channels.delete(id);
  }

  #write(id: number, kind: number, bytes: Uint8Array, written?: () => void): void {
    if (this.#socket.destroyed) return;
    if (this.#socket.writableLength > waitingBytesMax) return this.destroy("it does not read what it is answered");
    this.#socket.write(Buffer.concat([segmentHeader(id, kind, bytes.length), bytes]), written);
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#watch.cancel();
    const reason = this.#error ?? "the connection broke";
    this.#end.onClosed(reason);
    for (const channel of this.#allChannels) channel.breakOff(reason);
  }
}

/** Bytes that wait to be sent, the first ones of which may have been sent. */
interface Waiting {
  bytes: Uint8Array;
  readonly written: (() => void) | undefined;
}

class Channel implements ByteChannel {
  /** 0 as long as nothing was sent over a channel that this end has opened. */
  #id: number;
  readonly #connection: Connection;
  readonly #windowBytes: number;
  #receiver: ByteReceiver | undefined;
  #isOpen = true;
  #queue: Waiting[] = [];
  #queuedBytes = 0;
  /** Given to the socket, which has not sent them. */
  #writtenBytes = 0;
  /** What the other end lets this one send. */
  #mayBytes: number;
  #isReady = false;
  #isFinished = false;
  #hasSentEnd = false;
  /** What the other end may send. */
  #leftBytes: number;
  /** Bytes that were taken, and of which the other end has not been told. */
  #takenBytes = 0;
  #isPaused = false;
  /** What has arrived while the channel was paused. */
  readonly #held = new GatheredBytes();
  /** What of it is handed on now, and how far. */
  #handed: { readonly bytes: Buffer; readonly release: () => void; from: number } | undefined;
  #isHanding = false;
  #hasEnded = false;

  constructor(id: number, connection: Connection, windowBytes: number, mayBytes: number) {
    this.#id = id;
    this.#connection = connection;
    this.#windowBytes = windowBytes;
    this.#leftBytes = windowBytes;
    this.#mayBytes = mayBytes;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get waitingBytes(): number {
    return this.#queuedBytes + this.#writtenBytes;
  }

  receive(receiver: ByteReceiver): void {
    this.#receiver = receiver;
  }

  write(pieces: readonly Uint8Array[], written?: () => void): void {
    if (!this.#isOpen || this.#isFinished) return written?.();
    const whole = pieces.filter(({ length }) => length > 0);
    for (const [i, bytes] of whole.entries()) {
      this.#queue.push({ bytes, written: i === whole.length - 1 ? written : undefined });
      this.#queuedBytes += bytes.length;
    }
    if (whole.length === 0) written?.();
    this.#becomeReady();
  }

  /** The other end lets this one send more. */
  widen(byteCount: number): void {
    this.#mayBytes += byteCount;
    require(this.#mayBytes <= 2 ** 32, "a window that is too wide");
    this.#becomeReady();
  }

  #becomeReady(): void {
    if (this.#isReady || !this.#isOpen || this.#queuedBytes === 0 || this.#mayBytes === 0) return this.#sendEnd();
    this.#isReady = true;
    this.#connection.ready(this);
  }

  /** Sends as much as it may in one segment. Returns whether more could follow. */
  sendSegment(bytesMax: number): boolean {
    this.#isReady = false;
    const byteCount = Math.min(bytesMax, this.#queuedBytes, this.#mayBytes);
    if (!this.#isOpen || byteCount === 0) return false;
    const pieces: Uint8Array[] = [];
    const done: (() => void)[] = [];
    for (let left = byteCount; left > 0; ) {
      const [first] = this.#queue;
      const piece = first.bytes.subarray(0, left);
      pieces.push(piece);
      left -= piece.length;
      if (piece.length === first.bytes.length) {
        this.#queue.shift();
        if (first.written !== undefined) done.push(first.written);
      } else first.bytes = first.bytes.subarray(piece.length);
    }
    if (this.#id === 0) this.#id = this.#connection.giveId(this);
    this.#queuedBytes -= byteCount;
    this.#writtenBytes += byteCount;
    this.#mayBytes -= byteCount;
    this.#connection.sendData(this.#id, pieces, byteCount, this.#tellTaken(), () => {
      this.#writtenBytes -= byteCount;
      for (const written of done) written();
    });
    this.#isReady = this.#queuedBytes > 0 && this.#mayBytes > 0;
    if (!this.#isReady) this.#sendEnd();
    return this.#isReady;
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (this.#isHanding || (!this.#hasHeld && !this.#hasEnded)) return;
    this.#isHanding = true;
    // Not within what has called: it goes on before anything arrives. Many channels may be resumed at once.
    queueMicrotask(() => workInSteps({ step: () => this.#handSome() }));
  }

  get #hasHeld(): boolean {
    return this.#handed !== undefined || this.#held.length > 0;
  }

  /** Hands on some of what has arrived meanwhile. Returns whether nothing is left, or nobody listens. */
  #handSome(): boolean {
    if (this.#isOpen && !this.#isPaused && this.#hasHeld) {
      const handed = (this.#handed ??= { ...this.#held.take(), from: 0 });
      const piece = handed.bytes.subarray(handed.from, handed.from + handedBytes);
      handed.from += piece.length;
      this.#hand(piece);
      if (handed.from === handed.bytes.length) this.#releaseHanded();
      if (this.#isOpen && !this.#isPaused && this.#hasHeld) return false;
    }
    this.#isHanding = false;
    if (this.#isOpen && this.#hasEnded) this.takeEnd();
    return true;
  }

  #releaseHanded(): void {
    this.#handed?.release();
    this.#handed = undefined;
  }

  take(piece: Uint8Array): void {
    this.#leftBytes -= piece.length;
    require(this.#leftBytes >= 0, "more than the window of a channel");
    if (this.#isPaused || this.#hasHeld) this.#held.add(piece, this.#windowBytes);
    else this.#hand(piece);
  }

  #hand(piece: Uint8Array): void {
    this.#receiver?.bytes(piece);
    this.#takenBytes += piece.length;
    // Usually something is sent before, and tells it.
    if (this.#isOpen && 2 * this.#takenBytes >= this.#windowBytes)
      this.#connection.sendWindow(this.#id, this.#tellTaken());
  }

  /** The bytes that were taken: the other end may send as many again. */
  #tellTaken(): number {
    const taken = this.#takenBytes;
    this.#takenBytes = 0;
    this.#leftBytes += taken;
    return taken;
  }

  /** The other end has said everything. */
  takeEnd(): void {
    this.#hasEnded = true;
    if (this.#isPaused || this.#hasHeld) return;
    if (!this.#hasSentEnd && this.#isOpen) this.#connection.sendReset(this.#id);
    this.breakOff(undefined);
  }

  finish(): void {
    this.#isFinished = true;
    this.#sendEnd();
  }

  #sendEnd(): void {
    if (!this.#isOpen || !this.#isFinished || this.#hasSentEnd || this.#queuedBytes > 0) return;
    this.#hasSentEnd = true;
    this.#connection.sendEnd(this.#id);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#connection.sendReset(this.#id);
    this.#abandon();
  }

  /** Nothing arrives any more, and nothing can be sent. */
  breakOff(reason: string | undefined): void {
    if (!this.#isOpen) return;
    this.#abandon();
    this.#receiver?.closed(reason);
  }

  #abandon(): void {
    this.#isOpen = false;
    this.#connection.forget(this, this.#id);
    const queue = this.#queue;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#held.take().release();
    this.#releaseHanded();
    for (const { written } of queue) written?.();
  }
}

function word(value: number): Buffer {
  const bytes = uninitializedBytes(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

export function segmentHeader(id: number, kind: number, byteCount: number): Buffer {
  const bytes = uninitializedBytes(headerBytes);
  bytes.writeUInt32LE(id, 0);
  bytes.writeUInt32LE(((kind << 24) | byteCount) >>> 0, 4);
  return bytes;
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  return pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
}

function require(condition: boolean, message: string): asserts condition {
  if (!condition) throw wrong(message);
}

function wrong(message: string): TrawlError {
  return new TrawlError("bad-request", `it has sent ${message}`);
}
