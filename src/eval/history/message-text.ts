import type { HistoryReader } from "../../history/history-reader.js";
import { Rows } from "../match/rows.js";
import { codePoints, type HighlightRange, type HistoryText } from "./history-text.js";
import type { RecordLeaf } from "./record-leaf.js";
import { distinctRows } from "./distinct-rows.js";

const newline = 10;

/** More ranges than this are counted and not listed. */
const rangeCountMax = 10_000;

/** The message of a commit, with the matches of these patterns. A match over several lines has a range on each. */
export function renderMessage(reader: HistoryReader, commit: number, leaves: readonly RecordLeaf[]): HistoryText {
  const message = reader.message(commit);
  const rows = new Rows(16);
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
        if (ranges.length < rangeCountMax)
          ranges.push([number, codePoints(message.subarray(start, at)), codePoints(message.subarray(at, end))]);
      }
      at = start = end + 1;
    }
  }
  return { text: message.toString("utf8"), ranges, matchCount, isCut: matchCount > ranges.length };
}
