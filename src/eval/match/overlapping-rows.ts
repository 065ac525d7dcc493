import { computeBorders } from "../../native/kernel/borders.js";
import type { ContentWork } from "./content-work.js";
import type { Rows } from "./rows.js";

/** The contents of a shard, and how needles are compared with them. */
interface SearchedText {
  readonly content: Uint8Array;
  readonly contentStart: Uint32Array;
  readonly contentCount: number;
  /** If true, needles are lower case, and A-Z in the text match a-z. */
  readonly foldCase: boolean;
}

/**
 * Adds the occurrences of `needle` that overlap one of its rows from `rowFrom` on; the rows are in the order of
 * `contents`.
 *
 * The kernel returns disjoint occurrences of each needle. If several needles are searched for, the rows of another one
 * may displace an occurrence and so make room for one that overlapped it. An omitted occurrence begins within a found
 * row, at a distance at which the needle overlaps itself.
 *
 * Adds to `tooCostly` the contents for which that takes too much work.
 */
export function addOverlappingRows(
  text: SearchedText,
  contents: Uint32Array,
  needle: Buffer,
  rows: Rows,
  rowFrom: number,
  work: ContentWork,
  tooCostly: Set<number>,
): void {
  const shifts = computeShifts(needle);
  if (shifts.length === 0) return;
  const { contentStart, contentCount } = text;
  const rowTo = rows.count;
  let at = -1;
  for (let row = rowFrom; row < rowTo; row++) {
    const start = rows.words[row * 2];
    if (at < 0 || contentStart[contents[at] + 1] <= start) {
      do at++;
      while (contents[at] >= contentCount || contentStart[contents[at] + 1] <= start);
      work.begin(contentStart[contents[at] + 1] - contentStart[contents[at]]);
    }
    if (tooCostly.has(contents[at])) continue;
    if (!addShifted(text, start, contentStart[contents[at] + 1], needle, shifts, rows, work))
      tooCostly.add(contents[at]);
  }
}

/** Returns false if that took too much work. */
function addShifted(
  text: SearchedText,
  start: number,
  contentEnd: number,
  needle: Buffer,
  shifts: readonly number[],
  rows: Rows,
  work: ContentWork,
): boolean {
  for (const shift of shifts) {
    if (!work.spend(needle.length)) return false;
    const end = start + shift + needle.length;
    if (end <= contentEnd && isAt(text, start + shift, needle)) rows.push(start + shift, end);
  }
  return true;
}

function isAt({ content, foldCase }: SearchedText, start: number, needle: Buffer): boolean {
  for (let i = 0; i < needle.length; i++) {
    const byte = content[start + i];
    const folded = foldCase && byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
    if (folded !== needle[i]) return false;
  }
  return true;
}

/** The distances at which the needle overlaps itself: 3 for `abba`. */
function computeShifts(needle: Buffer): number[] {
  const borders = computeBorders(needle);
  const shifts: number[] = [];
  for (let border = borders[needle.length]; border > 0; border = borders[border]) shifts.push(needle.length - border);
  return shifts;
}
