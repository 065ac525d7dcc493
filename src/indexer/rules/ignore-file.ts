import { escapeRegexp } from "../../base/text.js";
import { wholePath } from "../../git/attributes/attribute-file.js";
import type { TextPattern } from "../../regexp/match/text-pattern.js";

/** Where a repository lists the files whose text is not to be indexed; the name that Sourcegraph and zoekt know. */
export const ignorePath = ".sourcegraph/ignore";

/** Bounds of the file: with more, nothing is left out. */
export const ignoreBytesMax = 256 << 10;
export const ignorePatternsMax = 1_000;
/** Of patterns with wildcards, together: where a path matches none, it may have to be tried at each of their characters. */
export const wildcardUnitsMax = 16 << 10;
const patternUnitsMax = 1_024;
const alternativeDepthMax = 8;

/** Lines that are named; of others there is a count. */
export const ignoreProblemsMax = 20;

/** Patterns are compiled together, this many at a time, so that a path is read once for all of them. */
const patternsPerExpression = 50;

/** What the file says. */
export interface IgnoreFile {
  /** Whether it names the path. */
  readonly matches: (path: string) => boolean;
  readonly isEmpty: boolean;
  /** What is wrong with lines, which have no effect: `line 3: …`. */
  readonly problems: readonly string[];
}

/**
 * Parses the file: one pattern on each line, relative to the root. `*` and `?` match within a name, `**` everything, `[a-z]`,
 * `[abc]` and `[!abc]` a character, `{a,b}` any of several patterns. A pattern with none of `.][*?` matches all paths
 * that begin like it. Lines that begin with # are comments.
 */
export function parseIgnoreFile(text: string): IgnoreFile {
  const problems: string[] = [];
  const sources: string[] = [];
  let unnamedCount = 0;
  let wildcardUnits = 0;
  for (const [i, given] of text.split("\n").entries()) {
    const line = given.trim();
    if (line === "" || line.startsWith("#")) continue;
    const parsed = translateLine(line.startsWith("/") ? line.slice(1) : line);
    if (parsed.problem === undefined) {
      sources.push(parsed.source);
      if (wildcard.test(line)) wildcardUnits += line.length;
      if (sources.length > ignorePatternsMax) return nothing(`more than ${ignorePatternsMax} patterns`);
      if (wildcardUnits > wildcardUnitsMax)
        return nothing(`more than ${wildcardUnitsMax >> 10} KiB of patterns with wildcards`);
    } else if (problems.length < ignoreProblemsMax) problems.push(`line ${i + 1}: ${parsed.problem}`);
    else unnamedCount++;
  }
  if (unnamedCount > 0) problems.push(`and ${unnamedCount} more lines that have no effect`);
  const expressions: TextPattern[] = [];
  for (let i = 0; i < sources.length; i += patternsPerExpression)
    expressions.push(wholePath(sources.slice(i, i + patternsPerExpression)));
  return {
    matches: (path) => expressions.some((expression) => expression.test(path)),
    isEmpty: sources.length === 0,
    problems,
  };
}

const wildcard = /[*?[{]/;

function nothing(problem: string): IgnoreFile {
  return { ...parseIgnoreFile(""), problems: [`${problem}: nothing is left out`] };
}

type Translated = { readonly source: string; readonly problem: undefined } | { readonly problem: string };

const pathAware: ReadonlySet<string> = new Set([".", "]", "[", "*", "?"]);

function translateLine(line: string): Translated {
  if (line.length > patternUnitsMax) return { problem: `a pattern has more than ${patternUnitsMax} characters` };
  const isPrefix = ![...line].some((character) => pathAware.has(character));
  return translate([...line], isPrefix ? ".*" : "");
}

function translate(characters: readonly string[], end: string): Translated {
  let source = "";
  let depth = 0;
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at];
    if (character === "*") {
      const crosses = characters[at + 1] === "*";
      source += crosses ? ".*" : "[^/]*";
      if (crosses) at++;
    } else if (character === "?") source += "[^/]";
    else if (character === "[") {
      const bracket = readBracket(characters, at);
      if (typeof bracket === "string") return { problem: bracket };
      source += bracket.source;
      at = bracket.end;
    } else if (character === "{") {
      if (++depth > alternativeDepthMax)
        return { problem: `more than ${alternativeDepthMax} braces within one another` };
      source += "(?:";
    } else if (character === "}" && depth > 0) {
      depth--;
      source += ")";
    } else if (character === "," && depth > 0) source += "|";
    else if (character === "\\") {
      if (++at === characters.length) return { problem: "there is nothing after the last backslash" };
      source += escapeRegexp(characters[at]);
    } else source += escapeRegexp(character);
  }
  return depth > 0 ? { problem: "a brace is not closed" } : { source: source + end, problem: undefined };
}

/** A bracket is one range or a list of characters. Returns what is wrong with it. */
function readBracket(
  characters: readonly string[],
  from: number,
): { readonly source: string; readonly end: number } | string {
  const isNegated = characters[from + 1] === "!";
  let at = from + (isNegated ? 2 : 1);
  const negation = isNegated ? "^" : "";
  if (characters[at + 1] === "-" && characters[at] !== "]") {
    const [low, high] = [characters[at], characters[at + 2] as string | undefined];
    if (high === undefined) return notClosed;
    if (characters[at + 3] !== "]") return "a bracket with a range has that range only, as in [a-z]";
    if (low > high) return `the range ${low}-${high} ends before it begins`;
    return { source: `[${negation}${codePoint(low)}-${codePoint(high)}]`, end: at + 3 };
  }
  let members = "";
  for (; characters[at] !== "]"; at++) {
    if (characters[at] === "\\") at++;
    if (at >= characters.length) return notClosed;
    members += codePoint(characters[at]);
  }
  return members === "" ? "a bracket is empty" : { source: `[${negation}${members}]`, end: at };
}

const notClosed = "a bracket is not closed";

function codePoint(character: string): string {
  return `\\x{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
