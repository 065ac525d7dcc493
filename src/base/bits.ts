/** The bit with index `i`, in words of 32 bits. False past the end. */
export function hasBit(words: Uint32Array | Int32Array, i: number): boolean {
  return ((words[i >>> 5] >>> (i & 31)) & 1) === 1;
}

/** Caller guarantees: `i` is within the words. */
export function setBit(words: Uint32Array, i: number): void {
  words[i >>> 5] |= 1 << (i & 31);
}

/** Caller guarantees: `i` is within the words. */
export function clearBit(words: Uint32Array, i: number): void {
  words[i >>> 5] &= ~(1 << (i & 31));
}
