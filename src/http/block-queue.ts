import { uninitializedBytes, utf8Bytes } from "../base/bytes.js";
import { blockBytesMax } from "./uws.js";

/** Of one UTF-16 unit. */
const utf8BytesPerUnitMax = 3;

/**
 * A queue of bytes that go in as pieces of any size and come out as blocks of `blockBytesMax`, the last one shorter.
 * Of a large piece only the beginning that completes a block and the end that does not fill one are copied.
 */
export class BlockQueue {
  #blocks: Uint8Array[] = [];
  #head = 0;
  #bytes = 0;
  /** The block that small pieces are gathered in, filled up to `#tailBytes`. */
  #tail: Buffer | undefined;
  #tailBytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** Short texts are written where they belong: bytes of their own for each took a third of the time of small events. */
  appendText(text: string): void {
    if (text.length * utf8BytesPerUnitMax > blockBytesMax - this.#tailBytes) return this.append(utf8Bytes(text));
    this.#tail ??= uninitializedBytes(blockBytesMax);
    const length = this.#tail.write(text, this.#tailBytes);
    this.#bytes += length;
    this.#fillTail(length);
  }

  append(piece: Uint8Array): void {
    this.#bytes += piece.length;
    let at = this.#tail === undefined ? 0 : this.#gather(piece);
    for (; piece.length - at >= blockBytesMax; at += blockBytesMax) {
      this.#blocks.push(piece.subarray(at, at + blockBytesMax));
    }
    if (at < piece.length) this.#gather(piece.subarray(at));
  }

  /** The next block, or undefined when the queue is empty. */
  take(): Uint8Array | undefined {
    if (this.#head === this.#blocks.length) this.#closeTail();
    const block = this.#blocks[this.#head];
    if (block === undefined) return undefined;
    this.#head++;
    this.#bytes -= block.length;
    if (this.#head === this.#blocks.length) this.#forgetTaken();
    return block;
  }

  /** All blocks, in order. */
  takeAll(): Uint8Array[] {
    this.#closeTail();
    const blocks = this.#blocks.slice(this.#head);
    this.clear();
    return blocks;
  }

  clear(): void {
    this.#forgetTaken();
    this.#tail = undefined;
    this.#tailBytes = 0;
    this.#bytes = 0;
  }

  /** Copies as much of the piece as fits in the tail; returns how much. */
  #gather(piece: Uint8Array): number {
    this.#tail ??= uninitializedBytes(blockBytesMax);
    const length = Math.min(piece.length, blockBytesMax - this.#tailBytes);
    this.#tail.set(length === piece.length ? piece : piece.subarray(0, length), this.#tailBytes);
    this.#fillTail(length);
    return length;
  }

  #fillTail(length: number): void {
    this.#tailBytes += length;
    if (this.#tailBytes === blockBytesMax) this.#closeTail();
  }

  #closeTail(): void {
    if (this.#tail === undefined || this.#tailBytes === 0) return;
    this.#blocks.push(this.#tail.subarray(0, this.#tailBytes));
    this.#tail = undefined;
    this.#tailBytes = 0;
  }

  #forgetTaken(): void {
    this.#blocks = [];
    this.#head = 0;
  }
}
