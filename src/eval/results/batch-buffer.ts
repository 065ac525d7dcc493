import { uninitializedBytes } from "../../base/bytes.js";

/** Capacity of a batch's buffer. A document whose matches need more continues in another match object. */
export const batchBufferBytes = 256 * 1024;

/**
 * Batches that fill less than this part of their buffer are copied, so that memory in flight is at most this many times
 * the bytes of its batches.
 */
const bufferBytesPerByteMax = 2;

const comma = 44;

/** Where buffers of `batchBufferBytes` come from. */
export interface BufferSource {
  take(): Buffer;
  put(buffer: Buffer): void;
}

/** The bytes of a batch, and whether they are in a buffer of the source, which the receiver must return. */
export interface BatchBytes {
  readonly bytes: Uint8Array;
  readonly isLent: boolean;
}

/** The buffer that results are written into until they are sent as a batch. */
export class BatchBuffer {
  readonly #source: BufferSource;
  #buffer: Buffer;
  /** Bytes that are written. */
  length = 0;

  constructor(source: BufferSource) {
    this.#source = source;
    this.#buffer = source.take();
  }

  /** The whole buffer; the first `length` bytes are written. */
  get buffer(): Buffer {
    return this.#buffer;
  }

  /** Appends an element, with a comma before all but the first. */
  append(element: Buffer): void {
    const needed = this.length + element.length + 1;
    if (needed > this.#buffer.length) {
      const grown = uninitializedBytes(2 * needed);
      this.#buffer.copy(grown, 0, 0, this.length);
      if (this.#buffer.length === batchBufferBytes) this.#source.put(this.#buffer);
      this.#buffer = grown;
    }
    if (this.length > 0) this.#buffer[this.length++] = comma;
    this.length += element.copy(this.#buffer, this.length);
  }

  /** Doubles an empty buffer. */
  grow(): void {
    this.#buffer = uninitializedBytes(this.#buffer.length * 2);
  }

  /** Replaces a buffer that has grown, once it is empty. */
  shrink(): void {
    if (this.#buffer.length > batchBufferBytes) this.#buffer = this.#source.take();
  }

  /** Returns the bytes that are written, and empties the buffer. */
  take(): BatchBytes {
    const isLent = this.#buffer.length === batchBufferBytes && this.length * bufferBytesPerByteMax >= batchBufferBytes;
    const written = this.#buffer.subarray(0, this.length);
    const bytes = isLent ? written : new Uint8Array(written);
    if (isLent) this.#buffer = this.#source.take();
    this.length = 0;
    return { bytes, isLent };
  }

  /** Returns the buffer to its source. */
  close(): void {
    this.#source.put(this.#buffer);
  }
}
