/** The bytes of the longest window. */
export const windowBytesMax = 8;

/** The hash of a window of up to eight bytes: the same as in windows.h. The upper bits are the better ones. */
export function hashWindow(text: Uint8Array, at: number, windowBytes: number, foldAscii: boolean): number {
  const byteAt = (i: number): number => (foldAscii ? lowerByte(text[at + i] ?? 0) : (text[at + i] ?? 0));
  const wordAt = (i: number): number =>
    byteAt(i) | (byteAt(i + 1) << 8) | (byteAt(i + 2) << 16) | (byteAt(i + 3) << 24);
  return hashWords(wordAt(0), wordAt(4), windowBytes);
}

/** The same of a window whose first four bytes are in one word, and the next ones in another; both may have more bytes. */
export function hashWords(low: number, high: number, windowBytes: number): number {
  return (
    (Math.imul(low & makeMask(windowBytes), 0x9e3779b1) + Math.imul(high & makeMask(windowBytes - 4), 0x85ebca77)) >>> 0
  );
}

/** The hash of a block: of all of its bytes, or of its first eight and of its last eight. */
export function hashBlock(text: Uint8Array, at: number, blockBytes: number, foldAscii: boolean): number {
  const first = hashWindow(text, at, Math.min(blockBytes, windowBytesMax), foldAscii);
  if (blockBytes <= windowBytesMax) return first;
  return joinHashes(first, hashWindow(text, at + blockBytes - windowBytesMax, windowBytesMax, foldAscii));
}

/** The hash of a block of more than eight bytes. */
export function joinHashes(first: number, last: number): number {
  return (first + Math.imul(last, 0xc2b2ae3d)) >>> 0;
}

/** The lowest bytes of a word. */
function makeMask(byteCount: number): number {
  return byteCount >= 4 ? -1 : byteCount <= 0 ? 0 : (1 << (8 * byteCount)) - 1;
}

/** The four bytes at each position of a text, and of the seven positions after it: as if zeros followed it. */
export function readWords(text: Uint8Array): Uint32Array {
  const words = new Uint32Array(text.length + windowBytesMax);
  let word = 0;
  for (let at = text.length - 1; at >= 0; at--) words[at] = word = (word << 8) | text[at];
  return words;
}

/** The two bits of a hash in its word of a filter. */
export function filterBits(hash: number): number {
  return (1 << ((hash >>> 12) & 31)) | (1 << ((hash >>> 7) & 31));
}

export function lowerByte(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
}

/** The exponent of a power of two. */
export function exponent(powerOfTwo: number): number {
  return 31 - Math.clz32(powerOfTwo);
}
