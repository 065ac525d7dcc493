import t from "tap";
import { BalancedScanner } from "../../../src/query/syntax/scan.js";
import { isSpaceAt } from "../../../src/query/syntax/characters.js";
import { fieldAt } from "../../../src/query/syntax/fields.js";
import { parseQuery, choosePatternType } from "../../../src/query/syntax/parse.js";
import { printTree } from "../../../src/query/plan/print.js";
import { QueryError } from "../../../src/query/syntax/query-error.js";
import { isFull } from "../../support/full-run.js";
import { fc, runs } from "../../support/property.js";
import { outcomeOf, pieces, types } from "../../support/query-outcome.js";

/** For more cases: `SEED=random FAULTS=1 node dist/test/unit/query/query-fuzz.test.js`. */
const runCount = runs(400);

/** Generous: on an idle machine the slowest text takes a fifth of it. */
const planMsMax = 4000;

const anyType = fc.constantFrom(...types);

/** Any text that a search box or a socket can send, including lone surrogates. */
const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)), maxLength: 30 }),
  fc.string({ unit: "binary-ascii", maxLength: 60 }),
);

const piece = fc.constantFrom(...pieces);
const soup = fc.array(piece, { maxLength: 24 }).map((pieces) => pieces.join(""));
const spacedSoup = fc.array(piece, { maxLength: 16 }).map((pieces) => pieces.join(" "));

t.test("any text results in a plan or an error with a position", async () => {
  for (const text of [anyText, soup, spacedSoup]) {
    fc.assert(
      fc.property(text, anyType, (query, type) => outcomeOf(query, type) !== ""),
      { numRuns: runCount },
    );
  }
});

/** The contract of `BalancedScanner.wordEnd`, implemented without its cache. */
function wordEndOf(text: string, from: number): number | undefined {
  const isQuery = (at: number): boolean => /^(?:and|or|not) /i.test(text.slice(at)) || fieldAt(text, at) !== undefined;
  if (isQuery(from)) return undefined;
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (depth === 0 && (text[at] === ")" || isSpaceAt(text, at))) return at;
    else if ((text[at] === "(" || isSpaceAt(text, at)) && isQuery(at + 1)) return undefined;
    else if (text[at] === "(") depth++;
    else if (text[at] === ")") depth--;
  }
  return depth === 0 ? text.length : undefined;
}

t.test("the ends of words with parentheses do not depend on the order of look-ups", async () => {
  const short = fc
    .array(fc.constantFrom("(", "(", ")", ")", " ", "a", "\\", "or ", "f:"), { maxLength: 14 })
    .map((all) => all.join(""));
  fc.assert(
    fc.property(short, fc.array(fc.nat(14), { maxLength: 6 }), (text, places) => {
      const scanner = new BalancedScanner(text);
      return places
        .filter((span) => span <= text.length)
        .every((span) => scanner.wordEnd(span) === wordEndOf(text, span));
    }),
    { numRuns: runCount },
  );
});

t.test("every planned query has a printed tree", async () => {
  fc.assert(
    fc.property(fc.oneof(soup, spacedSoup), anyType, (query, type) => {
      outcomeOf(query, type);
      try {
        return printTree(parseQuery(query, type)) !== "";
      } catch (error) {
        return error instanceof QueryError;
      }
    }),
    { numRuns: Math.ceil(runCount / 4) },
  );
});

t.test("leading space has no meaning", async () => {
  const space = fc.constantFrom(" ", "\t", "\n ", "\u3000");
  fc.assert(
    fc.property(
      fc.oneof(soup, spacedSoup),
      space,
      anyType,
      (query, before, type) => withoutPlaces(outcomeOf(before + query, type)) === withoutPlaces(outcomeOf(query, type)),
    ),
    { numRuns: Math.ceil(runCount / 4) },
  );
});

/** Removes the position from messages like `expected operand at 5`. */
function withoutPlaces(outcome: string): string {
  return outcome.replace(/^expected operand at \d+/, "expected operand");
}

t.test("every text has a pattern type", async () => {
  fc.assert(
    fc.property(fc.oneof(anyText, soup), (query) => types.includes(choosePatternType(query, "", "keyword"))),
    { numRuns: Math.ceil(runCount / 4) },
  );
});

/** `text` repeated up to the maximum length of a query. */
function filled(text: string): string {
  return text.repeat(Math.floor(65_536 / Buffer.byteLength(text)));
}

t.test("long and deeply nested texts are handled quickly", async (t) => {
  const words = Array.from({ length: 9000 }, (_, i) => `w${i}`);
  const texts: Readonly<Record<string, string>> = {
    "10,000 open parentheses": "(".repeat(10_000),
    "10,000 closing parentheses": ")".repeat(10_000),
    "10,000 balanced parentheses": `${"(".repeat(10_000)}a${")".repeat(10_000)}`,
    "10,000 empty pairs": "()".repeat(10_000),
    "10,000 pairs side by side": "(a) ".repeat(10_000),
    "10,000 terms": "a ".repeat(10_000),
    "9,000 different terms": words.join(" "),
    "9,000 alternatives": words.join(" or ").slice(0, 65_000),
    "groups within groups": filled("(a or "),
    "500 groups that close": `${"(a or b and ".repeat(500)}c${")".repeat(500)}`,
    "operators only": filled("and or not "),
    "one word of 64 KiB": filled("x"),
    "64 KiB of space": filled(" "),
    "64 KiB of Unicode space": filled("\u3000"),
    "64 KiB of emoji": filled("\u{1f600}"),
    backslashes: filled("\\"),
    "open quotes": filled(`"a `),
    "glued quotes": filled(`"a"`),
    "open slashes": filled("/a "),
    "escaped slashes": `/${filled("\\/").slice(2)}`,
    calls: filled("f("),
    "calls and groups": filled("f(a) (b "),
    "refused words": filled("f(a or "),
    "pairs and one that stays open": `${filled(":()").slice(3)}(`,
    flags: filled("(?i)-"),
    "filters with pairs and one that stays open": `${filled("file:\\\\r:(?i)").slice(14)}(`,
    colons: filled("a:"),
    minuses: filled("-"),
    "repository filters": "repo:a ".repeat(9000),
    "excluded files": "-file:a ".repeat(8000),
    contents: filled(`content:"a" `),
    "alternatives that split": filled("(repo:a or repo:b) "),
    "alternatives that split, all of it patterns": `${"(repo:a or repo:b) ".repeat(8)}${"x ".repeat(9000)}`,
    "open predicates": filled("repo:has.path("),
    "nested predicates": `${"repo:has.file(".repeat(2000)}a${")".repeat(2000)}`,
    "a predicate of 60 KiB": `repo:has.file(${"path:a ".repeat(8000)})`,
    revisions: `repo:a@${"b:".repeat(30_000)}`,
    ats: filled("a@"),
    "a regexp with 10,000 groups": `/${"(".repeat(10_000)}a${")".repeat(10_000)}/`,
    "a regexp with 10,000 classes": `/${"[a-z]".repeat(10_000)}/`,
    "a regexp with 30,000 optional letters": `/${"a?".repeat(30_000)}/`,
    "a regexp with 6,000 alternatives": `/${words.slice(0, 6000).join("|")}/`,
    "a regexp that repeats repetitions": "/((a{100}){100}){100}/",
    "many regexps": filled("/(a+)+/ "),
    "a megabyte": "a ".repeat(524_288),
  };
  const allTypes = ["keyword", "standard", "regexp"] as const;
  for (const [at, [name, text]] of Object.entries(texts).entries()) {
    // In `make test` each text with one of them.
    for (const type of allTypes.filter((_, i) => isFull || i === at % allTypes.length)) {
      const cpu = process.cpuUsage();
      const outcome = outcomeOf(text, type);
      const durationMs = process.cpuUsage(cpu).user / 1000;
      if (durationMs > planMsMax) t.fail(`${name}, ${type}: ${durationMs.toFixed(0)} ms for ${outcome.slice(0, 80)}`);
    }
    t.pass(name);
  }
});
