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
 * Memory of frames that were released, for others that fill at least half of it. Without it each batch of results is garbage outside
 * the heap, of which some tens of MiB make V8 collect the whole heap.
 */
class FrameMemory {
  static readonly bytes = 256 * 1024;
  static readonly #keptMax = 8;
  readonly #free: Buffer[] = [];

  /** The pieces as one; `release` gives the memory back. */
  join(pieces: readonly Uint8Array[], byteCount: number): { readonly bytes: Buffer; readonly release: () => void } {
    if (byteCount > FrameMemory.bytes || 2 * byteCount < FrameMemory.bytes)
      return { bytes: Buffer.concat(pieces), release: nothing };
    let memory: Buffer | undefined = this.#free.pop() ?? uninitializedBytes(FrameMemory.bytes);
    const bytes = memory.subarray(0, byteCount);
    let at = 0;
    for (const piece of pieces) {
      bytes.set(piece, at);
      at += piece.length;
    }
    const release = (): void => {
      if (memory !== undefined && this.#free.length < FrameMemory.#keptMax) this.#free.push(memory);
      memory = undefined;
    };
    return { bytes, release };
  }
}

const frameMemory = new FrameMemory();

function nothing(): void {
  // The memory belongs to nobody else.
}

const smallBytes = 2 * 1024;
const tailBytes = 8 * 1024;

/** The bytes before the body, which follows as it is. */
export function frameStart(head: object, bodyBytes: number, limits: FrameLimits = frameLimits): Uint8Array {
  const json = Buffer.from(JSON.stringify(head));
  assert(json.length <= limits.headBytesMax, `a head of ${json.length} bytes`);
  assert(bodyBytes <= limits.bodyBytesMax, `a body of ${bodyBytes} bytes`);
  const start = uninitializedBytes(prefixBytes + json.length);
  start.writeUInt32LE(json.length, 0);
  start.writeUInt32LE(bodyBytes, 4);
  start.set(json, prefixBytes);
  return start;
}

/**
 * Splits a stream of bytes into frames, in whatever pieces it arrives. It keeps what has arrived of one frame, and allocates
 * nothing because of a length that is only announced.
 */
export class FrameParser {
  readonly #limits: FrameLimits;
  #pieces: Uint8Array[] = [];
  /** The memory of the last piece, if small ones were copied there. */
  #tail: { readonly memory: Uint8Array; used: number } | undefined;
  #gatheredBytes = 0;
  /** Of the next part: the two lengths, or a frame of which they are known. */
  #wantedBytes = prefixBytes;
  /** Undefined while the lengths are awaited. */
  #headBytes: number | undefined;

  constructor(limits: FrameLimits = frameLimits) {
    this.#limits = limits;
  }

  /** Whether a part of a frame has arrived. */
  get isWithin(): boolean {
    return this.#gatheredBytes > 0 || this.#headBytes !== undefined;
  }

  /** Yields the frames that end in this chunk. Throws `bad-request` for what is no frame; no call may follow. */
  *push(chunk: Uint8Array): Generator<Frame, void> {
    let rest = chunk;
    for (;;) {
      const missing = this.#wantedBytes - this.#gatheredBytes;
      if (rest.length < missing) {
        this.#keep(rest);
        this.#gatheredBytes += rest.length;
        return;
      }
      this.#pieces.push(rest.subarray(0, missing));
      rest = rest.subarray(missing);
      const { bytes, release } = frameMemory.join(this.#pieces, this.#wantedBytes);
      this.#pieces = [];
      this.#tail = undefined;
      this.#gatheredBytes = 0;
      if (this.#headBytes === undefined) this.#readLengths(bytes);
      else yield this.#readFrame(bytes, this.#headBytes, release);
    }
  }

  /** A piece holds on to the memory in which it arrived, so small ones are copied together. */
  #keep(piece: Uint8Array): void {
    if (piece.length >= smallBytes) {
      this.#tail = undefined;
      this.#pieces.push(piece);
    } else if (piece.length > 0) {
      let tail = this.#tail;
      if (tail === undefined || tail.memory.length - tail.used < piece.length) {
        tail = { memory: uninitializedBytes(tailBytes), used: 0 };
        this.#tail = tail;
      } else this.#pieces.pop();
      tail.memory.set(piece, tail.used);
      tail.used += piece.length;
      this.#pieces.push(tail.memory.subarray(0, tail.used));
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

  #readFrame(bytes: Buffer, headBytes: number, release: () => void): Frame {
    this.#headBytes = undefined;
    this.#wantedBytes = prefixBytes;
    const head = parseHead(bytes.subarray(0, headBytes));
    return { head, headBytes, body: bytes.subarray(headBytes), release };
  }
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
