/** Matches in one content that are held in memory, eight bytes each and twice: these come to 128 MiB. */
export const contentMatchCountMax = 8 * 1024 * 1024 - 1;

/**
 * Matches on one line that are sent: they are one element of an event, which existing clients read up to 10 MiB of. A
 * range of `chunkMatches` takes some 100 bytes, one of `lineMatches` some 20.
 */
export function lineMatchCountMax(chunkMatches: boolean): number {
  return chunkMatches ? 90_000 : 450_000;
}

const newline = 10;

/** Whether more than `countMax` of the rows `[from, to)`, pairs in `words`, begin on one line. */
export function hasFullLine(text: Buffer, words: Uint32Array, from: number, to: number, countMax: number): boolean {
  for (let row = from; row + countMax < to; ) {
    const lineEnd = text.indexOf(newline, words[row * 2]);
    // The rows are sorted: if the one that many further on is on this line, so are those between.
    if (lineEnd < 0 || words[(row + countMax) * 2] <= lineEnd) return true;
    while (row < to && words[row * 2] <= lineEnd) row++;
  }
  return false;
}
