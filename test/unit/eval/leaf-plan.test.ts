/** How a leaf is found in a shard: by which method, and in a superset of the contents that match. */
import assert from "node:assert/strict";
import RE2 from "re2";
import t from "tap";
import { TrawlError } from "../../../src/base/errors.js";
import { planLeaf, type LeafPlan, withAutomaton } from "../../../src/eval/match/leaf-plan.js";
import { LeafScan } from "../../../src/eval/match/leaf-scan.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import type { Leaf } from "../../../src/query/plan/plan.js";
import { findAutomaton } from "../../../src/regexp/match/automaton.js";
import { unitBytes } from "../../../src/shard/format.js";
import type { ShardReader } from "../../../src/shard/shard-reader.js";
import { neverStopped, testRepository, testShard } from "../../support/engine.js";
import { fc, runs } from "../../support/property.js";

const kernel = loadKernel("ts");

function shardOf(contents: readonly string[]): ShardReader {
  const documents = contents.map((content, i) => ({ path: `${i}`, content }));
  return testShard(kernel, documents, [testRepository(1, "host/one")]).reader;
}

/** The only leaf of a query. */
function leafOf(query: string): Leaf {
  const leaves = planQuery(query, "standard").basicQueries.flatMap(({ text }) => text?.leaves ?? []);
  assert.equal(leaves.length, 1, query);
  return leaves[0]!;
}

/** `method [literal literal] candidates`, where candidates are content numbers or `all`. */
function print({ method, scans, candidates }: LeafPlan): string {
  return `${method} [${scans.map(({ needle }) => needle.toString()).join(" ")}] ${candidates?.join() ?? "all"}`;
}

const contents = ["the needle", "a thread, a NEEDLE", "needles\nthread", "nothing", "ne edle", "\u212aelvin"];
const reader = shardOf(contents);

const rows: readonly (readonly [string, string, string])[] = [
  // query, plan with the index, plan without it
  // Trigrams ignore case. A content with U+212A or U+017F is a candidate of a pattern that ignores it too, unless that is
  // a text without the letters k and s.
  ["needle case:yes", "literals [needle] 0,1,2", "literals [needle] all"],
  ["needle", "literals [needle] 0,1,2", "literals [needle] all"],
  ["needles", "literals [needles] 2,5", "literals [needles] all"],
  ["kneedle", "literals [] 5", "literals [kneedle] all"],
  ["/needle.*x/", "lines [needle] 0,1,2,5", "lines [needle] all"],
  ["absent case:yes", "literals [] ", "literals [absent] all"],
  ["ne case:yes", "literals [ne] all", "literals [ne] all"],
  ["/needle|thread/ case:yes", "literals [needle thread] 0,1,2", "lines [needle thread] all"],
  ["/needle.*x/ case:yes", "lines [needle] 0,1,2", "lines [needle] all"],
  ["/(?s)needle.*thread/ case:yes", "contents", "contents [] all"],
  ["/[a-z]/ case:yes", "contents [] all", "contents [] all"],
];

t.test("which method finds a pattern, and in which contents", async (t) => {
  for (const [query, withIndex, withoutIndex] of rows) {
    const leaf = leafOf(query);
    const plan = print(planLeaf(leaf, reader, kernel, true, neverStopped));
    t.equal(withIndex === "contents" ? plan.split(" ")[0] : plan, withIndex, query);
    t.equal(print(planLeaf(leaf, reader, kernel, false, neverStopped)), withoutIndex, `${query} without the index`);
  }
});

t.test("exceptions are searched completely, if case is ignored", async (t) => {
  t.same([...planLeaf(leafOf("kelvin"), reader, kernel, true, neverStopped).exceptions], [5]);
  t.same([...planLeaf(leafOf("kelvin case:yes"), reader, kernel, true, neverStopped).exceptions], []);
});

t.test("a stopped search ends in the look-up", async (t) => {
  const stop = {
    finishesCounted: false,
    check: () => {
      throw new TrawlError("cancelled", "stopped");
    },
  };
  type Stop = Parameters<typeof planLeaf>[4];
  t.throws(() => planLeaf(leafOf("needle"), reader, kernel, true, stop as unknown as Stop), { code: "cancelled" });
});

/** Texts of up to three units, in which some matches lie across the border of two. */
const word = fc.constantFrom("abk", "ABK", "bbka", "kab", "ab\u212a", "\n", " ", "k\u017fb", "abkkab");
const text = fc
  .record({ before: fc.constantFrom(0, 7, unitBytes - 3, unitBytes, 2 * unitBytes - 5), words: fc.array(word) })
  .map(({ before, words }) => "x".repeat(before) + words.join(""));
const query = fc
  .tuple(
    fc.constantFrom(
      "abk",
      "bbka",
      "kab",
      "/abk+/",
      "/abk|kab/",
      "/a.k.*ab/",
      "/k(?s).*b/",
      "/[ab]+k/",
      "/abk\\s/",
      "/^abk/",
    ),
    fc.constantFrom("", " case:yes"),
  )
  .map((parts) => parts.join(""));

t.test("candidates and units include every place of a match", async (t) => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), query, (texts, asked) => {
      const shard = shardOf(texts);
      const leaf = leafOf(asked);
      const plan = planLeaf(leaf, shard, kernel, true, neverStopped);
      texts.forEach((one, content) => {
        const regexp = new RE2(leaf.source, leaf.foldCase ? "umgi" : "umg");
        const matches = [...one.matchAll(regexp as RegExp)];
        if (matches.length === 0) return;
        assert.ok(plan.candidates?.includes(content) ?? true, `${asked} may be in content ${content}`);
        if (plan.method !== "literals" || plan.exceptions.includes(content)) return;
        for (const match of matches) {
          const at = Buffer.byteLength(one.slice(0, match.index));
          const unit = shard.contentFirstUnit[content]! + Math.floor(at / unitBytes);
          assert.ok(
            plan.scans.some(({ units }) => units?.includes(unit) ?? true),
            `${asked} begins in unit ${unit}`,
          );
        }
      });
    }),
    { numRuns: runs(100) },
  );
  t.pass();
});

t.test("an automaton finds what RE2 finds in whole contents", async (t) => {
  const sources = ["[ab]+k", "[a-c]\\s*[j-l]", "^[ab]+[^x]", "[^a-z]b?$", "\\b[a-k]{4}\\b", "k\\n?[ab]", "\\pL[jk]"];
  let foundCount = 0;
  fc.assert(
    fc.property(
      fc.array(text, { minLength: 1, maxLength: 4 }),
      fc.constantFrom(...sources),
      fc.boolean(),
      (texts, source, isCaseSensitive) => {
        const shard = shardOf(texts);
        const leaf = leafOf(`/${source}/${isCaseSensitive ? " case:yes" : ""}`);
        const contentsPlan: LeafPlan = { ...planLeaf(leaf, shard, kernel, false, neverStopped), method: "contents" };
        const automaton = findAutomaton(leaf.source, leaf.foldCase, !leaf.analysis.crossesLines);
        if (automaton === undefined) throw new Error(`${source} has no automaton`);
        const scans = [{ needle: Buffer.alloc(0), units: undefined }];
        const rowsOf = (plan: LeafPlan): number[] => {
          const scan = new LeafScan(plan, shard, kernel, leaf, false, neverStopped);
          scan.scan(Uint32Array.from(texts.keys()));
          return [...scan.rows.words.subarray(0, 2 * scan.rows.count)];
        };
        const expected = rowsOf(contentsPlan);
        foundCount += expected.length;
        assert.deepEqual(rowsOf({ ...contentsPlan, method: "automaton", automaton, scans }), expected);
      },
    ),
    { numRuns: runs(600) },
  );
  t.ok(foundCount > 100, `${foundCount}`);
});

t.test("an automaton is used where it rules out most of a large text", async (t) => {
  const large = shardOf(Array.from({ length: 50 }, (_, i) => `${"some words of a text\n".repeat(5_000)}w${i}_x(\n`));
  const methodOf = (source: string): string => {
    const leaf = leafOf(`/${source}/ case:yes`);
    return withAutomaton(planLeaf(leaf, large, kernel, true, neverStopped), leaf, large, kernel).method;
  };
  t.equal(methodOf("[a-z]+[0-9]+_[a-z]"), "automaton");
  t.equal(methodOf("[0-9]\\s*_"), "contents", "something in each content");
  t.equal(methodOf("[0-9]\\s*[A-Z]"), "automaton");
  t.equal(methodOf("[a-z]+ [a-z]"), "contents", "something in each line");
  t.equal(methodOf("[a-z]*"), "contents", "it matches the empty text");
  t.equal(methodOf("words [a-z]+"), "lines", "a literal is faster");
  const leaf = leafOf("/[a-z]+[0-9]+_[a-z]/ case:yes");
  t.equal(
    withAutomaton(planLeaf(leaf, reader, kernel, true, neverStopped), leaf, reader, kernel).method,
    "contents",
    "little text",
  );
});
