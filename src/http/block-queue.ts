import { uninitializedBytes, utf8Bytes } from "../base/bytes.js";
import { blockBytesMax } from "./uws.js";

/**
 * A queue of bytes that go in as pieces of any size and come out as blocks of `blockBytesMax`, the last one shorter.
 * Of a large piece only the beginning that completes a block and the end that does not fill one are copied.
 */
export class BlockQueue {
  #blocks: Uint8Array[] = [];
  #head = 0;
  #bytes = 0;
  /** The block that small pieces are gathered in, filled up to `#tailBytes`. */
  #tail: Uint8Array | undefined;
  #tailBytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  appendText(text: string): void {
    this.append(utf8Bytes(text));
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
    this.#tail.set(piece.subarray(0, length), this.#tailBytes);
    this.#tailBytes += length;
    if (this.#tailBytes === blockBytesMax) this.#closeTail();
    return length;
  }

  #closeTail(): void {
    if (this.#tail === undefined) return;
    this.#blocks.push(this.#tail.subarray(0, this.#tailBytes));
    this.#tail = undefined;
    this.#tailBytes = 0;
  }

  #forgetTaken(): void {
    this.#blocks = [];
    this.#head = 0;
  }
}
