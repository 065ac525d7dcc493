/** `.sourcegraph/ignore`: which paths a pattern names, and what is wrong with the others. */
import t from "tap";
import {
  ignorePatternsMax,
  ignoreProblemsMax,
  parseIgnoreFile,
  wildcardUnitsMax,
} from "../../../src/indexer/rules/ignore-file.js";

const paths = [
  "a.c",
  "b/a.c",
  "b/x/a.c",
  "vendor/a.go",
  "vendored",
  "b/vendor/c",
  ".git",
  "[x]",
  "\u00e9.txt",
  "a,b",
  "a*c",
];

/** The patterns of a file and the paths that it names. */
const rows: readonly (readonly [text: string, named: readonly string[]])[] = [
  ["", []],
  ["# vendor", []],
  ["vendor", ["vendor/a.go", "vendored"]],
  ["/vendor/", ["vendor/a.go"]],
  ["  vendor/**\r\n", ["vendor/a.go"]],
  ["*.c", ["a.c"]],
  ["**.c", ["a.c", "b/a.c", "b/x/a.c"]],
  ["**/a.c", ["b/a.c", "b/x/a.c"]],
  ["b/*/a.?", ["b/x/a.c"]],
  ["b/*", ["b/a.c"]],
  ["*", ["a.c", "vendored", ".git", "[x]", "\u00e9.txt", "a,b", "a*c"]],
  ["?.txt", ["\u00e9.txt"]],
  ["[a-b].c", ["a.c"]],
  ["[!a-b].txt", ["\u00e9.txt"]],
  ["[xa].c", ["a.c"]],
  ["{a,b/a}.c", ["a.c", "b/a.c"]],
  ["{b/{x,y}/*,vendor*}.?", ["b/x/a.c"]],
  ["\\[x\\]", ["[x]"]],
  ["a\\*c", ["a*c"]],
  ["a\\,b", ["a,b"]],
  ["a.c\n\n!a.c\nb/a.c", ["a.c", "b/a.c"]],
];

/** Patterns with the start of what is said about them. */
const bad: readonly (readonly [line: string, problem: string])[] = [
  ["a[", "line 2: a bracket is not closed"],
  ["a[b", "line 2: a bracket is not closed"],
  ["a[b-", "line 2: a bracket is not closed"],
  ["a[]", "line 2: a bracket is empty"],
  ["[a-z0-9]", "line 2: a bracket with a range has that range only, as in [a-z]"],
  ["[z-a]", "line 2: the range z-a ends before it begins"],
  ["{a,b", "line 2: a brace is not closed"],
  ["a*\\", "line 2: there is nothing after the last backslash"],
  ["{".repeat(9), "line 2: more than 8 braces within one another"],
  ["a".repeat(1_025), "line 2: a pattern has more than 1024 characters"],
];

t.test("which paths a pattern names", (t) => {
  for (const [text, named] of rows) {
    const file = parseIgnoreFile(text);
    t.same(paths.filter(file.matches), named, JSON.stringify(text));
    t.same(file.problems, []);
    t.equal(file.isEmpty, named.length === 0);
  }
  t.end();
});

t.test("a bad pattern has no effect, and is named with its line", (t) => {
  for (const [line, problem] of bad) {
    const file = parseIgnoreFile(`# one\n${line}\na.c`);
    t.same(file.problems, [problem]);
    t.same(paths.filter(file.matches), ["a.c"]);
  }
  t.end();
});

t.test("many patterns are bounded, and take time linear in a path", (t) => {
  const many = parseIgnoreFile("**a**b\n".repeat(ignorePatternsMax));
  t.notOk(many.matches("a".repeat(4_000)));
  t.ok(many.matches(`${"a".repeat(4_000)}b`));
  const tooMany = parseIgnoreFile("a.c\n".repeat(ignorePatternsMax + 1));
  t.same(tooMany.problems, [`more than ${ignorePatternsMax} patterns: nothing is left out`]);
  t.notOk(tooMany.matches("a.c"));
  t.end();
});

t.test("many bad lines are a count, and many wildcards are none", (t) => {
  const { problems, matches } = parseIgnoreFile(`${"[\n".repeat(100_000)}a.c`);
  t.equal(problems.length, ignoreProblemsMax + 1);
  t.equal(problems.at(-1), `and ${100_000 - ignoreProblemsMax} more lines that have no effect`);
  t.ok(matches("a.c"));
  const hostile = parseIgnoreFile(`${"**?a".repeat(240)}\n`.repeat(250));
  t.same(hostile.problems, [`more than ${wildcardUnitsMax >> 10} KiB of patterns with wildcards: nothing is left out`]);
  t.ok(hostile.isEmpty);
  t.same(parseIgnoreFile(`${"a".repeat(240)}\n`.repeat(250)).problems, [], "names are no wildcards");
  t.end();
});
