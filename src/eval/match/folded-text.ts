/** A content in which each character that folds to an ASCII letter from outside ASCII is replaced by that letter. */
export interface FoldedText {
  readonly bytes: Uint8Array;
  /** The position in the content of a position in `bytes`, or of its end. */
  positionOf(folded: number): number;
}

/**
 * Folds U+017F (C5 BF) to s and U+212A (E2 84 AA) to k: the only characters outside ASCII that are equal to an ASCII
 * letter if case is ignored. Their first bytes never continue another character, so they are recognized in any bytes.
 */
export function foldText(text: Uint8Array): FoldedText {
  const bytes = new Uint8Array(text.length);
  const shrunkAt: number[] = [];
  const removed: number[] = [0];
  let count = 0;
  for (let at = 0; at < text.length; ) {
    const size = foldedSize(text, at);
    bytes[count++] = size === 2 ? 0x73 : size === 3 ? 0x6b : text[at];
    at += size;
    if (size === 1) continue;
    shrunkAt.push(count);
    removed.push(at - count);
  }
  return { bytes: bytes.subarray(0, count), positionOf: (folded) => folded + removed[countAtMost(shrunkAt, folded)] };
}

function foldedSize(text: Uint8Array, at: number): 1 | 2 | 3 {
  if (text[at] === 0xc5 && text[at + 1] === 0xbf) return 2;
  return text[at] === 0xe2 && text[at + 1] === 0x84 && text[at + 2] === 0xaa ? 3 : 1;
}

/** How many of the ascending numbers are at most `limit`. */
function countAtMost(numbers: readonly number[], limit: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
