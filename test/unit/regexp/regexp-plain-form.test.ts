import t from "tap";
import { compileRegexp } from "../../../src/regexp/match/matcher.js";
import { toPlainForm } from "../../../src/regexp/analysis/plain-form.js";
import { fc, runs } from "../../support/property.js";

/** The matches found by the plain form, as texts; "not plain" if there is none. */
function found(source: string, text: string, foldCase = false): string {
  const form = toPlainForm(source, foldCase);
  if (form === undefined) return "not plain";
  if (!form.findsRanges) return form.test(text) ? "some" : "none";
  const ranges: string[] = [];
  form.findAll(text, { push: (start, end) => ranges.push(`${start}:${text.slice(start, end)}`) });
  return ranges.length > 0 ? ranges.join(" ") : "none";
}

t.test("regexps of paths that need no RE2", async (t) => {
  const rows: readonly (readonly [string, string, string])[] = [
    ["b", "abcb", "1:b 3:b"],
    ["aa", "aaaaa", "0:aa 2:aa"],
    ["^a", "aba", "0:a"],
    ["a$", "aba", "2:a"],
    ["^a$", "a", "0:a"],
    ["^a$", "aa", "none"],
    [String.raw`\.c$`, "a.c/b.c", "5:.c"],
    [String.raw`\.(c|h)$`, "a.c.h", "3:.h"],
    [String.raw`\.[ch]$`, "a.c", "1:.c"],
    [String.raw`\.cc?$`, "a.cc", "1:.cc"],
    ["(a|ab)(c|)", "abc", "0:a"],
    ["(^|/)make$", "make", "0:make"],
    ["(^|/)make$", "a/make", "1:/make"],
    [".*", "abc", "0:abc"],
    [".+", "abc", "0:abc"],
    ["a.*c", "xabcbcb", "1:abcbc"],
    ["a.+c", "ac", "none"],
    ["a.+c", "acc", "0:acc"],
    ["a.*b.*c", "ababcbc", "0:ababcbc"],
    [String.raw`^drivers/.*\.c$`, "drivers/a/b.c", "0:drivers/a/b.c"],
    [String.raw`(a|b).*\.[ch]$`, "xbac.h", "1:bac.h"],
    ["a.*(b|c)", "abc", "some"],
    ["a.*(b|c)", "a", "none"],
    ["", "a", "not plain"],
    ["a*", "a", "not plain"],
    [".", "a", "not plain"],
    ["a$b", "a", "not plain"],
    ["a^b", "a", "not plain"],
    [String.raw`\bb`, "b", "not plain"],
    ["é", "e", "not plain"],
    ["(?i)a", "A", "not plain"],
    ["[^a]", "b", "not plain"],
    ["a.*?c", "ac", "not plain"],
  ];
  for (const [source, text, expected] of rows) t.equal(found(source, text), expected, `${source} in ${text}`);
  t.equal(found("Make", "a/make", true), "2:make", "lower case where case is folded");
  t.equal(found("(?-i:Make)", "a/make", true), "not plain");
});

const atom = fc.constantFrom(
  "a",
  "b",
  "ab",
  "A",
  "/",
  ".",
  ".*",
  ".+",
  "[ab]",
  "a?",
  "b??",
  "^",
  "$",
  String.raw`\.`,
  "(?-i:a)",
  "(?i:b)",
);
const { source } = fc.letrec<{ readonly source: string }>((tie) => ({
  source: fc.oneof(
    { maxDepth: 3 },
    atom,
    fc.array(tie("source"), { minLength: 1, maxLength: 4 }).map((parts) => parts.join("")),
    fc.array(tie("source"), { minLength: 2, maxLength: 3 }).map((parts) => `(${parts.join("|")})`),
  ),
}));
const text = fc.string({ unit: fc.constantFrom("a", "b", ".", "/"), maxLength: 8 });

t.test("the plain form finds the same as RE2", async (t) => {
  const caseCount = runs(5_000);
  let plainCount = 0;
  fc.assert(
    fc.property(source, text, fc.boolean(), (source, text, foldCase) => {
      const form = toPlainForm(source, foldCase);
      if (form === undefined) return true;
      plainCount++;
      const matcher = compileRegexp(source, foldCase);
      const bytes = Buffer.from(text);
      if (form.test(text) !== matcher.test(bytes)) return false;
      if (!form.findsRanges) return true;
      const expected: number[] = [];
      const actual: number[] = [];
      matcher.findAll(bytes, 0, { push: (start, end) => expected.push(start, end) });
      form.findAll(text, { push: (start, end) => actual.push(start, end) });
      return expected.join() === actual.join();
    }),
    { numRuns: caseCount },
  );
  t.ok(plainCount > caseCount / 10, "many of the regexps are plain");
});
