import { isDeepStrictEqual } from "node:util";
import t from "tap";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import { runEngine, testRepository, testShard, type EngineOptions, type TestDocument } from "../../support/engine.js";
import { fc, runs } from "../../support/property.js";

// Listed results equal those of a search that looks at each document, which a low limit on matches requires.

const kernel = loadKernel("native");

const repositories = [testRepository(1, "one"), testRepository(2, "two")];

const document = fc.record({
  path: fc.string({ unit: fc.constantFrom("a", "b", "/"), minLength: 1, maxLength: 8 }),
  content: fc.string({ unit: fc.constantFrom("word ", "other ", "\n", "x".repeat(300)), maxLength: 30 }),
  repositoryId: fc.constantFrom(1, 2),
  language: fc.constantFrom("Go", "C"),
});

const documents = fc.uniqueArray(document, {
  minLength: 1,
  maxLength: 40,
  selector: ({ path, repositoryId }) => `${repositoryId} ${path}`,
});

/** With fewer matches left, no results are listed. */
const countMaxUnlisted = 60_000;

function bothWays(files: readonly TestDocument[], query: string, given: EngineOptions): readonly [unknown, unknown] {
  const shards = [testShard(kernel, files, repositories)];
  const plan = planQuery(query, "standard");
  const run = (more: EngineOptions): unknown => {
    const { matches, matchCount, limitHit, stats } = runEngine(kernel, shards, plan, { ...given, ...more });
    const { documentsMatched, documentsFiltered } = stats;
    return { matches, matchCount, limitHit, documentsMatched, documentsFiltered };
  };
  return [run({}), run({ matchCountMax: countMaxUnlisted })];
}

t.test("a limit on what is shown, in one step and with pauses", async (t) => {
  const options = fc.record({
    displayCountMax: fc.option(fc.nat({ max: 30 }), { nil: undefined }),
    credit: fc.constantFrom(undefined, 200),
    chunkMatches: fc.boolean(),
  });
  const queries = fc.constantFrom("word", "/wor[d]/", "word select:content", "a");
  const property = fc.property(documents, queries, options, (files, query, given) => {
    const [listed, single] = bothWays(files, query, given);
    return isDeepStrictEqual(listed, single);
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: runs(150) }));
});
