import { assert } from "../base/assert.js";
import { uninitializedBytes } from "../base/bytes.js";
import { TrawlError } from "../base/errors.js";
import { isObject } from "../base/is-object.js";

/**
 * A message between nodes: JSON that says what it is, and bytes that are passed on without being looked at.
 *
 *     u32 length of the head, u32 length of the body, little-endian; the head in UTF-8; the body
 */
export interface Frame {
  readonly head: Readonly<Record<string, unknown>>;
  /** Of its JSON. */
  readonly headBytes: number;
  readonly body: Uint8Array;
  /** May be called once the body is not needed any more: its memory is then used for another one. */
  readonly release: () => void;
}

export interface FrameLimits {
  readonly headBytesMax: number;
  readonly bodyBytesMax: number;
}

/** A list of 1,000 names of 1,000 bytes is a head of 1 MB; a line of results is never longer than 10 MiB. */
export const frameLimits: FrameLimits = { headBytesMax: 4 * 1024 * 1024, bodyBytesMax: 16 * 1024 * 1024 };

const prefixBytes = 8;

/**
 * Memory of large frames that were released, for others that fill at least half of it. Without it each batch of results is garbage
 * outside the heap, of which some tens of MiB make V8 collect the whole heap.
 */
class FrameMemory {
  /** Larger frames have memory of their own, and those that fit into the smallest one only until they have arrived. */
  static readonly sizes = [64 * 1024, 128 * 1024, 256 * 1024] as const;
  static readonly #keptMax = 8;
  readonly #free = new Map<number, Buffer[]>(FrameMemory.sizes.map((size) => [size, []]));

  static isKept(memory: Buffer): boolean {
    return FrameMemory.sizes.some((size) => size === memory.length);
  }

  /** Memory of at least this size. */
  take(byteCount: number): Buffer {
    const size = FrameMemory.sizes.find((size) => size >= byteCount);
    return this.#free.get(size ?? 0)?.pop() ?? uninitializedBytes(size ?? byteCount);
  }

  /** It belongs to nobody any more. */
  give(memory: Buffer): void {
    const free = this.#free.get(memory.length);
    if (free !== undefined && free.length < FrameMemory.#keptMax) free.push(memory);
  }
}

const frameMemory = new FrameMemory();

function nothing(): void {
  // The memory belongs to nobody else.
}

/**
 * The beginning of something whose length is known, as far as it has arrived: in memory that grows with it, because a length is only a
 * claim.
 */
export class GatheredBytes {
  #memory: Buffer | undefined;
  length = 0;

  /** Copies the piece, of `wantedBytes` in all. */
  add(piece: Uint8Array, wantedBytes: number): void {
    const length = this.length + piece.length;
    if (this.#memory === undefined || this.#memory.length < length) this.#grow(length, wantedBytes);
    this.#memory?.set(piece, this.length);
    this.length = length;
  }

  /** What was gathered, after which there is nothing. `release` gives its memory back. */
  take(): { readonly bytes: Buffer; readonly release: () => void } {
    let memory = this.#memory;
    const bytes = memory?.subarray(0, this.length) ?? uninitializedBytes(0);
    this.#memory = undefined;
    this.length = 0;
    // Whoever keeps `release` must not keep memory that nobody uses again.
    if (memory === undefined || !FrameMemory.isKept(memory)) return { bytes, release: nothing };
    const release = (): void => {
      if (memory !== undefined) frameMemory.give(memory);
      memory = undefined;
    };
    return { bytes, release };
  }

  #grow(length: number, wantedBytes: number): void {
    const [least] = FrameMemory.sizes;
    const isSmall = wantedBytes <= least;
    const memory = isSmall ? uninitializedBytes(wantedBytes) : frameMemory.take(Math.min(wantedBytes, 4 * length));
    if (this.#memory !== undefined) {
      memory.set(this.#memory.subarray(0, this.length));
      frameMemory.give(this.#memory);
    }
    this.#memory = memory;
  }
}

/** The bytes before the body, which follows as it is. */
export function frameStart(head: object, bodyBytes: number, limits: FrameLimits = frameLimits): Uint8Array {
  const json = JSON.stringify(head);
  const headBytes = Buffer.byteLength(json);
  assert(headBytes <= limits.headBytesMax, `a head of ${headBytes} bytes`);
  assert(bodyBytes <= limits.bodyBytesMax, `a body of ${bodyBytes} bytes`);
  const start = uninitializedBytes(prefixBytes + headBytes);
  start.writeUInt32LE(headBytes, 0);
  start.writeUInt32LE(bodyBytes, 4);
  start.write(json, prefixBytes);
  return start;
}

/**
 * Splits a stream of bytes into frames, in whatever pieces it arrives, which are copied: their memory may be used again. It keeps what
 * has arrived of one frame, in memory of at most four times as much, or 64 KiB.
 */
export class FrameParser {
  readonly #limits: FrameLimits;
  readonly #gathered = new GatheredBytes();
  /** Of the next part: the two lengths, or a frame of which they are known. */
  #wantedBytes = prefixBytes;
  /** Undefined while the lengths are awaited. */
  #headBytes: number | undefined;

  constructor(limits: FrameLimits = frameLimits) {
    this.#limits = limits;
  }

  /** Whether a part of a frame has arrived. */
  get isWithin(): boolean {
    return this.#gathered.length > 0 || this.#headBytes !== undefined;
  }

  /** Yields the frames that end in this chunk. Throws `bad-request` for what is no frame; no call may follow. */
  *push(chunk: Uint8Array): Generator<Frame, void> {
    for (let at = 0; ; ) {
      const isNew = this.#gathered.length === 0;
      const end = at + this.#wantedBytes - this.#gathered.length;
      if (at < chunk.length && (!isNew || chunk.length < end))
        this.#gathered.add(chunk.subarray(at, end), this.#wantedBytes);
      if (chunk.length < end) return;
      const whole = isNew ? { bytes: bufferOn(chunk.subarray(at, end)), release: undefined } : this.#gathered.take();
      at = end;
      if (this.#headBytes === undefined) {
        this.#readLengths(whole.bytes);
        whole.release?.();
      } else yield this.#readFrame(whole.bytes, this.#headBytes, whole.release);
    }
  }

  #readLengths(bytes: Buffer): void {
    const { headBytesMax, bodyBytesMax } = this.#limits;
    const headBytes = bytes.readUInt32LE(0);
    const bodyBytes = bytes.readUInt32LE(4);
    if (headBytes > headBytesMax)
      throw wrong(`the head of a message has ${headBytes} bytes, of at most ${headBytesMax}`);
    if (bodyBytes > bodyBytesMax)
      throw wrong(`the body of a message has ${bodyBytes} bytes, of at most ${bodyBytesMax}`);
    this.#headBytes = headBytes;
    this.#wantedBytes = headBytes + bodyBytes;
  }

  /** Without `release` the bytes are those of the chunk, and the body is copied. */
  #readFrame(bytes: Buffer, headBytes: number, release: (() => void) | undefined): Frame {
    this.#headBytes = undefined;
    this.#wantedBytes = prefixBytes;
    const head = parseHead(bytes.subarray(0, headBytes));
    const body = bytes.subarray(headBytes);
    return { head, headBytes, body: release === undefined ? new Uint8Array(body) : body, release: release ?? nothing };
  }
}

function bufferOn({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function parseHead(bytes: Buffer): Frame["head"] {
  let head: unknown;
  try {
    head = JSON.parse(bytes.toString());
  } catch {
    throw wrong("the head of a message is no JSON");
  }
  if (!isObject(head)) throw wrong("the head of a message is no object");
  return head;
}

function wrong(message: string): TrawlError {
  return new TrawlError("bad-request", message);
}
