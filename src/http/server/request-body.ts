import { uninitializedBytes } from "../../base/bytes.js";
import type { FullShare } from "../../base/fair-semaphore.js";

/** Bytes of all bodies that are received or worked on, together and of one client. */
export class ByteBudget {
  readonly #bytesMax: number;
  readonly #clientBytesMax: number;
  readonly #bytesOf = new Map<string, number>();
  #bytes = 0;

  constructor(bytesMax: number, clientBytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#clientBytesMax = clientBytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Takes so many bytes, or nothing and returns whose bound is reached. */
  take(client: string, byteCount: number): FullShare | undefined {
    const taken = (this.#bytesOf.get(client) ?? 0) + byteCount;
    if (taken > this.#clientBytesMax) return "client";
    if (this.#bytes + byteCount > this.#bytesMax) return "all";
    this.#bytesOf.set(client, taken);
    this.#bytes += byteCount;
    return undefined;
  }

  release(client: string, byteCount: number): void {
    const left = (this.#bytesOf.get(client) ?? 0) - byteCount;
    if (left > 0) this.#bytesOf.set(client, left);
    else this.#bytesOf.delete(client);
    this.#bytes -= byteCount;
  }
}

/**
 * Pieces that a body may come in whatever their length; with more, they have `pieceBytesMin` bytes on average.
 * uWebSockets.js makes an object for each: 200,000 pieces of one byte took 67 MiB and kept the main thread away for 280
 * ms.
 */
const piecesMax = 4096;
const pieceBytesMin = 64;

/** A body that comes in pieces does not begin with a smaller buffer. */
const piecedBytesMin = 4096;

/**
 * A body on its way: one buffer that doubles, so bytes that come in small pieces cost no more than others. What it has
 * allocated is taken from the budget until `release`.
 */
export class RequestBody {
  readonly #bytesMax: number;
  readonly #budget: ByteBudget;
  readonly #client: string;
  #buffer: Uint8Array = uninitializedBytes(0);
  #length = 0;
  #pieceCount = 0;

  constructor(bytesMax: number, budget: ByteBudget, client: string) {
    this.#bytesMax = bytesMax;
    this.#budget = budget;
    this.#client = client;
  }

  /** What has come. It is written to no more, and is valid as long as somebody holds it. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Copies the chunk; returns why it is not taken, and then the body is worth nothing. */
  push(chunk: Uint8Array, isLast: boolean): "too-large" | "too-many-pieces" | FullShare | undefined {
    const length = this.#length + chunk.length;
    if (length > this.#bytesMax) return "too-large";
    if (chunk.length > 0 && ++this.#pieceCount > piecesMax && length < this.#pieceCount * pieceBytesMin)
      return "too-many-pieces";
    const full = length > this.#buffer.length ? this.#grow(length, isLast) : undefined;
    if (full !== undefined) return full;
    this.#buffer.set(chunk, this.#length);
    this.#length = length;
    return undefined;
  }

  /** Idempotent. */
  release(): void {
    this.#budget.release(this.#client, this.#buffer.length);
    this.#buffer = uninitializedBytes(0);
    this.#length = 0;
  }

  #grow(length: number, isLast: boolean): FullShare | undefined {
    const capacity = isLast
      ? length
      : Math.min(this.#bytesMax, Math.max(length, 2 * this.#buffer.length, piecedBytesMin));
    const full = this.#budget.take(this.#client, capacity - this.#buffer.length);
    if (full !== undefined) return full;
    const grown = uninitializedBytes(capacity);
    grown.set(this.bytes);
    this.#buffer = grown;
    return undefined;
  }
}
