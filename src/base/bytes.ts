/** Creating, joining and examining byte arrays. The only file that allocates uninitialised memory. */

import { isAscii } from "node:buffer";

const newline = 10;
const encoder = new TextEncoder();

/** Bytes with arbitrary content: the caller writes every byte before anyone reads it. */
export function uninitializedBytes(length: number): Buffer<ArrayBuffer> {
  return Buffer.allocUnsafeSlow(length);
}

export function utf8Bytes(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Concatenates the parts into a new array. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}

/** The text in UTF-8 of which each character of `bytes` is a byte (latin1). */
export function decodeByteString(bytes: string): string {
  for (let i = 0; i < bytes.length; i++)
    if (bytes.charCodeAt(i) >= 0x80) return Buffer.from(bytes, "latin1").toString();
  return bytes;
}

/** Whether the text is ASCII without newlines, so that its characters are its bytes. */
export function isPlainText(bytes: Buffer): boolean {
  return isAscii(bytes) && !bytes.includes(newline);
}
