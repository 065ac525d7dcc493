/** Lines of a comment, or between a definition and its comment, that are looked at. */
const commentLinesMax = 120;
const betweenLinesMax = 20;

/** Lines from the name of a Python function to the end of its parameters. */
const headLinesMax = 40;

/** How much of a comment is returned; longer lines are cut. */
const commentLengthMax = 4_000;
export const commentLineLengthMax = 500;

/** How many lines before and behind a definition are needed to find what is written about it. */
export const docLines = { before: commentLinesMax + betweenLinesMax + 1, behind: headLinesMax + commentLinesMax };

/** How comments of a language begin, and those of several lines end. */
interface CommentStyle {
  readonly line: readonly string[];
  readonly block?: readonly [open: string, close: string];
}

const slashes: CommentStyle = { line: ["//"], block: ["/*", "*/"] };

const styles: readonly (readonly [CommentStyle, languages: string])[] = [
  [
    { line: ["#"] },
    "Alpine Abuild,Awk,CMake,Crystal,Cython,Easybuild,Elixir,fish,Gentoo Ebuild,Gentoo Eclass,Julia,Makefile,Meson,NumPy,OpenRC runscript,Perl,Python,R,Raku,RBS,Ruby,Shell,Snakemake,Starlark,Tcl,Xonsh",
  ],
  [{ line: ["#"], block: ["<#", "#>"] }, "PowerShell"],
  [{ line: ["//", "#"], block: ["/*", "*/"] }, "PHP,Hack"],
  [{ line: ["--"], block: ["{-", "-}"] }, "Haskell,C2hs Haskell,Elm"],
  [{ line: ["--"], block: ["--[[", "]]"] }, "Lua"],
  [{ line: ["--"], block: ["/*", "*/"] }, "SQL,HiveQL,PLpgSQL,PLSQL,SQLPL,TSQL"],
  [{ line: ["--"] }, "Ada,Eiffel,VHDL"],
  [{ line: [";"] }, "Assembly,Clojure,Common Lisp,Emacs Lisp,Motorola 68K Assembly,NSIS,Racket,Scheme,AutoIt"],
  [{ line: ["#", ";", "//"], block: ["/*", "*/"] }, "Unix Assembly"],
  [{ line: ["%"] }, "Erlang,MATLAB"],
  [{ line: ["//"], block: ["(*", "*)"] }, "OCaml,Pascal,Standard ML"],
  [{ line: ["!"] }, "Fortran,Fortran Free Form"],
  [{ line: ["'"] }, "VBA,VBScript,Visual Basic .NET,Visual Basic 6.0,FreeBASIC,QuickBASIC,Classic ASP"],
  [{ line: ['"'] }, "Vim script"],
];

const styleByLanguage = new Map(styles.flatMap(([style, names]) => names.split(",").map((name) => [name, style])));

const languagesWithDocstrings = new Set("Python,Cython,Easybuild,NumPy,Snakemake,Starlark,Xonsh".split(","));

/** Comments that speak to tools and not to readers. */
const directive =
  /^(?:eslint|tslint|@ts-|prettier|biome-|istanbul|c8 |v8 |noinspection|nolint|NOLINT|noqa|type: ignore|pylint|mypy|rubocop|go:|\+build|clang-|shellcheck|swiftlint|#?(?:end)?region\b)/;

const licence = /\b(?:copyright|licen[cs]ed?|spdx-license-identifier)\b/i;

/**
 * What is written about a definition: the comment that ends directly above its line, or above the annotations before it; in
 * Python, the string that begins its body. Without the marks of the comment; "" if there is none. `lines[at]` is the line of
 * the name, and `isFirst` says whether `lines[0]` is the first line of the file, whose comment may be its licence.
 */
export function docComment(lines: readonly string[], at: number, language: string, isFirst: boolean): string {
  const docstring = languagesWithDocstrings.has(language) ? readDocstring(lines, at) : undefined;
  const found = docstring ?? commentAbove(lines, at, language, isFirst) ?? [];
  const text = trimLines(removeIndent(found.filter((line) => !isForTools(line.trim())))).join("\n");
  return text.length > commentLengthMax ? `${text.slice(0, commentLengthMax)}…` : text;
}

/** Rulers, such as a line of stars, say nothing either. */
function isForTools(line: string): boolean {
  return directive.test(line) || (line.length > 2 && /^[-=*#/~_+;!%]+$/.test(line));
}

function commentAbove(
  lines: readonly string[],
  at: number,
  language: string,
  isFirst: boolean,
): readonly string[] | undefined {
  const style = styleByLanguage.get(language) ?? slashes;
  const end = skipAnnotations(lines, at, style);
  if (language === "Elixir" && (lines[end] ?? "").trim() === '"""') return readHeredoc(lines, end);
  const block = style.block === undefined ? undefined : readBlock(lines, end, style.block);
  const [from, found] = block ?? readLineComments(lines, end, style.line);
  const isOfFile = isFirst && (from === 0 || (from === 1 && (lines[0] ?? "").startsWith("#!")));
  return isOfFile && found.some((line) => licence.test(line)) ? undefined : found;
}

/** The line above a definition and what belongs to it: decorators, attributes, `template<…>`, and in C the type of a function. */
function skipAnnotations(lines: readonly string[], at: number, style: CommentStyle): number {
  let line = at - 1;
  for (const last = Math.max(0, at - betweenLinesMax); line >= last; line--) {
    const text = (lines[line] ?? "").trim();
    if (/^(?:@\w|#\[|template\b)/.test(text) || (text.startsWith("[") && text.endsWith("]"))) continue;
    // `static int` alone in its line, and the name in the next one.
    const isType = style === slashes && line === at - 1 && /^[A-Za-z_][\w\s*&:<>,]*$/.test(text);
    if (!isType) break;
  }
  return line;
}

/** The comment whose last line this is, and where it begins; undefined if it is no comment of this kind, or one behind code. */
function readBlock(
  lines: readonly string[],
  end: number,
  [open, close]: readonly [string, string],
): readonly [from: number, lines: readonly string[]] | undefined {
  if (!(lines[end] ?? "").trimEnd().endsWith(close)) return undefined;
  const last = Math.max(0, end - commentLinesMax);
  for (let from = end; from >= last; from--) {
    const text = (lines[from] ?? "").trimEnd();
    // Another comment ends above, or this one begins behind code.
    if (from < end && text.includes(close)) return undefined;
    if (!text.trimStart().startsWith(open)) {
      if (text.includes(open)) return undefined;
      continue;
    }
    const inner = lines.slice(from, end + 1).map((line, i) => {
      const begun =
        i === 0
          ? line
              .trim()
              .slice(open.length)
              .replace(/^[*!]+/, "")
              .trimStart()
          : line;
      const ended = from + i === end ? begun.trimEnd().slice(0, -close.length) : begun;
      return i > 0 && open === "/*" ? ended.replace(/^\s*\*+ ?/, "") : ended;
    });
    return [from, inner];
  }
  return undefined;
}

function readLineComments(
  lines: readonly string[],
  end: number,
  marks: readonly string[],
): readonly [from: number, lines: readonly string[]] {
  const found: string[] = [];
  let from = end;
  for (const last = Math.max(0, end - commentLinesMax); from >= last; from--) {
    const text = (lines[from] ?? "").trim();
    const mark = marks.find((other) => text.startsWith(other));
    // `#!` begins a program, and `#define` is no comment where `#` is one.
    if (mark === undefined || (from === 0 && text.startsWith("#!"))) break;
    let start = mark.length;
    while (text.charAt(start) === mark.charAt(mark.length - 1)) start++;
    // `//!`, `#'`, `!>` and `-- |` begin documentation in their languages.
    found.push(text.slice(start).replace(/^(?:[!'^>]| [|^])/, ""));
  }
  return [from + 1, found.reverse()];
}

/** The string that begins the body of a function or class. */
function readDocstring(lines: readonly string[], at: number): readonly string[] | undefined {
  if (!/^\s*(?:async\s+def|def|cdef|cpdef|class)\b/.test(lines[at] ?? "")) return undefined;
  let line = at;
  const headEnd = Math.min(lines.length, at + headLinesMax);
  while (line < headEnd && !endsHead(lines[line] ?? "")) line++;
  do line++;
  while (line < headEnd && (lines[line] ?? "").trim() === "");
  const first = (lines[line] ?? "").trim();
  const start = /^[rRuU]?("""|'''|"|')/.exec(first);
  if (start === null) return undefined;
  const [{ length }, quote = ""] = start;
  const found: string[] = [];
  const end = Math.min(lines.length, line + commentLinesMax);
  for (let i = line; i < end; i++) {
    const text = i === line ? first.slice(length) : (lines[i] ?? "");
    const close = text.indexOf(quote);
    found.push(close < 0 ? text : text.slice(0, close));
    if (close >= 0 || quote.length === 1) break;
  }
  return found;
}

/** Whether a line of Python ends with a colon, but for a comment. */
function endsHead(line: string): boolean {
  return line.split("#", 1)[0].trimEnd().endsWith(":");
}

/** The text of `@doc """` in Elixir. */
function readHeredoc(lines: readonly string[], end: number): readonly string[] | undefined {
  const last = Math.max(0, end - commentLinesMax);
  for (let from = end - 1; from >= last; from--)
    if (/^\s*@(?:type)?doc\s+(?:~[sS])?"""$/.test((lines[from] ?? "").trimEnd())) return lines.slice(from + 1, end);
  return undefined;
}

/** What all lines have before their text is no part of it; a first one that follows the mark of its comment has none. */
function removeIndent(lines: readonly string[]): readonly string[] {
  const [first = ""] = lines;
  const isBegun = first !== "" && !/^\s/.test(first);
  const rest = isBegun ? lines.slice(1) : lines;
  const indents = rest.flatMap((line) => (line.trim() === "" ? [] : [line.length - line.trimStart().length]));
  const indent = Math.min(...indents);
  return lines.map((line, i) => (i === 0 && isBegun ? line : line.slice(Math.min(indent, line.length))).trimEnd());
}

function trimLines(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => line.trim() !== "");
  return first < 0 ? [] : lines.slice(first, lines.findLastIndex((line) => line.trim() !== "") + 1);
}
