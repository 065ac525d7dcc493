import { utf8Bytes } from "../../base/bytes.js";
import { sequenceLength } from "./portable-utf8.js";

/** JSON allows them in strings, but some readers take them for line ends. */
const lineSeparator = utf8Bytes("\\u2028");
const paragraphSeparator = utf8Bytes("\\u2029");
const replacement = utf8Bytes("\ufffd");

/** The JSON escape sequence of each ASCII character; undefined for a character that needs none. */
const escapes: readonly (Uint8Array | undefined)[] = Array.from({ length: 128 }, (_, byte) => {
  const escaped = JSON.stringify(String.fromCharCode(byte)).slice(1, -1);
  return escaped.length > 1 ? utf8Bytes(escaped) : undefined;
});

/**
 * Appends to a buffer of fixed size. If something does not fit, `isFull` is set and stays set; the bytes after the last
 * position at which the caller found the output complete are then unspecified.
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

  /** Writes an unsigned 32-bit integer, as the addon does: in a corrupt shard a line number may be negative. */
  number(given: number): void {
    const value = given >>> 0;
    let power = 1;
    while (power * 10 <= value) power *= 10;
    for (; power >= 1; power /= 10) this.#byte(0x30 + (Math.floor(value / power) % 10));
  }

  /** Writes `text[from, to)` as the inside of a JSON string. */
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

  /** Writes the UTF-8 sequence or invalid byte at `at`; returns its length in the text. */
  #sequence(text: Uint8Array, at: number, to: number): number {
    const length = sequenceLength(text, at, to);
    if (length === 0) {
      this.raw(replacement);
      return 1;
    }
    const isSeparator = length === 3 && text[at] === 0xe2 && text[at + 1] === 0x80 && (text[at + 2] & 0xfe) === 0xa8;
    if (isSeparator) this.raw(text[at + 2] === 0xa8 ? lineSeparator : paragraphSeparator);
    else this.raw(text.subarray(at, at + length));
    return length;
  }
}

/** As `Kernel.writeJson`. */
export function writeJson(text: Uint8Array, from: number, to: number, out: Uint8Array, at: number): number {
  const writer = new JsonWriter(out, at);
  writer.string(text, from, to);
  return writer.isFull ? out.length + 1 : writer.at;
}
