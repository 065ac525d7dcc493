/**
 * Every regular expression of src/ takes linear time, whatever text it is given: clients, commits and remotes choose
 * the texts.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import t from "tap";
import { whyNotLinear } from "../support/linear-regexp.js";
import { regexpsOf } from "../support/regexp-list.js";

/**
 * Those that cannot be proven, as `path: text`, each with the reason why no text makes them slow. Prefer a scanner by
 * hand, RE2 (src/regexp/match/text-pattern.ts) or a pattern that can be proven to a row here.
 */
const exceptions: ReadonlyMap<string, string> = new Map([]);

const instead =
  "read the text by hand, or with TextPattern (RE2), or see the list of exceptions in test/house/tidy-regexps.test.ts";

const sources = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z", "src"], {
  encoding: "utf8",
})
  .split("\0")
  .filter((path) => /\.tsx?$/.test(path) && existsSync(path));

/** What stands before a regexp, and not before a division, in a text, a comment or a tag: nothing, a sign or a word. */
const beginsRegexp =
  /(?:^|[^\s\w$)\]"'`/*<.]|\b(?:return|of|in|case|typeof|void|yield|await|else|do|delete|instanceof|new|throw|default|extends))\s*\/(?![/*])/;

/** A regexp begins and ends in one line, which is neither a comment nor an import. */
const mayHoldRegexp = (line: string): boolean =>
  line.split("/").length > 2 &&
  !["//", "/*", "*", "import ", "} from "].some((aside) => line.trim().startsWith(aside)) &&
  beginsRegexp.test(line);

/** To parse all files takes six seconds. */
const mayHaveRegexp = (text: string): boolean => text.includes("RegExp") || text.split("\n").some(mayHoldRegexp);

const listed = sources.flatMap((path) => {
  const text = readFileSync(path, "utf8");
  return mayHaveRegexp(text) ? regexpsOf(path, text).map((regexp) => ({ ...regexp, path })) : [];
});

t.test("each regexp is proven linear, or has a reason", async (t) => {
  for (const { path, line, text, pattern } of listed) {
    const reason = pattern === undefined ? "its source is not constant" : whyNotLinear(pattern.source, pattern.flags);
    const isException = exceptions.has(`${path}: ${text}`);
    if (reason !== undefined && !isException)
      t.fail(`${path}:${line}: ${text} is not proven linear (${reason}); ${instead}`);
    if (reason === undefined && isException) t.fail(`${path}:${line}: ${text} is proven linear and needs no exception`);
  }
  for (const key of exceptions.keys())
    if (!listed.some(({ path, text }) => `${path}: ${text}` === key))
      t.fail(`${key} is an exception that nothing needs`);
  t.ok(listed.length > 150, `${listed.length} regexps in ${sources.length} files`);
});

t.test("the list includes literals and constant strings", async (t) => {
  const of = (code: string) =>
    regexpsOf("a.ts", code).map(({ text, pattern }) =>
      pattern === undefined ? text : `${pattern.source} ${pattern.flags}`,
    );
  t.same(of("const a = /x\\/y+/gi;\nf(1 / 2 / 3, `${b.replace(/[/]/, '')}`);"), ["x\\/y+ gi", "[/] "]);
  t.same(of('const w = ["a", "b"]; const n = `(?:${w.join("|")})`; const r = new RegExp(`^${n}+$`, "i");'), [
    "^(?:a|b)+$ i",
  ]);
  t.same(of('let n = "a"; RegExp(n); new RegExp(f(), "i");'), ["RegExp(n)", 'new RegExp(f(), "i")']);
});

t.test("linear regexps", async (t) => {
  const rows: readonly (readonly [what: string, pattern: RegExp])[] = [
    ["no repetition", /ab|cd/],
    ["bounded repetition", /^(?:a{0,20}b){3}$/],
    ["anchored", /^a*b/],
    ["at each line", /^[ \t]*#include/m],
    ["nothing can fail behind it", /\s+/g],
    ["one letter sets the parts apart", /^[^=]*=(.*)/],
    ["parts without a letter in common", /^a+b+c+$/],
    ["each start takes what no other start takes", /"[^"]*"/g],
    ["in quotes", /^"(?:[^"\\]|\\.)*"/s],
    ["sticky", /[a-z]+:/y],
    ["a lookahead that is bounded", /^a(?=b)c/],
    ["lines of their own", /^.*;$/m],
    ["a class in either case", /^[a-z]+1[A-Z]*2/i],
    ["nested, with a letter between", /^(?:a+,)*$/],
    ["nothing at all", /^(?:a|b)*/],
  ];
  for (const [what, { source, flags }] of rows) t.equal(whyNotLinear(source, flags), undefined, `${what}: ${source}`);
});

t.test("regexps that are not linear", async (t) => {
  const rows: readonly (readonly [what: string, pattern: RegExp])[] = [
    ["the search for a run that does not end as wanted", /\/+$/],
    ["a search", /a+b/],
    ["in a class", /[-\d.]+$/],
    ["a search in either case", /A+b/i],
    ["blanks that cross lines", /^\s*path/m],
    ["two runs that meet", /^\d+\.?\d*s/],
    ["with a text between", /^(.*?)\.{2,3}(.*)$/],
    ["far apart", /^[^/]*x[^/]*x[^/]*y$/],
    ["a run within a run", /^(?:a+)+$/],
    ["alternatives that begin alike", /^(?:a|ab?)*c$/],
    ["letters of a class", /^\w+(?:[:_]\w+)*=/],
    ["in a lookahead", /^a*(?=a*b)/],
    ["an open bracket looks for its end", /\[([^\]]*)\]/],
    ["a little is taken where far was looked", /\\.|\[[^\]]*\]|[^]/g],
    ["an optional part", /b(?:b*c)?/g],
    ["a reference", /^(a|b)\1$/],
    ["the end of each line", /^(.*) <([^>]*)>$/],
    ["a line for one is no line for the other", /^[^\n]*;$/m],
    ["an empty iteration", /^(?:a*b?)*c/],
  ];
  for (const [what, { source, flags }] of rows) t.type(whyNotLinear(source, flags), "string", `${what}: ${source}`);
});
