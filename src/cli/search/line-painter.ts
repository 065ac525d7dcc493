import type { LineMatch, StreamMatch } from "../../model/stream-events.js";
import { printMarked } from "./marked-text.js";
import { printName } from "./result-names.js";
import { colour, findPage, type Style } from "./terminal-style.js";
import { visible } from "./visible.js";

/** How the parts of a line of output are written. */
export interface LinePainter {
  name(match: StreamMatch): string;
  /** A number of a line or column of the file. */
  number(match: StreamMatch, line: number, value: number): string;
  /** A line of a file, with its marks. */
  line(line: LineMatch): string;
  /** Other text. */
  text(text: string): string;
}

/** For a file or a pipe: everything as it is. */
export const rawPainter: LinePainter = {
  name: printName,
  number: (_match, _line, value) => String(value),
  line: ({ line }) => line,
  text: (text) => text,
};

/** For a terminal, to which nothing is written that would control it. `columnsMax` is that of `printMarked`. */
export function terminalPainter({ paint, link }: Style, columnsMax: number): LinePainter {
  return {
    name: (match) => {
      const name = paint(colour.path, visible(printName(match)));
      return match.repository === undefined ? name : link(findPage(match), name);
    },
    number: (match, line, value) => link(findPage(match, line), paint(colour.number, String(value))),
    line: (line) =>
      printMarked(withoutReturn(line), {
        mark: (text) => paint(colour.match, text),
        rest: (text) => text,
        columnsMax,
      }),
    text: visible,
  };
}

/** A line that ends with a carriage return and a line feed, as files of Windows have them, looks like any other. */
export function withoutReturn(line: LineMatch): LineMatch {
  return line.line.endsWith("\r") ? { ...line, line: line.line.slice(0, -1) } : line;
}
