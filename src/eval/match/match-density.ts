/** Limit on the matches of one content that are held in memory, eight bytes each, twice: 128 MiB in total. */
export const contentMatchCountMax = 8 * 1024 * 1024 - 1;

/**
 * Limit on the matches sent for one line: they are one element of an event, of which existing clients read up to 10
 * MiB. A range in `chunkMatches` takes about 100 bytes, one in `lineMatches` about 20.
 */
export function lineMatchCountMax(chunkMatches: boolean): number {
  return chunkMatches ? 90_000 : 450_000;
}

const newline = 10;

/** Whether more than `countMax` of the rows `[from, to)`, which are pairs in `words`, begin on one line. */
export function hasFullLine(text: Buffer, words: Uint32Array, from: number, to: number, countMax: number): boolean {
  for (let row = from; row + countMax < to; ) {
    const lineEnd = text.indexOf(newline, words[row * 2]);
    // The rows are sorted: if the row that many positions later is on this line, so are those in between.
    if (lineEnd < 0 || words[(row + countMax) * 2] <= lineEnd) return true;
    while (row < to && words[row * 2] <= lineEnd) row++;
  }
  return false;
}
