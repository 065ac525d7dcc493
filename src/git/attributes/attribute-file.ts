import { TrawlError } from "../../base/errors.js";
import { TextPattern } from "../../regexp/match/text-pattern.js";
import type { StopSignal } from "../run/run.js";
import type { AttributeMacros, AttributeState, NumberedState } from "./attribute-macros.js";
import { literalBytes, translateWildmatch } from "./wildmatch.js";

/** One line with a pattern, and with an attribute that matters. */
export interface AttributeRule {
  /** Of a path from the directory of the file, with one character per byte. */
  readonly matches: (path: string) => boolean;
  /** What takes a regular expression, as the regular expression for the whole path; undefined if nothing matches. */
  readonly wildcard: Wildcard | undefined;
  /** The last first, each number once. */
  readonly states: readonly NumberedState[];
}

export interface Wildcard {
  readonly byteCount: number;
  /** Made when it is asked for. */
  readonly source: () => string | undefined;
}

/** git leaves out lines of this length and longer ones as well. */
export const attributeLineBytesMax = 2048;

const macroPrefix = "[attr]";
const attributeName = /^[A-Za-z0-9_.][A-Za-z0-9_.-]*$/;

/** Lines that are read before the stop flag is looked at again. */
const linesPerStopCheck = 256;

/**
 * The lines of a file, with one character per byte, that have one of the attributes which the macros' numbers are for: the last one that
 * matches counts. Like git, it leaves out a line that it does not understand. Of more than `rulesMax` it returns one more. Throws `cancelled`.
 */
export function parseAttributeFile(
  text: string,
  macros: AttributeMacros,
  rulesMax: number,
  stop: StopSignal,
): AttributeRule[] {
  const rules: AttributeRule[] = [];
  forEachLine(text, stop, (line) => {
    const parsed = parseLine(line);
    if (parsed === undefined || parsed.isMacro || parsed.name.startsWith("!")) return true;
    // Negative patterns are forbidden here.
    const states = macros.numberStates(parsed.states);
    if (states.length > 0) rules.push({ ...compilePattern(parsed.name), states });
    return rules.length <= rulesMax;
  });
  return rules;
}

/**
 * The macros of a file, of which the last of each name counts; those of other files than that of the root do not count. Undefined if they
 * have more attributes than that. Throws `cancelled`.
 */
export function parseMacros(
  text: string,
  statesMax: number,
  stop: StopSignal,
): ReadonlyMap<string, readonly AttributeState[]> | undefined {
  const macros = new Map<string, readonly AttributeState[]>();
  let stateCount = 0;
  forEachLine(text, stop, (line) => {
    if (!line.includes(macroPrefix)) return true;
    const parsed = parseLine(line);
    if (parsed?.isMacro !== true) return true;
    macros.set(parsed.name, parsed.states);
    stateCount += parsed.states.length;
    return stateCount <= statesMax;
  });
  return stateCount > statesMax ? undefined : macros;
}

/** Until `take` returns false. */
function forEachLine(text: string, stop: StopSignal, take: (line: string) => boolean): void {
  const nul = text.indexOf("\0");
  const end = nul < 0 ? text.length : nul;
  // git does without the mark when it reads a file of a working tree, not when it reads one of the index; here it never counts.
  let at = text.startsWith(mark) ? mark.length : 0;
  for (let count = 0; at <= end; count++) {
    if (count % linesPerStopCheck === 0 && stop())
      throw new TrawlError("cancelled", "the reading of attributes was stopped");
    const newline = text.indexOf("\n", at);
    const lineEnd = newline < 0 ? end : Math.min(newline, end);
    if (lineEnd - at < attributeLineBytesMax && !take(text.slice(at, lineEnd))) return;
    at = lineEnd + 1;
  }
}

interface ParsedLine {
  /** Of a macro, or the pattern. */
  readonly name: string;
  readonly isMacro: boolean;
  readonly states: readonly AttributeState[];
}

function parseLine(line: string): ParsedLine | undefined {
  const start = skipBlanks(line, 0);
  if (start === line.length || line[start] === "#") return undefined;
  const quoted = line[start] === '"' ? unquote(line, start) : undefined;
  const end = quoted?.end ?? skipWord(line, start);
  let name = quoted?.text ?? line.slice(start, end);
  const isMacro = name.length > macroPrefix.length && name.startsWith(macroPrefix);
  if (isMacro) {
    // The name may also follow the prefix after blanks, within quotes.
    name = name.slice(skipBlanks(name, macroPrefix.length));
    name = name.slice(0, skipWord(name, 0));
    if (!attributeName.test(name)) return undefined;
  }
  const states = parseStates(line, end);
  return states && { name, isMacro, states };
}

/** The attributes from a position on; undefined if one has an invalid name. */
function parseStates(line: string, from: number): AttributeState[] | undefined {
  const states: AttributeState[] = [];
  for (let at = skipBlanks(line, from); at < line.length; ) {
    const end = skipWord(line, at);
    const word = line.slice(at, end);
    const sign = word[0] === "-" || word[0] === "!" ? word[0] : "";
    const equals = word.indexOf("=");
    const name = word.slice(sign.length, equals < 0 ? undefined : equals);
    if (!attributeName.test(name)) return undefined;
    states.push({
      name,
      value: sign === "-" ? false : sign === "!" ? null : equals < 0 ? true : word.slice(equals + 1),
    });
    at = skipBlanks(line, end);
  }
  return states;
}

type CompiledPattern = Omit<AttributeRule, "states">;

/** A pattern without a slash, other than one at its end, is one of names. */
function compilePattern(given: string): CompiledPattern {
  // Such a pattern is only for directories, whose attributes nobody asks for.
  if (given.endsWith("/")) return plainPattern(() => false);
  if (!given.includes("/")) return compileName(given);
  const pattern = given.startsWith("/") ? given.slice(1) : given;
  const plain = countPlain(pattern);
  if (plain === pattern.length) return plainPattern((path) => path === pattern);
  // Like git, the rest is a pattern by itself: its beginning counts as that of a directory's name.
  return wildcardPattern(pattern.length, () => {
    const rest = translateWildmatch(pattern.slice(plain), "path");
    return rest === undefined ? undefined : literalBytes(pattern.slice(0, plain)) + rest;
  });
}

function compileName(pattern: string): CompiledPattern {
  const ofPath = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
  if (countPlain(pattern) === pattern.length) return plainPattern((path) => ofPath(path) === pattern);
  const ending = pattern.slice(1);
  if (pattern[0] === "*" && countPlain(ending) === ending.length)
    return plainPattern((path) => ofPath(path).endsWith(ending));
  return wildcardPattern(pattern.length, () => {
    const source = translateWildmatch(pattern, "name");
    return source === undefined ? undefined : `(?:.*/)?${source}`;
  });
}

function plainPattern(matches: (path: string) => boolean): CompiledPattern {
  return { matches, wildcard: undefined };
}

function wildcardPattern(byteCount: number, translate: () => string | undefined): CompiledPattern {
  let compiled: TextPattern | null | undefined;
  const compile = (): TextPattern | null => {
    const source = translate();
    return source === undefined ? null : wholePath([source]);
  };
  return {
    matches: (path) => (compiled ??= compile())?.test(path) ?? false,
    wildcard: { byteCount, source: translate },
  };
}

/** What matches a whole path like one of these. */
export function wholePath(sources: readonly string[]): TextPattern {
  return new TextPattern(`\\A(?s:${sources.join("|")})\\z`);
}

/** The length of the beginning that has no special character. */
function countPlain(pattern: string): number {
  let at = 0;
  while (at < pattern.length && !special.has(pattern[at])) at++;
  return at;
}

const special: ReadonlySet<string> = new Set(["*", "?", "[", "\\"]);

function skipBlanks(line: string, from: number): number {
  let at = from;
  while (at < line.length && blanks.has(line[at])) at++;
  return at;
}

function skipWord(line: string, from: number): number {
  let at = from;
  while (at < line.length && !blanks.has(line[at])) at++;
  return at;
}

const blanks: ReadonlySet<string> = new Set([" ", "\t", "\r", "\n"]);

/** A text in quotes, with the escapes of C; undefined if it is not well-formed: then the quote is part of it. One character per byte. */
export function unquote(line: string, from: number): { readonly text: string; readonly end: number } | undefined {
  let text = "";
  for (let at = from + 1; at < line.length; at++) {
    if (line[at] === '"') return { text, end: at + 1 };
    if (line[at] !== "\\") {
      text += line[at];
      continue;
    }
    at++;
    const named = escapes[line[at]] as string | undefined;
    const octal = named === undefined ? /^[0-3][0-7]{2}/.exec(line.slice(at, at + 3))?.[0] : undefined;
    if (named === undefined && octal === undefined) return undefined;
    text += named ?? String.fromCharCode(Number.parseInt(octal ?? "", 8));
    if (octal !== undefined) at += 2;
  }
  return undefined;
}

const escapes: Readonly<Record<string, string>> = {
  __proto__: null as never,
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  '"': '"',
};

/** The byte order mark of UTF-8. */
const mark = "\xef\xbb\xbf";
