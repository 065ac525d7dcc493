import type { HistoryKind } from "../../query/plan/history-plan.js";
import type { HighlightRange, HistoryText } from "./history-text.js";

/**
 * The text of a result that several basic queries have found. The message is the same for all of them. Diffs may show
 * different parts of the same commit: parts that are equal are shown once, the others one after another.
 */
export function mergeTexts(kind: HistoryKind, texts: readonly HistoryText[]): HistoryText {
  const isCut = texts.some((one) => one.isCut);
  if (kind === "commit" || texts.every(({ text }) => text === texts[0].text)) {
    const ranges = mergeRanges(texts.flatMap((one) => one.ranges));
    return { text: texts[0].text, ranges, matchCount: ranges.length, isCut };
  }
  const files = new Map<string, FilePart>();
  for (const text of texts) {
    for (const part of splitFiles(text)) {
      const key = part.lines.join("\n");
      const known = files.get(key);
      files.set(key, known === undefined ? part : { ...part, ranges: mergeRanges([...known.ranges, ...part.ranges]) });
    }
  }
  const ordered = [...files.values()].sort((a, b) => (a.lines[0] < b.lines[0] ? -1 : a.lines[0] > b.lines[0] ? 1 : 0));
  const lines: string[] = [];
  const ranges: HighlightRange[] = [];
  for (const part of ordered) {
    ranges.push(...part.ranges.map(([line, from, length]) => [line + lines.length, from, length] as const));
    lines.push(...part.lines);
  }
  return { text: lines.join("\n"), ranges, matchCount: ranges.length, isCut };
}

/** One file of a diff; lines of ranges are counted from its first one. */
interface FilePart {
  readonly lines: readonly string[];
  readonly ranges: readonly HighlightRange[];
}

const hunkHeader = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

function splitFiles({ text, ranges }: HistoryText): FilePart[] {
  const lines = text.split("\n");
  const starts = findFileLines(lines);
  return starts.map((from, i) => {
    const to = starts[i + 1] ?? lines.length;
    return {
      lines: lines.slice(from, to),
      ranges: ranges.flatMap(([line, character, length]) =>
        line >= from && line < to ? [[line - from, character, length] as const] : [],
      ),
    };
  });
}

/** The lines that name a file: those outside hunks, whose lines are counted because a path may begin with a sign. */
function findFileLines(lines: readonly string[]): number[] {
  const found: number[] = [];
  let oldLeft = 0;
  let newLeft = 0;
  for (const [i, line] of lines.entries()) {
    if (oldLeft + newLeft > 0) {
      if (!line.startsWith("+")) oldLeft--;
      if (!line.startsWith("-")) newLeft--;
      continue;
    }
    const header = hunkHeader.exec(line);
    if (header === null) found.push(i);
    else [oldLeft, newLeft] = [Number(header[1] ?? 1), Number(header[2] ?? 1)];
  }
  return found;
}

/** Sorted, without duplicates; of two that overlap the earlier one, then the longer one, is kept. */
function mergeRanges(ranges: readonly HighlightRange[]): HighlightRange[] {
  const sorted = [...ranges].sort((a, b) => a[0] - b[0] || a[1] - b[1] || b[2] - a[2]);
  const merged: HighlightRange[] = [];
  for (const range of sorted) {
    const last = merged.at(-1);
    if (last === undefined || last[0] !== range[0] || last[1] + last[2] <= range[1]) merged.push(range);
  }
  return merged;
}
