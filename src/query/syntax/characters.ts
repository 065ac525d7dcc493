import { utf8Length } from "../../base/text.js";

/** A part of the query text: UTF-16 code units, `to` exclusive. Errors report it as byte offsets. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** All Unicode white space, which separates the words of a query. An index past the end is not space. */
export function isSpaceAt(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  if (unit <= 0x20) return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
  if (unit < 0x85) return false;
  return unit === 0x85 || otherSpaces.test(text[index] ?? "");
}

const otherSpaces = /[\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

export function skipSpaces(text: string, index: number): number {
  while (isSpaceAt(text, index)) index++;
  return index;
}

/** The first white space at or after `index`, or the end of the text. */
export function nextSpace(text: string, index: number): number {
  while (index < text.length && !isSpaceAt(text, index)) index++;
  return index;
}

/** The number of UTF-8 bytes before the UTF-16 index. */
export function byteOffsetAt(text: string, index: number): number {
  return utf8Length(text.slice(0, index));
}

/** The span of UTF-8 bytes; expects offsets between characters. */
export function placeOfBytes(text: string, from: number, to: number): Span {
  const bytes = new TextEncoder().encode(text);
  const indexAt = (offset: number): number => new TextDecoder().decode(bytes.subarray(0, offset)).length;
  return { from: indexAt(from), to: indexAt(to) };
}
