/** Sets of code points as flat arrays of pairs (first, last). */

/** The same set with its pairs sorted, and adjacent or overlapping ones merged. */
export function normalizeRanges(pairs: readonly number[]): number[] {
  const sorted: [number, number][] = [];
  for (let i = 0; i < pairs.length; i += 2) sorted.push([pairs[i], pairs[i + 1]]);
  sorted.sort((a, b) => a[0] - b[0]);
  const out: number[] = [];
  for (const [first, last] of sorted) {
    if (out.length > 0 && first <= out[out.length - 1] + 1) out[out.length - 1] = Math.max(out[out.length - 1], last);
    else out.push(first, last);
  }
  return out;
}

export function rangesHold(pairs: readonly number[], codePoint: number): boolean {
  for (let i = 0; i < pairs.length; i += 2) {
    if (pairs[i] <= codePoint && codePoint <= pairs[i + 1]) return true;
  }
  return false;
}

/** The characters of the set, or undefined if there are more than `limit`. */
export function expandRanges(pairs: readonly number[], limit: number): string[] | undefined {
  const characters: string[] = [];
  for (let i = 0; i < pairs.length; i += 2) {
    if (characters.length + pairs[i + 1] - pairs[i] + 1 > limit) return undefined;
    for (let codePoint = pairs[i]; codePoint <= pairs[i + 1]; codePoint++) {
      characters.push(String.fromCodePoint(codePoint));
    }
  }
  return characters;
}
