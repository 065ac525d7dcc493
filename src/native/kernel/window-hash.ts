/** The hash of a window of up to eight bytes: the same as in patterns.cc. The upper bits are the better ones. */
export function hashWindow(text: Uint8Array, at: number, windowBytes: number, foldAscii: boolean): number {
  let low = 0;
  let high = 0;
  for (let i = 0; i < windowBytes; i++) {
    const byte = foldAscii ? lowerByte(text[at + i]) : text[at + i];
    if (i < 4) low |= byte << (8 * i);
    else high |= byte << (8 * (i - 4));
  }
  return (Math.imul(low, 0x9e3779b1) + Math.imul(high, 0x85ebca77)) >>> 0;
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
