import { utf8Bytes } from "../../base/bytes.js";
import { sequenceLength } from "./portable-utf8.js";

const replacement = utf8Bytes("\ufffd");

/** What an ASCII byte is written as when it cannot stand for itself. */
const escapes: readonly (Uint8Array | undefined)[] = Array.from({ length: 128 }, (_, byte) => {
  const escaped = JSON.stringify(String.fromCharCode(byte)).slice(1, -1);
  return escaped.length > 1 ? utf8Bytes(escaped) : undefined;
});

/**
 * Appends to a buffer of fixed size. What does not fit sets `isFull`, which stays set; bytes after the last position
 * that the caller takes as whole are left in any state.
 */
export class JsonWriter {
  readonly #out: Uint8Array;
  at: number;
  isFull = false;

  constructor(out: Uint8Array, at: number) {
    this.#out = out;
    this.at = at;
  }

  raw(bytes: Uint8Array): void {
    if (this.at + bytes.length > this.#out.length) {
      this.isFull = true;
      return;
    }
    for (let i = 0; i < bytes.length; i++) this.#out[this.at++] = bytes[i];
  }

  /** As an unsigned integer of 32 bits, as the addon writes it: a damaged shard may count lines from below zero. */
  number(given: number): void {
    const value = given >>> 0;
    let power = 1;
    while (power * 10 <= value) power *= 10;
    for (; power >= 1; power /= 10) this.#byte(0x30 + (Math.floor(value / power) % 10));
  }

  /** `text[from, to)` as the inside of a JSON string. */
  string(text: Uint8Array, from: number, to: number): void {
    for (let at = from; at < to && !this.isFull; ) {
      const byte = text[at];
      if (byte >= 0x80) {
        at += this.#sequence(text, at, to);
        continue;
      }
      const escaped = escapes[byte];
      if (escaped === undefined) this.#byte(byte);
      else this.raw(escaped);
      at++;
    }
  }

  #byte(byte: number): void {
    if (this.at < this.#out.length) this.#out[this.at++] = byte;
    else this.isFull = true;
  }

  /** Writes what begins at `at`; returns how many bytes of text that was. */
  #sequence(text: Uint8Array, at: number, to: number): number {
    const length = sequenceLength(text, at, to);
    if (length === 0) {
      this.raw(replacement);
      return 1;
    }
    this.raw(text.subarray(at, at + length));
    return length;
  }
}
