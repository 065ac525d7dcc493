/**
 * For each regexp, text and case: the regexp as typed, its canonical source and the `Matcher` find the same matches,
 * and what `RegexpAnalysis` promises holds for each of them. `FAULTS=1 SEED=random` tries a hundred times as many
 * others.
 */
import RE2 from "re2";
import t from "tap";
import { assert } from "../../../src/base/assert.js";
import { analyseLiteral, analyseRegexp } from "../../../src/regexp/analysis/analyse.js";
import type { RegexpAnalysis } from "../../../src/regexp/analysis/analysis.js";
import { compileRegexp, Matcher, type WindowSizes } from "../../../src/regexp/match/matcher.js";
import { lowerAscii } from "../../../src/regexp/syntax/class-names.js";
import { parseRegexp } from "../../../src/regexp/syntax/parse.js";
import { escapeRegexp } from "../../../src/base/text.js";
import { printSource } from "../../../src/regexp/syntax/print.js";
import { alphabet, regexpCases } from "../../support/regexp-generator.js";
import { fc, runs, seed } from "../../support/property.js";

const parameters = { numRuns: runs(1000) };

/** A match as byte offsets. */
type Match = readonly [start: number, end: number];

function naiveMatches(source: string, foldCase: boolean, text: Buffer): Match[] {
  const regexp = new RE2(source, foldCase ? "gimu" : "gmu");
  const found: Match[] = [];
  for (let match = regexp.exec(text); match !== null; match = regexp.exec(text)) {
    found.push([match.index, match.index + match[0].length]);
    if (match[0].length === 0) regexp.lastIndex = afterCharacter(text, match.index);
  }
  return found;
}

/** Bytes that are not UTF-8 follow the character before them. */
function afterCharacter(text: Buffer, at: number): number {
  let next = at + 1;
  while (next < text.length && (text[next] & 0xc0) === 0x80) next++;
  return next;
}

const notEmpty = (matches: readonly Match[]): Match[] => matches.filter(([start, end]) => start < end);

function foundByMatcher(source: string, foldCase: boolean, text: Buffer, base: number): Match[] {
  const found: Match[] = [];
  compileRegexp(source, foldCase).findAll(text, base, { push: (start, end) => found.push([start, end]) });
  return found;
}

/** So small that most matches continue past a window. */
const smallWindows: WindowSizes = {
  wholeBytesMax: 0,
  bytesMin: 4,
  bytesFirst: 4,
  bytesMax: 8,
  attemptCountMax: 2,
  longTimes: Infinity,
};

function foundInWindows(source: string, foldCase: boolean, text: Buffer, longTimes: number): Match[] {
  const found: Match[] = [];
  new Matcher(parseRegexp(source, foldCase), foldCase, { ...smallWindows, longTimes }).findAll(text, 0, {
    push: (start, end) => found.push([start, end]),
  });
  return found;
}

function foundInLines(source: string, foldCase: boolean, text: Buffer): Match[] {
  const found: Match[] = [];
  for (let start = 0; start <= text.length; ) {
    const newline = text.indexOf(10, start);
    const end = newline < 0 ? text.length : newline;
    found.push(...foundByMatcher(source, foldCase, text.subarray(start, end), start));
    start = end + 1;
  }
  return found;
}

/** With `step` 1, also finds matches that overlap an earlier one. */
function foundByPlainSearch(literal: string, foldCase: boolean, text: Buffer, step?: number): Match[] {
  const needle = Buffer.from(literal);
  const haystack = foldCase ? lowerBytes(text) : text;
  const found: Match[] = [];
  for (let at = haystack.indexOf(needle); at >= 0; at = haystack.indexOf(needle, at + (step ?? needle.length)))
    found.push([at, at + needle.length]);
  return found;
}

/** All of these ranges, by start and longer ones first, without those that overlap an earlier one. */
function foundByPlainSearches(texts: readonly string[], foldCase: boolean, text: Buffer): Match[] {
  const all = texts
    .flatMap((one) => foundByPlainSearch(one, foldCase, text, 1))
    .sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  const found: Match[] = [];
  for (const match of all) if (match[0] >= (found.at(-1)?.[1] ?? 0)) found.push(match);
  return found;
}

function lowerBytes(text: Buffer): Buffer {
  return Buffer.from(text.map((byte) => (byte >= 65 && byte <= 90 ? byte + 32 : byte)));
}

const foldsIntoAscii = (text: Buffer): boolean => text.includes("\u017F") || text.includes("\u212A");

/** `source` is the analysed regexp in the syntax of RE2's binding. */
function checkAnalysis(analysis: RegexpAnalysis, source: string, foldCase: boolean, text: Buffer): void {
  const { literal, alternatives, clauses, crossesLines, matchesEmpty } = analysis;
  const all = naiveMatches(source, foldCase, text);
  const found = foundByMatcher(source, foldCase, text, 0);
  // A match of newlines only is none, unless the regexp names the newline.
  const isKept = ([start, end]: Match): boolean =>
    text.subarray(start, end).some((byte) => byte !== 10) || found.some(([at]) => at === start);
  const matches = notEmpty(all).filter(isKept);
  same(found, matches, "the matcher finds what a loop over exec finds");
  same(foundInWindows(source, foldCase, text, Infinity), matches, "the matcher finds it in small windows as well");
  same(
    foundInWindows(source, foldCase, text, 0),
    matches,
    "and in small windows with as much more in view as a match may take",
  );
  assert(compileRegexp(source, foldCase).test(text) === all.length > 0, "test says whether there is a match");
  if (notEmpty(all).length < all.length) assert(matchesEmpty, "a match is empty");
  if (!/[$^]|\\[AbBz]/.test(source))
    assert(matchesEmpty === new RE2(`^(?:${source})$`, "u").test(""), "no match is empty");
  if (!crossesLines) {
    for (const [start, end] of matches) assert(!text.subarray(start, end).includes(10), "a match holds a newline");
    same(foundInLines(source, foldCase, text), matches, "lines alone hold the same matches");
  }
  if (foldCase && foldsIntoAscii(text)) return;
  for (const [start, end] of all) {
    const match = foldCase ? lowerBytes(text.subarray(start, end)) : text.subarray(start, end);
    for (const clause of clauses)
      assert(
        clause.some((one) => match.includes(one)),
        `a match has no literal of ${clause.join(" | ")}`,
      );
  }
  if (literal !== undefined)
    same(foundByPlainSearch(literal, foldCase, text), matches, "a plain search finds the same");
  if (alternatives !== undefined)
    same(foundByPlainSearches(alternatives, foldCase, text), matches, "plain searches find the same");
}

function same(actual: unknown, expected: unknown, message: string): void {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  assert(a === b, `${message}: ${a} instead of ${b}`);
}

t.test(`the analysis of generated regexps is sound (seed ${seed})`, async (t) => {
  const seen = { matched: 0, withClauses: 0, withLiteral: 0, withAlternatives: 0, lineBound: 0, empty: 0 };
  fc.assert(
    fc.property(regexpCases, fc.boolean(), ({ source, text }, foldCase) => {
      const analysis = analyseRegexp(source, foldCase);
      const canonical = printSource(parseRegexp(source, foldCase), foldCase);
      checkAnalysis(analysis, canonical, foldCase, text);
      const matches = naiveMatches(source, foldCase, text);
      same(matches, naiveMatches(canonical, foldCase, text), "the canonical source means what was typed");
      if (matches.length === 0) return;
      seen.matched++;
      if (analysis.clauses.length > 0) seen.withClauses++;
      if (analysis.literal !== undefined) seen.withLiteral++;
      if (analysis.alternatives !== undefined) seen.withAlternatives++;
      if (!analysis.crossesLines) seen.lineBound++;
      if (analysis.matchesEmpty) seen.empty++;
    }),
    parameters,
  );
  t.ok(seen.matched > parameters.numRuns / 4, "a good part of the cases match");
  for (const [what, count] of Object.entries(seen))
    t.ok(count > parameters.numRuns / 200, `${what}: ${count} of ${parameters.numRuns}`);
});

t.test(`the canonical source is a fixed point (seed ${seed})`, async (t) => {
  fc.assert(
    fc.property(regexpCases, fc.boolean(), fc.boolean(), ({ source }, foldTyped, foldCase) => {
      const tree = parseRegexp(source, foldTyped);
      const canonical = printSource(tree, foldCase);
      same(parseRegexp(canonical, foldCase), tree, "the tree comes back");
      same(printSource(parseRegexp(canonical, foldCase), foldCase), canonical, "the source comes back");
    }),
    parameters,
  );
  t.pass("holds");
});

t.test(`a literal pattern finds what a plain search finds (seed ${seed})`, async (t) => {
  const characters = fc
    .array(fc.constantFrom(...alphabet, "\\", ".", "*", "(", "[", "{", "|", "^", "$", "\0", "\ud800"), {
      minLength: 1,
      maxLength: 4,
    })
    .map((all) => all.join(""));
  fc.assert(
    fc.property(characters, fc.array(characters), fc.boolean(), (pattern, parts, foldCase) => {
      const analysis = analyseLiteral(pattern, foldCase);
      const text = Buffer.from([...parts, pattern.toUpperCase(), pattern, ...parts].join(""));
      const source = escapeRegexp(wellFormed(pattern));
      checkAnalysis(analysis, source, foldCase, text);
      if (!foldCase)
        same(
          foundByPlainSearch(pattern, false, text),
          notEmpty(naiveMatches(source, false, text)),
          "the pattern itself",
        );
      const plain = foldCase ? !/[éÉ\u212A\u017F]/.test(pattern) : true;
      same(analysis.literal, plain ? wellFormed(foldCase ? lowerAscii(pattern) : pattern) : undefined, "the literal");
    }),
    parameters,
  );
  t.pass("holds");
});

function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\uFFFD");
}
