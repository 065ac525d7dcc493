/** A pattern tree on one shard: which documents of a block satisfy it, and with which ranges. */
import assert from "node:assert/strict";
import t from "tap";
import { BoundPattern, type DocumentBlock } from "../../../src/eval/match/bound-pattern.js";
import { Rows } from "../../../src/eval/match/rows.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { noStats } from "../../../src/protocol/search-options.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import type { SearchPlan, TextPlan } from "../../../src/query/plan/plan.js";
import type { ShardReader } from "../../../src/shard/shard-reader.js";
import { neverStopped, testRepository, testShard, type TestDocument } from "../../support/engine.js";
import { naiveSearch } from "../../support/naive.js";
import { fc, runs } from "../../support/property.js";

const kernel = loadKernel("ts");

function readerOf(documents: readonly TestDocument[]): ShardReader {
  return testShard(kernel, documents, [testRepository(1, "host/one")]).reader;
}

/** The plan of a query that is one basic query with a pattern. */
function planOf(query: string): { readonly plan: SearchPlan; readonly text: TextPlan } {
  const plan = planQuery(query, "standard");
  assert.equal(plan.basicQueries.length, 1, query);
  const text = plan.basicQueries[0]?.text;
  assert.ok(text?.pattern !== undefined, query);
  return { plan, text };
}

function bind({ pattern, leaves }: TextPlan, reader: ShardReader, useIndex = true): BoundPattern {
  assert.ok(pattern !== undefined);
  return new BoundPattern(pattern, leaves, reader, kernel, useIndex, neverStopped);
}

/** The documents with contents `[from, to)`; `contentCount` stands for documents without content. */
function blockOf(reader: ShardReader, from: number, to: number): DocumentBlock {
  const contents = Uint32Array.from({ length: to - from }, (_, i) => from + i);
  const documents: number[] = [];
  const contentIndexes: number[] = [];
  contents.forEach((content, index) => {
    const [first = 0, end = 0] = reader.contentFirstDocument.subarray(content, content + 2);
    for (let document = first; document < end; document++) {
      documents.push(document);
      contentIndexes.push(index);
    }
  });
  return { contents, documents, contentIndexes };
}

/** `path: content ranges; path ranges` for each document that satisfies the pattern. */
function found(pattern: BoundPattern, reader: ShardReader, block: DocumentBlock): string[] {
  const bits = pattern.evaluate(block);
  const shown = (rows: Rows): string =>
    Array.from({ length: rows.count }, (_, i) => rows.words.subarray(2 * i, 2 * i + 2).join("-")).join(" ");
  return block.documents.flatMap((document, i) => {
    if (bits[i] !== 1) return [];
    const content = new Rows(4);
    const path = new Rows(4);
    pattern.addRows(i, content);
    pattern.addPathRows(i, path);
    return [`${reader.path(document).toString()}: ${shown(content)}; ${shown(path)}`];
  });
}

const documents: readonly TestDocument[] = [
  { path: "a/red.txt", content: "blue green" },
  { path: "b.txt", content: "red blue red" },
  { path: "c.txt", content: "green" },
  { path: "blue.bin", content: "", skipReason: "binary" },
];
const small = readerOf(documents);
const whole = blockOf(small, 0, small.contentCount + 1);

const rows: readonly (readonly [string, readonly string[]])[] = [
  // query, documents with their ranges; contents begin at 0, 10 and 22
  ["blue", ["a/red.txt: 0-4; ", "b.txt: 14-18; ", "blue.bin: ; 0-4"]],
  ["blue type:file", ["a/red.txt: 0-4; ", "b.txt: 14-18; "]],
  ["red and blue", ["a/red.txt: 0-4; 2-5", "b.txt: 10-13 19-22 14-18; "]],
  ["green and not red", ["c.txt: 22-27; "]],
  ["not blue", ["c.txt: ; "]],
  ["(red or green) type:file", ["a/red.txt: 5-10; ", "b.txt: 10-13 19-22; ", "c.txt: 22-27; "]],
  ["red and (green or txt)", ["a/red.txt: 5-10; 2-5 6-9", "b.txt: 10-13 19-22; 2-5"]],
  ["absent and blue", []],
];

t.test("which documents satisfy a pattern, and with which ranges", async (t) => {
  for (const [query, expected] of rows) {
    const { text } = planOf(query);
    t.same(found(bind(text, small), small, whole), expected, query);
    t.same(found(bind(text, small, false), small, whole), expected, `${query} without the index`);
  }
});

t.test("blocks one after another give what one block gives", async (t) => {
  const { text } = planOf("red or blue or green");
  const pattern = bind(text, small);
  const inBlocks = [0, 1, 2, 3].flatMap((content) => found(pattern, small, blockOf(small, content, content + 1)));
  t.same(inBlocks, found(bind(text, small), small, whole));
  t.same(found(pattern, small, blockOf(small, 2, 2)), [], "an empty block");
});

t.test("what a pattern says of itself before and after it reads text", async (t) => {
  t.ok(bind(planOf("blue case:yes").text, small).isCheap);
  t.notOk(bind(planOf("blue").text, small, false).isCheap, "without the index everything is read");
  t.notOk(bind(planOf("/bl.e/").text, small).isCheap, "RE2 is needed");
  const pattern = bind(planOf("red case:yes type:file").text, small);
  t.same([...(pattern.candidates() ?? [])], [1]);
  pattern.evaluate(blockOf(small, 1, 2));
  const stats = noStats();
  pattern.addStats(stats);
  t.equal(stats.scannedBytes, "red blue red".length);
  t.ok(stats.postingBytes > 0);
  t.notOk(pattern.hasTooCostly || pattern.isTooCostly(1));
});

const word = fc.constantFrom("abk", "bka", "kab", "kk", "ab\u212a", "ABK");
const document = fc.record({
  path: fc.stringMatching(/^[abk]{1,4}\.c$/),
  content: fc.array(word, { maxLength: 4 }).map((words) => words.join(" ")),
});
const leaf = fc.constantFrom("abk", "bka", "kab", "/ab+k/", "/^k/");
const { tree } = fc.letrec<{ tree: string }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.tuple(tie("tree"), fc.constantFrom("and", "or"), tie("tree")).map((parts) => `(${parts.join(" ")})`),
    fc.tuple(leaf, leaf).map(([a, b]) => `(${a} and not ${b})`),
  ),
}));

t.test("for any tree, what satisfies it is what the naive search finds, and lies among the candidates", async (t) => {
  const all = fc.uniqueArray(document, { minLength: 1, maxLength: 6, selector: ({ path }) => path });
  fc.assert(
    fc.property(all, tree, fc.constantFrom("", " type:file", " case:yes"), (given, pattern, field) => {
      const { plan, text } = planOf(pattern + field);
      const naive = naiveSearch(
        plan,
        given.map(({ path, content }) => ({ path, content: Buffer.from(content) })),
      ).map((line) => line.split(" ")[0]);
      const reader = readerOf(given);
      const bound = bind(text, reader);
      const block = blockOf(reader, 0, reader.contentCount + 1);
      const bits = bound.evaluate(block);
      const candidates = bound.candidates();
      const satisfied = block.documents.filter((_, i) => bits[i] === 1);
      assert.deepEqual(satisfied.map((one) => reader.path(one).toString()).sort(), naive);
      for (const one of satisfied) assert.ok(candidates?.includes(reader.contentId(one)) ?? true, "a candidate");
    }),
    { numRuns: runs(120) },
  );
  t.pass();
});
