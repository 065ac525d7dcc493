/**
 * An automaton accepts each text in which RE2 finds a match. All kernels find the same with it, in whatever steps, and as much as a
 * plain run of its table.
 */
import t from "tap";
import { analyseRegexp } from "../../../src/regexp/analysis/analyse.js";
import { type Automaton, findAutomaton } from "../../../src/regexp/match/automaton.js";
import { compileTextRegexp } from "../../../src/regexp/match/matcher.js";
import { portableKernel } from "../../../src/native/kernel/portable.js";
import type { Kernel } from "../../../src/native/kernel/kernel.js";
import { forEachKernel, holds } from "../../support/kernel-support.js";
import { fc, runs, seed } from "../../support/property.js";
import { regexpCases } from "../../support/regexp-generator.js";

type Row = readonly [from: number, to: number];

/** Where a search stops for a while: room for so many rows, and so much work. */
interface Steps {
  readonly capacity: number;
  readonly workMax: number;
}

const atOnce: Steps = { capacity: 100_000, workMax: 2 ** 31 };

/** `bounds`: where each text ends. */
function findRows(
  kernel: Kernel,
  text: Uint8Array,
  bounds: readonly number[],
  automaton: Automaton,
  steps: Steps,
): Row[] {
  const ranges = bounds.flatMap((to, i) => [bounds[i - 1] ?? 0, to, to, bounds[i - 1] ?? 0]);
  const rows = new Uint32Array(2 * steps.capacity);
  const cursor = new Uint32Array(4);
  const found: Row[] = [];
  for (let isDone = false; !isDone; ) {
    const { table, byLine } = automaton;
    const words = Uint32Array.from(ranges);
    isDone = kernel.scanAutomaton(text, words, bounds.length, table, byLine, steps.workMax, rows, cursor);
    for (let i = 0; i < cursor[2]; i++) found.push([rows[2 * i], rows[2 * i + 1]]);
    cursor[2] = 0;
  }
  return found;
}

t.test(`no match is missed (seed ${seed})`, async (t) => {
  const seen = { matched: 0, ruledOut: 0, byLine: 0, none: 0 };
  fc.assert(
    fc.property(regexpCases, fc.boolean(), ({ source, text }, foldCase) => {
      const { crossesLines, matchesEmpty } = analyseRegexp(source, foldCase);
      const automaton = findAutomaton(source, foldCase, !crossesLines);
      if (automaton === undefined) {
        if (!matchesEmpty) seen.none++;
        return;
      }
      const matches: Row[] = [];
      const sink = { push: (from: number, to: number) => void matches.push([from, to]) };
      compileTextRegexp(source, foldCase).findAll(text, 0, sink);
      const rows = findRows(portableKernel, text, [text.length], automaton, atOnce);
      for (const [from, to] of matches)
        if (!rows.some((row) => row[0] <= from && to <= row[1])) throw new Error(`${from}-${to} is missed`);
      if (matches.length > 0) seen.matched++;
      else if (rows.length === 0) seen.ruledOut++;
      if (automaton.byLine) seen.byLine++;
    }),
    { numRuns: runs(2_000) },
  );
  for (const [what, count] of Object.entries(seen)) if (what !== "none") t.ok(count > 10, `${what}: ${count}`);
  t.comment(`${seen.none} without an automaton`);
});

t.test("CRLF, folding and characters outside ASCII", async (t) => {
  for (const [source, foldCase, text] of [
    ["b$", false, "ab\r\n"],
    ["a\\sb$", false, "a\r\nb\r\n"],
    ["^a.$", false, "x\nab\r\n"],
    ["kelvin", true, "\u212Aelvin"],
    ["(?i:\u017F)x", false, "Sx"],
    ["\u212A{2}", true, "kK"],
    ["[s-t]+x", true, "\u017Fx"],
    ["[^a]b", false, "\u00e9b"],
    ["\\pLb", false, "\u00e9b"],
    ["\\PLb", false, "1b"],
    ["[[:^alpha:]]b", false, "\u20acb"],
    ["\u00e9{2}", false, "x\u00e9\u00e9"],
    ["\u00c9x", true, "\u00e9x"],
    ["a{3,5}b", false, "aaaaab"],
    ["(a|bc)*d", false, "abcad"],
    ["(x+x+)+y", false, "xxxy"],
  ] as const) {
    const bytes = Buffer.from(text);
    const automaton = findAutomaton(source, foldCase, !analyseRegexp(source, foldCase).crossesLines);
    if (automaton === undefined) t.fail(`${source} has no automaton`);
    else t.equal(findRows(portableKernel, bytes, [bytes.length], automaton, atOnce).length, 1, source);
  }
});

t.test("what is too large, or accepts everything, has none", async (t) => {
  for (const source of ["a*", "", "(?:[ab].{15}){20}z", "a{500}", "(?:(?:a{20}){20}){2}", "^"])
    t.equal(findAutomaton(source, false, true), undefined, source);
  const small = findAutomaton("[A-Z][A-Z0-9_]{12,}", false, true);
  t.equal(small?.table.length, 14 * 256, "positions from which no more matches are dropped");
});

forEachKernel("the rows are those of the table, in any steps", (t, kernel) => {
  const word = fc.constantFrom(
    "ab",
    "a",
    "b1_x(",
    "x9_y(",
    " ",
    "\n",
    "\n\n",
    "\r\n",
    "some longer text without ",
    "é",
    "\xff",
  );
  const texts = fc.array(word, { maxLength: 60 }).chain((words) => {
    const text = Buffer.from(words.join(""), "latin1");
    const bounds = fc.array(fc.nat(text.length), { maxLength: 5 });
    return fc.record({
      text: fc.constant(text),
      bounds: bounds.map((some) => [...some, text.length].sort((a, b) => a - b)),
    });
  });
  const sources = fc.constantFrom("[a-z]+[0-9]+_[a-z]+\\(", "a\\s*b", "^a", "[^\\x00-\\x7f]", "b.*x", "a\\nb");
  const steps = fc.record({ capacity: fc.integer({ min: 1, max: 4 }), workMax: fc.integer({ min: 1, max: 50 }) });
  holds(
    t,
    1_000,
    fc.property(texts, sources, steps, ({ text, bounds }, source, steps) => {
      const automaton = findAutomaton(source, false, !analyseRegexp(source, false).crossesLines) as Automaton;
      const expected = findRows(portableKernel, text, bounds, automaton, atOnce);
      for (const one of [steps, atOnce]) {
        const found = findRows(kernel, text, bounds, automaton, one);
        if (JSON.stringify(found) !== JSON.stringify(expected))
          throw new Error(`${JSON.stringify(found)} not ${JSON.stringify(expected)}`);
      }
    }),
  );
  // So long that all chains run, each over several pieces.
  const lines = Array.from({ length: 20_000 }, (_, i) =>
    i % 97 === 0 ? `x${i}_y(z)` : `line ${"of text ".repeat(i % 9)}`,
  );
  const text = Buffer.from(lines.join("\n"));
  const bounds = [100_003, 400_000, 400_000, 400_001, text.length];
  for (const source of ["[a-z]+[0-9]+_[a-z]+\\(", "x\\s*[0-9]+_y", "e"]) {
    const automaton = findAutomaton(source, false, !analyseRegexp(source, false).crossesLines) as Automaton;
    const expected = findRows(portableKernel, text, bounds, automaton, atOnce);
    t.ok(expected.length >= 3, `${expected.length} rows`);
    for (const steps of [atOnce, { capacity: 100, workMax: 300_000 }, { capacity: 5_000, workMax: 70_001 }])
      t.same(findRows(kernel, text, bounds, automaton, steps), expected, `${source} in steps of ${steps.workMax}`);
  }
});
