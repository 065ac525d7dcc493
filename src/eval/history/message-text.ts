import { isAscii } from "node:buffer";
import type { HistoryReader } from "../../history/history-reader.js";
import type { Rows } from "../match/rows.js";
import { codePoints as countCodePoints, type HighlightRange, type HistoryText } from "./history-text.js";
import type { RecordLeaf } from "./record-leaf.js";
import { distinctRows } from "./distinct-rows.js";

const newline = 10;

/** More ranges than this are counted and not listed. */
const rangeCountMax = 10_000;

/** The matches of these patterns in the message of a commit. A match over several lines has a range on each. */
export function renderMessage(
  reader: HistoryReader,
  commit: number,
  leaves: readonly RecordLeaf[],
  rows: Rows,
): HistoryText {
  const message = reader.message(commit);
  rows.clear();
  // Most messages are ASCII, and of those no code points are counted.
  const length = leaves.length > 0 && isAscii(message) ? countAscii : codePoints;
  for (const leaf of leaves) leaf.findAll(message, rows);
  const ranges: HighlightRange[] = [];
  let matchCount = 0;
  let line = 0;
  let lineStart = 0;
  for (const [from, to] of distinctRows(rows)) {
    for (
      let end = message.indexOf(newline, lineStart);
      end >= 0 && end < from;
      end = message.indexOf(newline, lineStart)
    ) {
      lineStart = end + 1;
      line++;
    }
    let at = from;
    for (let [start, number] = [lineStart, line]; at < to; number++) {
      const found = message.indexOf(newline, at);
      const end = found < 0 || found > to ? to : found;
      if (end > at) {
        matchCount++;
        if (ranges.length < rangeCountMax) ranges.push([number, length(message, start, at), length(message, at, end)]);
      }
      at = start = end + 1;
    }
  }
  return { text: "", ranges, matchCount, isCut: matchCount > ranges.length };
}

function codePoints(message: Buffer, from: number, to: number): number {
  return countCodePoints(message.subarray(from, to));
}

/** The same for ASCII. */
function countAscii(_message: Buffer, from: number, to: number): number {
  return to - from;
}
