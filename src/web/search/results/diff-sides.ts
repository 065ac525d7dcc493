import { splitOnce } from "../../../base/text.js";
import type { LineSpan } from "../../ui/token-reader.js";

/** The lines of one side of a file in a diff: where they stand in the diff, and in the file. */
export interface DiffSide {
  readonly isOld: boolean;
  readonly path: string;
  readonly parts: readonly { readonly span: LineSpan; readonly rows: readonly number[] }[];
}

const hunkHead = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/**
 * The sides of the files in these lines of a diff, without those of which no line is shown: context is read from the newer
 * side. A renamed file whose paths cannot be told apart is left out.
 */
export function sidesOfDiff(lines: readonly string[]): readonly DiffSide[] {
  const sides: { isOld: boolean; path: string; parts: { span: { from: number; to: number }; rows: number[] }[] }[] = [];
  let oldAt = 0;
  let newAt = 0;
  let isHunk = false;
  const add = (side: (typeof sides)[number] | undefined, row: number, line: number): void => {
    const last = side?.parts.at(-1);
    if (last?.span.to === line) {
      last.span.to++;
      last.rows.push(row);
    } else side?.parts.push({ span: { from: line, to: line + 1 }, rows: [row] });
  };
  lines.forEach((line, row) => {
    const kind = diffClass(line);
    if (kind === "file") {
      const { before, after } = pathsOfLine(line);
      sides.push({ isOld: true, path: before, parts: [] }, { isOld: false, path: after, parts: [] });
      isHunk = false;
    } else if (kind === "hunk") {
      const [, oldStart, newStart] = hunkHead.exec(line) ?? [];
      isHunk = oldStart !== undefined;
      oldAt = Number(oldStart) - 1;
      newAt = Number(newStart) - 1;
    } else if (isHunk) {
      if (kind === "removed") add(sides.at(-2), row, oldAt);
      else add(sides.at(-1), row, newAt);
      if (kind !== "added") oldAt++;
      if (kind !== "removed") newAt++;
    }
  });
  return sides.filter(({ path, parts }) => path !== "" && path !== noFile && parts.length > 0);
}

/** Its paths before and after; a space in one has a backslash in front of it. */
function pathsOfLine(line: string): { readonly before: string; readonly after: string } {
  const [before, after] = splitOnce(line.replaceAll("\\ ", "\0"), " ") ?? ["", ""];
  return { before: before.replaceAll("\0", " "), after: after.replaceAll("\0", " ") };
}

/** A path that stands for no file. */
export const noFile = "/dev/null";

/** The line before the changes of a file has its old and its new path, which are mostly the same. */
export function shortLine(line: string): string {
  if (diffClass(line) === "file") {
    if (line.startsWith(`${noFile} `)) return `${line.slice(noFile.length + 1)} (new)`;
    if (line.endsWith(` ${noFile}`)) return `${line.slice(0, -noFile.length - 1)} (removed)`;
  }
  const half = (line.length - 1) / 2;
  const isTwice = diffClass(line) === "file" && line[half] === " " && line.slice(0, half) === line.slice(half + 1);
  return isTwice ? line.slice(0, half) : line;
}

/** What a line of a diff is, as a class of its style. */
export function diffClass(line: string): string {
  if (line.startsWith("+")) return "added";
  if (line.startsWith("-")) return "removed";
  if (line.startsWith("@@")) return "hunk";
  return line.startsWith(" ") || line === "" ? "same" : "file";
}
