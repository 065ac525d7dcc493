import { runSignBits, runSigns } from "../../history/format.js";
import type { HistoryReader } from "../../history/history-reader.js";
import type { RecordLeaf } from "./record-leaf.js";

/**
 * Sets `hits[i]` to 1 if a changed line of the entry matches leaf i; returns early when all `wantedCount` leaves that
 * can match do. The same as reading the runs with `HunkReader`, as one loop over local variables, which takes a third
 * of the time: a search of a whole history spends most of its time here.
 *
 * In damaged hunks, runs of lines that do not exist are skipped; `HunkReader` reports them when a result is written.
 */
export function scanEntry(
  reader: HistoryReader,
  entry: number,
  leaves: readonly RecordLeaf[],
  wantedCount: number,
  hits: Uint8Array,
): void {
  const { hunks } = reader;
  const to = reader.entryStart[entry + 1];
  let at = reader.entryStart[entry];
  let next = reader.entryFirstLine[entry];
  let last = next - 1;
  let left = wantedCount;
  /** The next number is 0: the gap before a hunk, 1: its heading, 2: the head of a run, 3: the first line of the run. */
  let part = 0;
  let length = 0;
  let isChanged = false;
  while (at < to) {
    let value = hunks[at++];
    if (value >= 0x80) {
      value &= 0x7f;
      for (let shift = 7; at < to && shift < 32; shift += 7) {
        const byte = hunks[at++];
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) break;
      }
      value >>>= 0;
    }
    if (part === 2) {
      if (value === 0) {
        part = 0;
        continue;
      }
      length = value >>> runSignBits;
      isChanged = (value & ((1 << runSignBits) - 1)) !== runSigns.context;
      part = 3;
      continue;
    }
    if (part === 0) {
      part = 1;
      continue;
    }
    const isHeading = part === 1;
    part = 2;
    if (isHeading && value === 0) continue;
    const code = isHeading ? value - 1 : value;
    let first = last + 1;
    if (code === 1) first = next;
    else if (code > 1) first += (code & 1) === 1 ? code >>> 1 : -(code >>> 1);
    const end = isHeading ? first + 1 : first + length;
    if (end > next) next = end;
    if (isHeading) continue;
    last = end - 1;
    if (!isChanged || first < 0 || end <= first || end > reader.lineCount) continue;
    for (let i = 0; i < leaves.length; i++) {
      if (hits[i] === 1 || !leaves[i].hasAny(first, end)) continue;
      hits[i] = 1;
      if (--left === 0) return;
    }
  }
}
