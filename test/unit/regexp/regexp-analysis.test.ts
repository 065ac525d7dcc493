import RE2 from "re2";
import t from "tap";
import { analyseLiteral, analyseRegexp } from "../../../src/regexp/analysis/analyse.js";
import { clauseCountMax, literalCountMax } from "../../../src/regexp/analysis/requirement.js";
import {
  namedClassHasNewline,
  perlClasses,
  posixClasses,
  unicodeClasses,
  foldedVariants,
  isCaseless,
} from "../../../src/regexp/syntax/class-names.js";
import { compileRegexp } from "../../../src/regexp/match/matcher.js";
import { regexpDepthMax } from "../../../src/regexp/syntax/parse.js";
import { isFull } from "../../support/full-run.js";

/** Regexp source, clauses. */
type Row = readonly [typed: string, clauses: string];

const rowsByConstruct: Readonly<Record<string, readonly Row[]>> = {
  texts: [
    ["abc", `"abc"`],
    ["", ""],
    ["(a(b)c)", `"abc"`],
    ["\\Qa.b\\E", `"a.b"`],
    ["a\\nb", `"a\\nb"`],
    ["é😀", `"é😀"`],
  ],
  sequences: [
    ["abc.*def", `"def" "abc"`],
    ["foo\\s*=\\s*bar", `"foo" "bar" "="`],
    ["[a-z]+_lock_irqsave", `"_lock_irqsave"`],
    ["[^a]bc", `"bc"`],
    ["[a-z]+[0-9]+_[a-z]+\\(", `"(" "_"`],
    ["(?s)a.*b", `"b" "a"`],
    [".*", ""],
    ["\\w+\\s\\w+", `("\\t"|"\\n"|"\\f"|"\\r"|" ")`],
  ],
  alternatives: [
    ["a|b", `("a"|"b")`],
    ["foo|", ""],
    ["foo|.*", ""],
    ["(copy|move)_to_user", `("copy_to_user"|"move_to_user")`],
    ["(a|b|)c", `"c"`],
    ["struct [a-z]+_(ops|operations) ", `"struct " ("_ops "|"_operations ")`],
    ["(foo.*bar|baz.*qux)", `("bar"|"qux") ("bar"|"baz") ("foo"|"qux") ("foo"|"baz")`],
    ["(__)?(get|put)_user", `("get_user"|"put_user")`],
    ["(a|ab)(c|bcd)", `("ac"|"abc"|"abbcd")`],
    ["\\.(c|h)$", `(".c"|".h")`],
  ],
  "one literal for several": [
    ["printf|sprintf", `"printf"`],
    ["sprintf|tprintf", `"printf"`],
    ["err(or)?s?", `"err"`],
    ["(un)?lock(ed)?", `"lock"`],
    ["abcd|abce|abcf", `"abc"`],
    ["abd|ace", `("abd"|"ace")`],
    ["TODO|TODOS|XXX", `("TODO"|"XXX")`],
    ["[abc]def", `"def"`],
  ],
  repetitions: [
    ["(abc)?def", `"def"`],
    ["(abc)*def", `"def"`],
    ["(abc)+", `"abc"`],
    ["(abc){2}", `"abcabc"`],
    ["(abc){2,}", `"abcabc"`],
    ["(abc){0,9}", ""],
    ["(abc){9}", `"abcabcabcabc"`],
    ["x{0}abc", `"abc"`],
    ["(ab|cd){2}", `("abab"|"abcd"|"cdab"|"cdcd")`],
    ["abc?d", `("abcd"|"abd")`],
    ["(a|b)*abb", `"abb"`],
    ["(a|b)+?c", `("ac"|"bc")`],
    ["((a*)b)*c", `"c"`],
    ["(ab+c)+", `"bc" "ab"`],
  ],
  anchors: [
    ["^abc$", `"abc"`],
    ["\\babc\\b", `"abc"`],
    ["a^b", `"ab"`],
    ["\\A", ""],
    ["^#include\\s+<linux/", `"#include" "<linux/"`],
  ],
  classes: [
    ["a[xy]b", `("axb"|"ayb")`],
    ["x[a-f]y", `"y" "x"`],
    ["x[^a]y", `"y" "x"`],
    ["x\\dy", `"y" "x"`],
    ["x\\pLyz", `"yz" "x"`],
    ["caf[eé]", `"caf"`],
    ["[^\\x00-\\x{10FFFF}]", ""],
  ],
  "case folded in a part": [
    ["(?i)a1", `("a1"|"A1")`],
    ["(?i:k)", `("k"|"K"|"\u212A")`],
    ["(?i:s)x", `("sx"|"Sx"|"\u017Fx")`],
    ["x(?i:é)yz", `"yz" "x"`],
    ["(?i:1é)", `"1"`],
    ["(?i:12)3", `"123"`],
    ["[Kk]malloc", `"malloc"`],
    ["(?i:[ab])c", `("ac"|"Ac"|"bc"|"Bc")`],
    ["x(?i:[1é])y", `"y" "x"`],
  ],
};

const foldedRows: Readonly<Record<string, readonly Row[]>> = {
  texts: [
    ["KMalloc", `"kmalloc"`],
    ["aéb", `"b" "a"`],
    ["aéÉbcd", `"bcd" "a"`],
    ["é", ""],
    ["\u212Aelvin", `"elvin"`],
    ["\u017F", ""],
  ],
  sequences: [
    ["ABC.*DEF", `"def" "abc"`],
    ["TODO|FixMe", `("todo"|"fixme")`],
    ["[Kk]malloc", `"kmalloc"`],
    ["[a-c]X[yY]", `("axy"|"bxy"|"cxy")`],
  ],
  "case kept in a part": [
    ["(?-i:ABC)D", `"abcd"`],
    ["(?-i:é)x", `"x"`],
  ],
};

for (const [foldCase, table] of [
  [false, rowsByConstruct],
  [true, foldedRows],
] as const) {
  t.test(`required literals of a regexp${foldCase ? ", case-insensitive" : ""}`, async (t) => {
    for (const [construct, rows] of Object.entries(table)) {
      for (const [typed, clauses] of rows)
        t.equal(printClauses(analyseRegexp(typed, foldCase).clauses), clauses, `${construct}: ${typed}`);
    }
  });
}

/** Regexp, the text that it is equivalent to, the same case-insensitively. */
const literals: readonly (readonly [typed: string, literal: string | undefined, folded: string | undefined])[] = [
  ["abc", "abc", "abc"],
  ["ABC", "ABC", "abc"],
  ["", undefined, undefined],
  ["a.c", undefined, undefined],
  ["a\\.c", "a.c", "a.c"],
  ["(ab)(c)", "abc", "abc"],
  ["[a]b", "ab", "ab"],
  ["é", "é", undefined],
  ["😀K", "😀K", "😀k"],
  ["(?i)a", undefined, "a"],
  ["(?i)1", "1", "1"],
  ["(?-i:A)", "A", undefined],
  ["(?-i:1)", "1", "1"],
  ["^a", undefined, undefined],
  ["a|a", undefined, undefined],
  ["a\\nb", "a\nb", "a\nb"],
];

t.test("regexps that are equivalent to one text", async (t) => {
  for (const [typed, literal, folded] of literals) {
    t.equal(analyseRegexp(typed, false).literal, literal, typed);
    t.equal(analyseRegexp(typed, true).literal, folded, `${typed}, ignoring case`);
  }
  t.match(analyseLiteral("a.(B", true), {
    literal: "a.(b",
    clauses: [["a.(b"]],
    crossesLines: false,
    matchesEmpty: false,
  });
  t.match(analyseLiteral("", false), { literal: undefined, clauses: [], matchesEmpty: true });
});

/** Regexp, the texts of which it is an alternation, the same case-insensitively. */
const alternations: readonly (readonly [
  typed: string,
  texts: readonly string[] | undefined,
  folded: readonly string[] | undefined,
])[] = [
  ["get|put", ["get", "put"], ["get", "put"]],
  ["GET|Put", ["GET", "Put"], ["get", "put"]],
  ["(get|put)", ["get", "put"], ["get", "put"]],
  ["foo|foobar", undefined, undefined],
  ["fob|fobar|bar", ["fob", "bar"], ["fob", "bar"]],
  ["fobar|fob", ["fobar", "fob"], ["fobar", "fob"]],
  ["abca|b", ["abca", "b"], ["abca", "b"]],
  ["get|put|get", ["get", "put"], ["get", "put"]],
  ["get|p.t", undefined, undefined],
  ["get|", undefined, undefined],
  ["gé|put", ["gé", "put"], undefined],
  ["g\u{1f600}|put", ["g\u{1f600}", "put"], ["g\u{1f600}", "put"]],
  ["(?i:get)|put", undefined, ["get", "put"]],
  ["get", undefined, undefined],
  ["^get|put", undefined, undefined],
];

t.test("alternations of texts", async (t) => {
  for (const [typed, texts, folded] of alternations) {
    t.same(analyseRegexp(typed, false).alternatives, texts, typed);
    t.same(analyseRegexp(typed, true).alternatives, folded, `${typed}, ignoring case`);
  }
});

/** Regexp, whether a match can span lines, whether it can be empty. */
const bounds: readonly (readonly [typed: string, crossesLines: boolean, matchesEmpty: boolean])[] = [
  ["abc", false, false],
  ["a.*b", false, false],
  ["(?s)a.*b", true, false],
  ["a\\nb", true, false],
  ["a\\s", true, false],
  ["[^a]", true, false],
  ["[^a\\n]", false, false],
  ["\\W", true, false],
  ["\\S", false, false],
  ["\\D", true, false],
  ["[^\\D]", false, false],
  ["\\PL", true, false],
  ["\\pL", false, false],
  ["[[:space:]]", true, false],
  ["[[:^space:]]", false, false],
  ["^a$", false, false],
  ["\\Aa", true, false],
  ["a\\z", true, false],
  ["(?-m)^a", true, false],
  ["\\ba\\B", false, false],
  ["a*", false, true],
  ["", false, true],
  ["^", false, true],
  ["^$", false, true],
  ["a|", false, true],
  ["a|b*c", false, false],
  ["(a*)+", false, true],
  ["a{0}", false, true],
  ["(a?){3}", false, true],
];

t.test("whether matches can span lines or be empty", async (t) => {
  for (const [typed, crossesLines, matchesEmpty] of bounds)
    t.match(analyseRegexp(typed, false), { crossesLines, matchesEmpty }, typed);
});

t.test("required literals are limited in number, and found quickly", async (t) => {
  const words = Array.from({ length: 5000 }, (_, i) => `word${(i * 7919) % 100_003}`);
  const sources = [
    words.join("|"),
    words.join("."),
    words
      .slice(0, 2500)
      .map((word) => `${word}.${word}`)
      .join("|"),
    words.join("?"),
    "(a|b)".repeat(12_000),
    "[abcde]".repeat(8_000),
    "(ab|c)?x".repeat(7_000),
    "a.".repeat(30_000),
    "a?".repeat(30_000),
    "(?i)" + "ks".repeat(30_000),
    "a{1000}",
    "((abc|def){10}){100}",
    words.join("é"),
    ...["(a|b", "(a.b|c", "(ab?|.", "(?:a", "(?:a|b+"].flatMap((open) =>
      ["", "*", "+", "?", "{2}"].map(
        (operator, i) =>
          open.repeat(i === 4 ? 9 : regexpDepthMax) + `)${operator}`.repeat(i === 4 ? 9 : regexpDepthMax),
      ),
    ),
  ];
  const started = process.cpuUsage().user;
  for (const [at, source] of sources.entries()) {
    for (const foldCase of isFull ? [false, true] : [at % 2 === 0]) {
      const { clauses } = analyseRegexp(source, foldCase);
      const name = source.slice(0, 30);
      if (clauses.length > clauseCountMax || clauses.some((clause) => clause.length > literalCountMax)) t.fail(name);
    }
  }
  t.ok(
    process.cpuUsage().user - started < 10_000_000,
    `${sources.length} long regexps in ${Math.round((process.cpuUsage().user - started) / 1000)} ms`,
  );
});

/** All characters except surrogates. */
const allCharacters = Array.from({ length: 0x110000 }, (_, i) => i).filter((i) => i < 0xd800 || i > 0xdfff);
const allText = Buffer.from(allCharacters.map((i) => String.fromCodePoint(i)).join(""));

function charactersFound(source: string, foldCase: boolean): string {
  const found: Buffer[] = [];
  compileRegexp(`${source}+`, foldCase).findAll(allText, 0, {
    push: (start, end) => found.push(allText.subarray(start, end)),
  });
  return Buffer.concat(found).toString();
}

t.test("named classes are those of RE2", async (t) => {
  for (const [name, ranges] of perlClasses) t.equal(charactersFound(`\\${name}`, false), spelled(ranges), `\\${name}`);
  for (const [name, ranges] of posixClasses) t.equal(charactersOfRe2(`[[:${name}:]]`), spelled(ranges), `[:${name}:]`);
  const spellings = [...unicodeClasses].flatMap((name) =>
    name.length === 1 ? [`\\p${name}`, `\\P${name}`] : [`\\p{${name}}`, `\\P{${name}}`],
  );
  for (const named of ["\\D", "\\S", "\\W", ...spellings])
    t.equal(new RE2(named, "u").test("\n"), namedClassHasNewline(named), named);
  for (const name of posixClasses.keys())
    t.equal(new RE2(`[[:^${name}:]]`, "u").test("\n"), namedClassHasNewline(`[:^${name}:]`), `[:^${name}:]`);
});

function charactersOfRe2(source: string): string {
  const regexp = new RE2(source, "u");
  return allCharacters
    .slice(0, 256)
    .map((i) => String.fromCodePoint(i))
    .filter((character) => regexp.test(character))
    .join("");
}

function spelled(ranges: readonly number[]): string {
  return allCharacters
    .slice(0, 256)
    .filter((c) => ranges.some((first, i) => i % 2 === 0 && first <= c && c <= ranges[i + 1]))
    .map((c) => String.fromCodePoint(c))
    .join("");
}

t.test("folding is that of RE2", async (t) => {
  for (const character of "abcdefghijklmnopqrstuvwxyzKS09_") {
    t.same([...charactersFound(character, true)].sort(), [...(foldedVariants(character) ?? [])].sort(), character);
  }
  const caseless = spans(allCharacters.filter((i) => isCaseless(String.fromCodePoint(i))));
  const source = `[${caseless.map(([first, last]) => `\\x{${first.toString(16)}}-\\x{${last.toString(16)}}`).join("")}]`;
  t.ok(
    charactersFound(source, true) === charactersFound(source, false),
    "nothing folds with the characters taken for caseless",
  );
});

/** The first and last number of each run of consecutive numbers. */
function spans(numbers: readonly number[]): (readonly [number, number])[] {
  const starts = numbers.filter((n, i) => i === 0 || numbers[i - 1] !== n - 1);
  const ends = numbers.filter((n, i) => i === numbers.length - 1 || numbers[i + 1] !== n + 1);
  return starts.map((start, i) => [start, ends[i]]);
}

/** The clauses of an analysis: `"abc" ("def"|"ghi")`. */
function printClauses(clauses: readonly (readonly string[])[]): string {
  const printed = clauses.map((clause) => clause.map((literal) => JSON.stringify(literal)).join("|"));
  return printed.map((text, i) => (clauses[i]!.length === 1 ? text : `(${text})`)).join(" ");
}
