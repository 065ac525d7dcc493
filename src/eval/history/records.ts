import { lastAtMost } from "../../base/sorted-search.js";
import { newlineStepBytes } from "../../shard/format.js";
import type { HistoryReader } from "../../history/history-reader.js";
import type { Kernel } from "../../native/kernel/kernel.js";
import type { TextIndex } from "../../shard/text-index.js";

/** Texts of a history shard that are searched one by one: messages or distinct lines. Each ends with a delimiter. */
export interface Records {
  readonly text: TextIndex;
  readonly delimiter: number;
  readonly count: number;
  /** Whether a text is one line. */
  readonly areLines: boolean;
  /** The number of the record that contains this byte. */
  recordAt(offset: number): number;
  /** Where a record starts; for `count`, the end of the text. */
  start(record: number): number;
}

const newline = 10;

export function lineRecords(reader: HistoryReader, kernel: Kernel): Records {
  const { lines, newlines } = reader;
  return {
    text: lines,
    delimiter: newline,
    count: reader.lineCount,
    areLines: true,
    recordAt: (offset) => {
      const step = Math.floor(offset / newlineStepBytes);
      return newlines[step] + kernel.countNewlines(lines.content, step * newlineStepBytes, offset);
    },
    start: (record) => reader.lineStart(record),
  };
}

export function messageRecords({ messages, messageStart, commitCount }: HistoryReader): Records {
  return {
    text: messages,
    delimiter: 0,
    count: commitCount,
    areLines: false,
    recordAt: (offset) => lastAtMost(messageStart, offset, commitCount),
    start: (record) => messageStart[record],
  };
}
