import type { StreamMatch } from "../../model/stream-events.js";
import { type ContextLines, countLines, printedLines } from "./match-lines.js";

/** Formats a match as output text, including line ends. */
export type MatchPrinter = (match: StreamMatch) => string;

export interface PlainFormat {
  readonly context: ContextLines;
  /** Whether a NUL byte follows each name, because names may contain colons and line ends. */
  readonly nul: boolean;
}

/**
 * For programs: `repo:path:line:text`, with `-` around the number for a line of context, `repo:path`, `repo`,
 * `repo:oid:subject` for a commit or a diff, or an owner, one per line.
 */
export function plainPrinter({ context, nul }: PlainFormat): MatchPrinter {
  let previousHadLines = false;
  return (match) => {
    const name = printName(match);
    if (match.oid !== undefined) return `${name}${nul ? "\0" : ":"}${findSubject(match)}\n`;
    const fields = (line: number, text: string, mark: string) => `${name}${nul ? "\0" : mark}${line}${mark}${text}\n`;
    if (match.symbols !== undefined)
      return match.symbols.map(({ name, kind, line }) => fields(line, `${kind.toLowerCase()} ${name}`, ":")).join("");
    const lines = printedLines(match, context);
    if (lines.length === 0) return `${name}${nul ? "\0" : "\n"}`;
    const hasContext = context.before + context.after > 0;
    const text = lines.map(
      ({ line, lineNumber, isMatch, followsGap }) =>
        (hasContext && followsGap ? "--\n" : "") + fields(lineNumber + 1, line, isMatch ? ":" : "-"),
    );
    const gap = hasContext && previousHadLines ? "--\n" : "";
    previousHadLines = true;
    return gap + text.join("");
  };
}

/** Each name once: a file with matches, a repository, a commit, an owner. */
export function namePrinter(nul: boolean): MatchPrinter {
  return (match) => `${printName(match)}${nul ? "\0" : "\n"}`;
}

/** `NAME:N`: how many lines of it have matches. */
export function countPrinter(nul: boolean): MatchPrinter {
  return (match) => `${printName(match)}${nul ? "\0" : ":"}${countLines(match)}\n`;
}

export function jsonPrinter(match: StreamMatch): string {
  return `${JSON.stringify(match)}\n`;
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
