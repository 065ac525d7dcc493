import { uninitializedBytes } from "../../base/bytes.js";

/** Concatenated byte strings in one growing buffer; a string is identified by its start and end. */
export class Fragments {
  #buffer: Buffer = uninitializedBytes(4096);
  length = 0;

  /** The buffer: the strings are in its first `length` bytes. Valid until the next `add`. */
  get bytes(): Uint8Array {
    return this.#buffer;
  }

  /** Returns the start of the string; it ends at `length`. */
  add(string: Uint8Array): number {
    const from = this.#makeRoom(string.length);
    this.#buffer.set(string, from);
    return from;
  }

  /** Like `add`, for an ASCII text. */
  addAscii(text: string): number {
    const from = this.#makeRoom(text.length);
    this.#buffer.write(text, from, "latin1");
    return from;
  }

  #makeRoom(byteCount: number): number {
    const from = this.length;
    if (from + byteCount > this.#buffer.length) {
      const grown = uninitializedBytes(Math.max(this.#buffer.length * 2, from + byteCount));
      grown.set(this.#buffer.subarray(0, from));
      this.#buffer = grown;
    }
    this.length += byteCount;
    return from;
  }

  clear(): void {
    this.length = 0;
  }
}
