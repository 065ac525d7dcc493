import type { StreamMatch, StreamRange } from "../../model/stream-events.js";
import {
  type MarkedText,
  printMarked,
  type ContextLines,
  layOut,
  type LineLayout,
  linesOfCommit,
  printedLines,
} from "./match-lines.js";
import {
  type LinePainter,
  terminalPainter,
  withoutReturn,
  findSubject,
  printOwner,
  printRepository,
} from "./line-painter.js";
import type { MatchPrinter } from "./plain-printer.js";
import { colour, findPage, type Style } from "./terminal-style.js";
import { visible } from "../terminal/output.js";

export interface TerminalFormat {
  readonly style: Style;
  readonly context: ContextLines;
  /** Without names, there are no headings either. */
  readonly layout: LineLayout;
  /** Longer lines are cut; 0 for no limit. */
  readonly columnsMax: number;
}

/** A heading per file, line numbers, highlighted matches. An empty line separates files with lines. */
export function terminalPrinter(format: TerminalFormat): MatchPrinter {
  const painter = terminalPainter(format.style, format.columnsMax);
  let previousHadLines = false;
  return (match) => {
    const lines = bodyLines(match, format, painter);
    if (!format.layout.hasName && lines.length > 0) return lines.join("");
    const gap = previousHadLines ? "\n" : "";
    previousHadLines = lines.length > 0;
    return `${gap}${printHeading(match, format)}\n${lines.join("")}`;
  };
}

function bodyLines(match: StreamMatch, format: TerminalFormat, painter: LinePainter): readonly string[] {
  if (match.oid !== undefined) return commitLines(match, format);
  return [...fileLines(match, format, painter), ...symbolLines(match, format, painter)];
}

function printHeading(match: StreamMatch, format: TerminalFormat): string {
  const { paint, link } = format.style;
  if (match.repository === undefined) return paint(colour.path, visible(printOwner(match)));
  if (match.oid !== undefined) return commitHeading(match, format);
  const marked = (line: string, ranges: readonly StreamRange[] | undefined) =>
    printMarked(
      { line, offsetAndLengths: rangesInLine(ranges) },
      {
        mark: (text) => paint(colour.match, text),
        rest: (text) => paint(colour.path, text),
        columnsMax: 0,
      },
    );
  const repository = marked(printRepository(match), match.path === undefined ? match.repositoryMatches : undefined);
  if (match.path === undefined) return link(findPage(match), repository) + repositoryDetails(match, format);
  const path = marked(match.path, match.pathMatches);
  return link(findPage(match), `${repository}${paint(colour.path, " › ")}${path}`);
}

/** The ranges of a name, which is one line. */
function rangesInLine(ranges: readonly StreamRange[] = []): MarkedText["offsetAndLengths"] {
  return ranges.map(({ start, end }) => [start.column, end.column - start.column] as const).sort(([a], [b]) => a - b);
}

function repositoryDetails(match: StreamMatch, { style: { paint } }: TerminalFormat): string {
  const { description = "", repoStars = 0, fork, archived, private: isPrivate } = match;
  const details = [
    ...(fork ? ["fork"] : []),
    ...(archived ? ["archived"] : []),
    ...(isPrivate ? ["private"] : []),
    ...(repoStars > 0 ? [`${repoStars} ${repoStars === 1 ? "star" : "stars"}`] : []),
    ...(description === "" ? [] : [visible(description)]),
  ];
  return details.length === 0 ? "" : `  ${paint(colour.aside, details.join(", "))}`;
}

function commitHeading(match: StreamMatch, { style: { paint, link } }: TerminalFormat): string {
  const { repository = "", oid = "", authorName = "", authorDate = "" } = match;
  const place = `${paint(colour.path, visible(repository))} › ${paint(colour.commit, visible(oid.slice(0, 10)))}`;
  const who = [authorName, authorDate.slice(0, 10)].filter((text) => text !== "").join(", ");
  return `${link(findPage(match), place)} › ${paint(colour.aside, visible(who))}: ${visible(findSubject(match))}`;
}

function commitLines(match: StreamMatch, { style: { paint }, columnsMax }: TerminalFormat): readonly string[] {
  const isDiff = (match.content ?? "").startsWith("```diff");
  return linesOfCommit(match).map((line) => {
    const base = isDiff ? diffColour(line.line) : "0";
    const text = printMarked(withoutReturn(line), {
      mark: (text) => paint(isDiff ? `1;4;${base}` : colour.match, text),
      rest: (text) => (base === "0" ? text : paint(base, text)),
      columnsMax,
    });
    return `  ${text}\n`;
  });
}

/** Lines of hunks begin with a sign; a line with the names of a file does not. */
function diffColour(line: string): string {
  if (line.startsWith("@@")) return colour.place;
  if (line.startsWith("+")) return colour.added;
  if (line.startsWith("-")) return colour.removed;
  return line.startsWith(" ") ? "0" : colour.heading;
}

function fileLines(match: StreamMatch, { context, layout }: TerminalFormat, painter: LinePainter): string[] {
  const hasContext = context.before + context.after > 0;
  return layOut(printedLines(match, context), layout).map((line) => {
    const mark = line.isMatch ? ":" : "-";
    const number = line.lineNumber + 1;
    const places = [...(layout.hasNumber ? [number] : []), ...(line.column === undefined ? [] : [line.column])];
    const beginning = places.map((value) => `${painter.number(match, number, value)}${mark}`).join("");
    return `${hasContext && line.followsGap ? "--\n" : ""}${beginning}${painter.line(line)}\n`;
  });
}

function symbolLines(match: StreamMatch, { style: { paint }, layout }: TerminalFormat, painter: LinePainter): string[] {
  return (match.symbols ?? []).map(({ name, kind, line, containerName }) => {
    const number = layout.hasNumber ? `${painter.number(match, line, line)}:` : "";
    const container = containerName === "" ? "" : paint(colour.aside, ` in ${visible(containerName)}`);
    return `${number}${visible(kind.toLowerCase())} ${paint(colour.match, visible(name))}${container}\n`;
  });
}
