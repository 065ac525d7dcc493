import { uninitializedBytes } from "../../base/bytes.js";
import type { FullShare } from "../../base/fair-semaphore.js";

/** Limits the bytes of all bodies that are being received or processed, in total and per client. */
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

  /** Takes this many bytes; otherwise takes none and returns which limit is reached. */
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
 * Limit on the pieces of a body, whatever their length; with more pieces, their average size must be `pieceBytesMin`
 * bytes. uWebSockets.js creates an object for each: 200,000 pieces of one byte took 67 MiB and blocked the main thread
 * for 280 ms.
 */
const piecesMax = 4096;
const pieceBytesMin = 64;

/** Minimum size of the buffer for a body that arrives in pieces. */
const piecedBytesMin = 4096;

/**
 * A body being received, in one buffer that is doubled as needed, so bytes that arrive in small pieces cost no more
 * than others. Its allocations are charged to the budget until `release`.
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

  /** The received bytes. They are no longer written to, and remain valid as long as they are referenced. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Copies the chunk; returns why it is not accepted, in which case the body is unusable. */
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
