import assert from "node:assert";
import t from "tap";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import { runEngine, testRepository, testShard, type EngineResult } from "../../support/engine.js";
import { engineLines } from "../../support/naive.js";
import { fc, runs } from "../../support/property.js";

// Of basic queries with result options of their own, in one shard and one thread:
// search(A or B) = search(A) united with search(B), where each of A and B has its own select: and its own count:.

const runCount = runs(300);

const kernel = loadKernel("native");
const repositories = [testRepository(1, "one"), testRepository(2, "two")];

const word = fc.constantFrom("a", "ab", "b", "k", "abk", "ks");
const content = fc
  .array(fc.oneof(word, fc.constantFrom(" ", "\n", "xx", "y ".repeat(2040))), { maxLength: 10 })
  .map((parts) => parts.join(""));
const document = fc.record({
  path: fc.stringMatching(/^[abk]{1,2}\/[abk]{1,3}$/),
  content,
  repositoryId: fc.constantFrom(1, 2),
});
const corpus = fc.uniqueArray(document, {
  minLength: 1,
  maxLength: 14,
  selector: (one) => `${one.repositoryId} ${one.path}`,
});
const basic = fc
  .tuple(
    fc.constantFrom("", "count:1 ", "count:2 ", "count:5 ", "count:all "),
    fc.constantFrom("", "select:content ", "select:file ", "select:repo ", "select:file.directory "),
    fc.constantFrom("type:file ", "type:file case:yes ", "type:path "),
    word,
  )
  .map((parts) => parts.join(""));

/** Results as text, after the selection that the main thread makes. */
function show(...results: readonly EngineResult[]): string {
  const selected = new Set(results.flatMap((result) => result.selected.map(({ key }) => key)));
  return JSON.stringify([
    ...[1, 2].flatMap((id) =>
      engineLines(
        results.flatMap(({ matches }) => matches.filter(({ repository }) => repository === repositories[id - 1].name)),
      ).map(withoutPaths),
    ),
    ...[...selected].sort(),
  ]);
}

/** Ranges in paths are united where a file is one result, which the results apart do not show. */
function withoutPaths(line: string): string {
  return line.slice(0, line.lastIndexOf(" path:["));
}

t.test("basic queries with result options of their own", async (t) => {
  let several = 0;
  fc.assert(
    fc.property(corpus, fc.array(basic, { minLength: 1, maxLength: 2 }), word, (documents, first, last) => {
      // A query without a limit, so that no limit of the whole search is reached.
      const basics = [...first, `type:file ${last}`];
      const shards = [testShard(kernel, documents, repositories)];
      const plan = planQuery(basics.map((text) => `(${text})`).join(" or "), "standard");
      if (plan.resultOptions.length > 1) several++;
      const together = runEngine(kernel, shards, plan, {});
      const paused = runEngine(kernel, shards, plan, { credit: 1 });
      const apart = basics.map((text) => {
        const alone = planQuery(text, "standard");
        return runEngine(kernel, shards, alone, { matchCountMax: alone.resultOptions[0].count ?? 99_999_999 });
      });
      const query = basics.join(" or ");
      if (show(together) !== show(paused))
        throw new assert.AssertionError({
          message: `paused: ${query}`,
          actual: show(paused),
          expected: show(together),
        });
      if (plan.resultOptions.length > 1 && show(together) !== show(...apart)) {
        throw new assert.AssertionError({ message: query, actual: show(together), expected: show(...apart) });
      }
    }),
    { numRuns: runCount },
  );
  t.ok(several > runCount / 3, "enough of the queries have several result options");
});
