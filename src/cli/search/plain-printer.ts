import type { StreamMatch } from "../../model/stream-events.js";
import type { LinePainter } from "./line-painter.js";
import { type ContextLines, countLines, layOut, type LineLayout, printedLines } from "./match-lines.js";
import { findSubject } from "./result-names.js";
import { visibleJson } from "./visible.js";

/** Formats a match as output text, including line ends. */
export type MatchPrinter = (match: StreamMatch) => string;

export interface PlainFormat {
  readonly context: ContextLines;
  readonly layout: LineLayout;
  readonly painter: LinePainter;
  /** Whether a NUL byte follows each name, because names may contain colons and line ends. */
  readonly nul: boolean;
}

/**
 * One line for each result: `repo:path:line:text`, with `-` around the number for a line of context, `repo:path`, `repo`,
 * `repo:oid:subject` for a commit or a diff, or an owner. The layout may leave out the name and the number, or add a column.
 */
export function plainPrinter({ context, layout, painter, nul }: PlainFormat): MatchPrinter {
  const hasContext = context.before + context.after > 0;
  let previousHadLines = false;
  return (match) => {
    const name = painter.name(match);
    if (match.oid !== undefined) return `${name}${nul ? "\0" : ":"}${painter.text(findSubject(match))}\n`;
    const beginning = (line: number, column: number | undefined, mark: string): string =>
      (layout.hasName ? `${name}${nul ? "\0" : mark}` : "") +
      (layout.hasNumber ? `${painter.number(match, line, line)}${mark}` : "") +
      (column === undefined ? "" : `${painter.number(match, line, column)}${mark}`);
    if (match.symbols !== undefined)
      return match.symbols
        .map(
          ({ name, kind, line }) =>
            `${beginning(line, undefined, ":")}${painter.text(`${kind.toLowerCase()} ${name}`)}\n`,
        )
        .join("");
    const lines = layOut(printedLines(match, context), layout);
    if (lines.length === 0) return hasLines(match) ? "" : `${name}${nul ? "\0" : "\n"}`;
    const text = lines.map(
      (line) =>
        (hasContext && line.followsGap ? "--\n" : "") +
        `${beginning(line.lineNumber + 1, line.column, line.isMatch ? ":" : "-")}${painter.line(line)}\n`,
    );
    const gap = hasContext && previousHadLines ? "--\n" : "";
    previousHadLines = true;
    return gap + text.join("");
  };
}

/** Whether the result is of lines, even if the layout prints none of them. */
function hasLines(match: StreamMatch): boolean {
  return (match.chunkMatches?.length ?? match.lineMatches?.length ?? 0) > 0;
}

/** Each name once: a file with matches, a repository, a commit, an owner. */
export function namePrinter(painter: LinePainter, nul: boolean): MatchPrinter {
  return (match) => `${painter.name(match)}${nul ? "\0" : "\n"}`;
}

/** `NAME:N`: how many lines of it have matches. */
export function countPrinter(painter: LinePainter, nul: boolean): MatchPrinter {
  return (match) => `${painter.name(match)}${nul ? "\0" : ":"}${countLines(match)}\n`;
}

/** One JSON object per line; on a terminal, with control characters escaped. */
export function jsonPrinter(isTerminal: boolean): MatchPrinter {
  return (match) => `${isTerminal ? visibleJson(JSON.stringify(match)) : JSON.stringify(match)}\n`;
}
