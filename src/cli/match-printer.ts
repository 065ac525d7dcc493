import type { LineMatch, StreamMatch } from "../model/stream-events.js";

/** Formats a match as output text, including line ends. */
export type MatchPrinter = (match: StreamMatch) => string;

/**
 * For programs: `repo:path:line:text`, `repo:path`, `repo`, `repo:oid:subject` for a commit or a diff, or an owner, one
 * per line.
 */
export function plainPrinter(match: StreamMatch): string {
  if (match.oid !== undefined) return `${match.repository}:${match.oid}:${findSubject(match)}\n`;
  const location = printLocation(match, ":");
  if (match.symbols !== undefined)
    return match.symbols.map(({ name, kind, line }) => `${location}:${line}:${kind.toLowerCase()} ${name}\n`).join("");
  if (match.lineMatches === undefined) return `${location}\n`;
  return match.lineMatches.map(({ line, lineNumber }) => `${location}:${lineNumber + 1}:${line}\n`).join("");
}

export function jsonPrinter(match: StreamMatch): string {
  return `${JSON.stringify(match)}\n`;
}

/** For people: a heading per file, line numbers, highlighted matches; the colours are ripgrep's. */
export function terminalPrinter(colours: boolean): MatchPrinter {
  const paint = (code: string, text: string) => (colours ? `\u001b[${code}m${text}\u001b[0m` : text);
  let previousHadLines = false;
  const paintMatch = (text: string): string => paint(matchColour, text);
  return (match) => {
    const heading = `${paint(pathColour, visible(printLocation(match, " › ")))}\n`;
    if (match.oid !== undefined) {
      previousHadLines = true;
      return `${heading}${linesOfCommit(match)
        .map((line) => `  ${highlighted(line, paintMatch)}\n`)
        .join("")}\n`;
    }
    const lines = (match.lineMatches ?? []).map((lineMatch) => {
      const number = paint(numberColour, String(lineMatch.lineNumber + 1));
      return `${number}:${highlighted(lineMatch, paintMatch)}\n`;
    });
    for (const { name, kind, line } of match.symbols ?? []) {
      const text = `${visible(kind.toLowerCase())} ${paint(matchColour, visible(name))}`;
      lines.push(`${paint(numberColour, String(line))}:${text}\n`);
    }
    const gap = previousHadLines ? "\n" : "";
    previousHadLines = lines.length > 0;
    return gap + heading + lines.join("");
  };
}

const pathColour = "35";
const numberColour = "32";
const matchColour = "1;31";

function printLocation(match: StreamMatch, separator: string): string {
  if (match.repository === undefined) return match.handle === undefined ? (match.email ?? "") : `@${match.handle}`;
  if (match.oid !== undefined)
    return [match.repository, match.oid.slice(0, 10), `${match.authorName}: ${findSubject(match)}`].join(separator);
  const revision = match.branches?.[0] ? `@${match.branches[0]}` : "";
  return [match.repository + revision, ...(match.path === undefined ? [] : [match.path])].join(separator);
}

function findSubject({ message = "" }: StreamMatch): string {
  return message.split("\n", 1)[0];
}

/** The message or the diff without its fence. */
function linesOfCommit({ content = "", ranges = [] }: StreamMatch): LineMatch[] {
  const lines = content.split("\n").map((line, lineNumber) => ({
    line,
    lineNumber,
    offsetAndLengths: ranges.flatMap(([at, from, length]) => (at === lineNumber ? [[from, length] as const] : [])),
  }));
  return lines.slice(1, -1);
}

function highlighted(match: LineMatch, paint: (text: string) => string): string {
  const { line } = match;
  const slice = codePointSlicer(line);
  let text = "";
  let done = 0;
  for (const [start, length] of match.offsetAndLengths) {
    text += visible(slice(done, start)) + paint(visible(slice(start, start + length)));
    done = start + length;
  }
  return text + visible(slice(done, line.length));
}

/** `slice` by code points, because JavaScript's counts UTF-16 code units. */
function codePointSlicer(text: string): (from: number, to: number) => string {
  if (!/[\ud800-\udfff]/.test(text)) return (from, to) => text.slice(from, to);
  const codePoints = Array.from(text);
  return (from, to) => codePoints.slice(from, to).join("");
}

/** Shows control characters as symbols: repository content must not control the terminal. */
function visible(text: string): string {
  return text.replace(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "\u2421" : "\ufffd";
  });
}
