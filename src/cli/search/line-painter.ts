import type { LineMatch, StreamMatch } from "../../model/stream-events.js";
import { printMarked } from "./match-lines.js";
import { colour, findPage, type Style } from "./terminal-style.js";
import { visible } from "../terminal/output.js";

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

/** `repo[@revision][:path]`, `repo:oid`, or an owner. */
export function printName(match: StreamMatch): string {
  if (match.repository === undefined) return printOwner(match);
  if (match.oid !== undefined) return `${match.repository}:${match.oid}`;
  return printRepository(match) + (match.path === undefined ? "" : `:${match.path}`);
}

export function printRepository({ repository = "", branches }: StreamMatch): string {
  return branches?.[0] ? `${repository}@${branches[0]}` : repository;
}

export function printOwner({ handle, email = "" }: StreamMatch): string {
  return handle === undefined ? email : `@${handle}`;
}

export function findSubject({ message = "" }: StreamMatch): string {
  return message.split("\n", 1)[0] ?? "";
}
