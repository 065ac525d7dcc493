import { compileWildmatch, type TextTest } from "./wildmatch.js";

/** True for `name`, false for `-name`, null for `!name`, which is unspecified again, and the text of `name=text`. */
export type AttributeValue = boolean | string | null;

export interface AttributeState {
  readonly name: string;
  readonly value: AttributeValue;
}

/** One line with a pattern. */
export interface AttributeRule {
  /** Of a path from the directory of the file, with one character per byte. */
  readonly matches: TextTest;
  readonly states: readonly AttributeState[];
}

/** What a `.gitattributes` file says. */
export interface AttributeFile {
  /** In the order of the lines: the last one that matches counts. */
  readonly rules: readonly AttributeRule[];
  /** By name. Counted in the root of a repository only. */
  readonly macros: ReadonlyMap<string, readonly AttributeState[]>;
}

/** git leaves out longer lines as well. */
export const attributeLineBytesMax = 2048;

const macroPrefix = "[attr]";
const attributeName = /^[A-Za-z0-9_.][A-Za-z0-9_.-]*$/;

/** Parses a file with one character per byte. Like git, it leaves out a line that it does not understand. */
export function parseAttributeFile(text: string): AttributeFile {
  const rules: AttributeRule[] = [];
  const macros = new Map<string, readonly AttributeState[]>();
  const nul = text.indexOf("\0");
  const whole = nul < 0 ? text : text.slice(0, nul);
  for (const line of (whole.startsWith(mark) ? whole.slice(mark.length) : whole).split("\n")) {
    const parsed = line.length > attributeLineBytesMax ? undefined : parseLine(line);
    if (parsed === undefined) continue;
    if (parsed.macro !== undefined) macros.set(parsed.macro, parsed.states);
    else rules.push({ matches: parsed.matches, states: parsed.states });
  }
  return { rules, macros };
}

type ParsedLine = AttributeRule & { readonly macro: string | undefined };

function parseLine(line: string): ParsedLine | undefined {
  const start = skipBlanks(line, 0);
  if (start === line.length || line[start] === "#") return undefined;
  const quoted = line[start] === '"' ? unquote(line, start) : undefined;
  const end = quoted?.end ?? skipWord(line, start);
  let name = quoted?.text ?? line.slice(start, end);
  if (name.length > macroPrefix.length && name.startsWith(macroPrefix)) {
    // The name may also follow the prefix after blanks, within quotes.
    name = name.slice(skipBlanks(name, macroPrefix.length));
    name = name.slice(0, skipWord(name, 0));
    const states = attributeName.test(name) ? parseStates(line, end) : undefined;
    return states && { macro: name, matches: () => false, states };
  }
  const states = parseStates(line, end);
  if (states === undefined) return undefined;
  // Negative patterns are forbidden here.
  return name.startsWith("!") ? undefined : { macro: undefined, matches: compilePattern(name), states };
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

/** A pattern without a slash, other than one at its end, is one of names. */
function compilePattern(given: string): TextTest {
  // Such a pattern is only for directories, whose attributes nobody asks for.
  if (given.endsWith("/")) return () => false;
  if (!given.includes("/")) return compileName(given);
  const pattern = given.startsWith("/") ? given.slice(1) : given;
  const plain = countPlain(pattern);
  const prefix = pattern.slice(0, plain);
  if (plain === pattern.length) return (path) => path === prefix;
  // Like git, the rest is a pattern by itself: its beginning counts as that of a directory's name.
  const rest = compileWildmatch(pattern.slice(plain), "path");
  return (path) => path.startsWith(prefix) && rest(path.slice(plain));
}

function compileName(pattern: string): TextTest {
  const ofPath = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
  if (countPlain(pattern) === pattern.length) return (path) => ofPath(path) === pattern;
  const ending = pattern.slice(1);
  if (pattern[0] === "*" && countPlain(ending) === ending.length) return (path) => ofPath(path).endsWith(ending);
  const test = compileWildmatch(pattern, "name");
  return (path) => test(ofPath(path));
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

/** A pattern in quotes, with the escapes of C; undefined if it is not well-formed: then the quote is part of it. */
function unquote(line: string, from: number): { readonly text: string; readonly end: number } | undefined {
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
