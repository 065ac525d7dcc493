import assert from "node:assert";
import fc from "fast-check";
import t from "tap";
import { ShardFind } from "../src/eval/shard-find.js";
import type { Kernel } from "../src/kernel/kernel.js";
import { loadKernel } from "../src/kernel/load.js";
import type { TextPlan } from "../src/query/plan.js";
import { planQuery } from "../src/query/plan-query.js";
import { noStats, type FindCondition } from "../src/task/search-options.js";
import { testRepository, testShard, runEngine, type TestDocument, type TestShard } from "./support/engine.js";
import { engineLines, naiveSearch } from "./support/naive.js";

// search(query, shards) == naive(query, documents), for every kernel, however the documents are cut into shards, with
// and without the index, in one go and with pauses.

/** More by hand: `FUZZ_RUNS=100000 node dist/test/eval-oracle.test.js`. */
const runCount = Number(process.env["FUZZ_RUNS"] ?? 600);

const repositories = [testRepository(1, "one"), testRepository(2, "two")];

/** A small alphabet makes matches, overlaps and folding collisions likely; the two odd letters fold to k and s. */
const word = fc.stringMatching(/^[abkKsS_\u017f\u212a\u00e9]{1,5}$/);
const gap = fc.constantFrom(" ", "\n", "\r\n", "\n\n", "    ", "");
const filler = fc.constantFrom("", "", "", "x".repeat(4090), "y ".repeat(2040), "abk\n".repeat(1030), "z".repeat(4096));
const content = fc.array(fc.oneof(word, gap, filler), { maxLength: 12 }).map((parts) => parts.join(""));
const document = fc.record({ path: fc.stringMatching(/^[abks]{1,3}(\/[abks_]{1,4})?\.(c|go)$/), content, repositoryId: fc.constantFrom(1, 2) });
const corpus = fc.uniqueArray(document, { maxLength: 12, selector: (one) => `${one.repositoryId} ${one.path}` });

const literal = fc.oneof(word, fc.constantFrom("abk", "ask_", "abk abk", "ks", "x", "aaa"));
const regexp = fc.constantFrom("a+b?k", "(abk|ask)_?", "^ab", "k$", "[ab]{2,3}", "a.*k", "s\\s+a", "[^a]k", "abk|ask|kas", "kask|akk|sak", "aka|aaka|kak", "abs|ask_|sbk|bka", "(a|b)(k|s)_", "abk|", "_+", "x{3,}", "\\bab", "é");
const atom = fc.oneof(literal.filter((text) => !/[\s]/.test(text)), regexp.map((source) => `/${source}/`), literal.map((text) => `content:"${text}"`));
const expression = fc.letrec<{ tree: string }>((tie) => ({
  tree: fc.oneof({ maxDepth: 3 }, atom, fc.tuple(tie("tree"), fc.constantFrom("and", "or"), tie("tree")).map(([a, op, b]) => `(${a} ${op} ${b})`), atom.map((text) => `not ${text}`)),
})).tree;
const filters = fc.array(fc.constantFrom("case:yes", "file:a", "-file:k", "file:\\.go$", "type:file", "type:path", "type:file type:path", "file:has.content(ab)", "-file:has.content(k$)", "file:has.content([ab]k|)"), { maxLength: 2 });
const query = fc.tuple(filters, expression).map(([first, tree]) => [...first, tree].join(" "));

function planOrSkip(text: string): ReturnType<typeof planQuery> | undefined {
  try {
    return planQuery(text, "standard");
  } catch {
    return undefined;
  }
}

for (const kernelName of ["native", "ts"] as const) {
  t.test(`search equals the oracle: ${kernelName} kernel`, (t) => {
    const kernel = loadKernel(kernelName);
    let planned = 0;
    fc.assert(fc.property(corpus, query, fc.boolean(), fc.boolean(), fc.option(fc.nat(11)), (documents, text, split, useIndex, dead) => {
      const plan = planOrSkip(text);
      if (plan === undefined) return;
      planned++;
      const living = documents.filter((_, i) => i !== dead);
      const shards = shardsOf(kernelName, documents, split, dead === null ? new Set() : new Set([dead]));
      const got = [1, 2].flatMap((id) => {
        const selections = plan.alternatives.map(() => ({ repositoryIds: Uint32Array.of(1 << id), revisions: undefined }));
        const { matches } = runEngine(kernel, shards, plan, { useIndex, selections, credit: split ? 1 : 2 ** 30 });
        return engineLines(matches).map((line) => `${id}/${line}`);
      });
      const want = wanted(plan, living);
      if (JSON.stringify(got.sort()) !== JSON.stringify(want)) throw new assert.AssertionError({ message: text, actual: got, expected: want });
    }), { numRuns: kernelName === "native" ? runCount : runCount / 4, verbose: false });
    t.ok(planned > runCount / 10, "enough of the generated queries are valid");
    t.end();
  });
}

function shardsOf(kernelName: "native" | "ts", documents: readonly TestDocument[], split: boolean, dead: ReadonlySet<number>): TestShard[] {
  const kernel = loadKernel(kernelName);
  const halves = split ? [documents.filter((_, i) => i % 2 === 0), documents.filter((_, i) => i % 2 === 1)] : [documents];
  return halves.map((half, part) => ({ half, part })).filter(({ half }) => half.length > 0).map(({ half, part }) => {
    const deadHere = new Set([...dead].filter((i) => !split || i % 2 === part).map((i) => (split ? Math.floor(i / 2) : i)));
    return testShard(kernel, half, repositories, deadHere);
  });
}

/** The oracle's answer, one repository after the other: the engine is asked the same way. */
function wanted(plan: ReturnType<typeof planQuery>, documents: readonly { path: string; content: string; repositoryId: number }[]): string[] {
  return [1, 2].flatMap((id) => naiveSearch(plan, documents.filter((one) => one.repositoryId === id).map(({ path, content }) => ({ path, content: Buffer.from(content) })))
    .map((line) => `${id}/${line}`)).sort();
}

const argument = fc.tuple(fc.constantFrom("", "path:a", "path:k\\.go$", "path:^[bs]"), fc.constantFrom("", "content:ab", "content:a+b?k", "content:^k$", "content:[ab]k|"))
  .filter(([path, content]) => path + content !== "").map(([path, content]) => `repo:has.file(${path} ${content})`);

t.test("repositories that hold a file equal the oracle's", (t) => {
  const kernel = loadKernel("native");
  fc.assert(fc.property(corpus, fc.array(argument, { minLength: 1, maxLength: 3 }), fc.boolean(), fc.boolean(), fc.option(fc.nat(11)), (documents, given, split, pauses, dead) => {
    const { conditions } = planQuery(given.join(" "), "standard").alternatives[0].repositories;
    const shards = shardsOf("native", documents, split, dead === null ? new Set() : new Set([dead]));
    const got = conditions.map(({ file }) => {
      const found = new Int32Array(new SharedArrayBuffer(12));
      for (const shard of shards) findInShard({ file, found, selection: { repositoryIds: undefined, revisions: undefined } }, shard, kernel, pauses);
      return [1, 2].filter((id) => found[id] === 1);
    });
    const living = documents.filter((_, i) => i !== dead);
    const want = conditions.map(({ file }) => [1, 2].filter((id) => holds(file, living.filter(({ repositoryId }) => repositoryId === id))));
    assert.deepStrictEqual(got, want, given.join(" "));
  }), { numRuns: runCount, verbose: false });
  t.end();
});

function findInShard(condition: FindCondition, shard: TestShard, kernel: Kernel, pauses: boolean): void {
  let from: number | undefined = 0;
  while (from !== undefined) from = new ShardFind(condition, shard.reader, shard, kernel, () => undefined).run(from, noStats(), () => pauses);
}

function holds(text: TextPlan, documents: readonly { path: string; content: string }[]): boolean {
  const plan = { ...planQuery("", "standard"), alternatives: [{ ...planQuery("", "standard").alternatives[0], text }] };
  return naiveSearch(plan, documents.map(({ path, content }) => ({ path, content: Buffer.from(content) }))).length > 0;
}
