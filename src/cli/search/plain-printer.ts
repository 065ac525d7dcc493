import type { StreamMatch } from "../../model/stream-events.js";
import { findSubject, type LinePainter, printName } from "./line-painter.js";
import { type ContextLines, countLines, layOut, type LineLayout, printedLines } from "./match-lines.js";
import { visibleJson } from "../terminal/output.js";

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

/** Names of files that later results may refer to. */
const namesMax = 100_000;

/** Results that may wait for the file to which they refer. */
const waitingMax = 10_000;

/**
 * Prints results of a search with `duplicates=1`: the matches of each content once, and `NAME=FIRST` for each other file
 * with the content. A result that comes before its first file waits for it; if too many wait, or none comes, FIRST is the
 * key of the content.
 */
export class PlacePrinter {
  readonly #print: MatchPrinter;
  readonly #show: (name: string) => string;
  readonly #separators: readonly [between: string, end: string];
  readonly #firstNames = new Map<string, string>();
  readonly #waiting = new Map<string, string[]>();
  #waitingCount = 0;

  constructor(print: MatchPrinter, nul: boolean, show: (name: string) => string) {
    this.#print = print;
    this.#show = show;
    this.#separators = nul ? ["\0", "\0"] : ["=", "\n"];
  }

  /** Formats the match, and those that waited for it. */
  print(match: StreamMatch): string {
    const { contentKey, duplicate } = match;
    if (contentKey === undefined) return this.#print(match);
    const name = this.#show(printName(match));
    if (duplicate === true) return this.#printPlace(name, contentKey);
    this.#remember(contentKey, name);
    const waiting = this.#waiting.get(contentKey) ?? [];
    this.#waiting.delete(contentKey);
    this.#waitingCount -= waiting.length;
    return this.#print(match) + waiting.map((place) => this.#line(place, name)).join("");
  }

  /** Formats what still waits when the search has ended. */
  rest(): string {
    const lines = [...this.#waiting].flatMap(([key, names]) => names.map((name) => this.#line(name, key)));
    this.#waiting.clear();
    return lines.join("");
  }

  #printPlace(name: string, contentKey: string): string {
    const first = this.#firstNames.get(contentKey);
    if (first !== undefined || this.#waitingCount === waitingMax) return this.#line(name, first ?? contentKey);
    const waiting = this.#waiting.get(contentKey);
    if (waiting === undefined) this.#waiting.set(contentKey, [name]);
    else waiting.push(name);
    this.#waitingCount++;
    return "";
  }

  #remember(contentKey: string, name: string): void {
    if (this.#firstNames.size === namesMax && !this.#firstNames.has(contentKey))
      for (const oldest of this.#firstNames.keys()) {
        this.#firstNames.delete(oldest);
        break;
      }
    this.#firstNames.set(contentKey, name);
  }

  #line(name: string, first: string): string {
    const [between, end] = this.#separators;
    return `${name}${between}${first}${end}`;
  }
}
