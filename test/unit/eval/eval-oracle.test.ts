import assert from "node:assert";
import t from "tap";
import { ShardFind } from "../../../src/eval/shard-find.js";
import type { Kernel } from "../../../src/native/kernel/kernel.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import type { SearchPlan, TextPlan } from "../../../src/query/plan/plan.js";
import { planQuery } from "../../../src/query/plan/plan-query.js";
import { noStats, type FindCondition } from "../../../src/protocol/search-options.js";
import { neverStopped, testShard, runEngine, type TestDocument, type TestShard } from "../../support/engine.js";
import { engineLines, naiveSearch } from "../../support/naive.js";
import { corpus, expression, filters, planOrSkip, repositories } from "../../support/search-generator.js";
import { fc, runs } from "../../support/property.js";

// search(query, shards) == naive(query, documents), for every kernel, however the documents are cut into shards, with
// and without the index, in one go and with pauses.

/** For more cases: `SEED=random FAULTS=1 node dist/test/unit/eval/eval-oracle.test.js`. */
const runCount = runs(200);

const query = fc.tuple(filters, expression).map(([first, tree]) => [...first, tree].join(" "));

for (const kernelName of ["native", "ts"] as const) {
  t.test(`search equals the oracle: ${kernelName} kernel`, (t) => {
    const kernel = loadKernel(kernelName);
    let planned = 0;
    fc.assert(
      fc.property(
        corpus,
        query,
        fc.boolean(),
        fc.boolean(),
        fc.option(fc.nat(11)),
        (documents, text, split, useIndex, dead) => {
          const plan = planOrSkip(text, "standard");
          if (plan === undefined) return;
          planned++;
          const living = documents.filter((_, i) => i !== dead);
          const shards = shardsOf(kernelName, documents, split, dead === null ? new Set() : new Set([dead]));
          const got = [1, 2].flatMap((id) => {
            const selections = plan.basicQueries.map(() => ({
              repositoryIds: Uint32Array.of(1 << id),
              revisions: undefined,
            }));
            const { matches } = runEngine(kernel, shards, plan, { useIndex, selections, credit: split ? 1 : 2 ** 30 });
            return engineLines(matches).map((line) => `${id}/${line}`);
          });
          const want = wanted(plan, living);
          if (JSON.stringify(got.sort()) !== JSON.stringify(want))
            throw new assert.AssertionError({ message: text, actual: got, expected: want });
        },
      ),
      { numRuns: kernelName === "native" ? runCount : Math.ceil(runCount / 4), verbose: false },
    );
    t.ok(planned > runCount / 10, "enough of the generated queries are valid");
    t.end();
  });
}

function shardsOf(
  kernelName: "native" | "ts",
  documents: readonly TestDocument[],
  split: boolean,
  dead: ReadonlySet<number>,
): TestShard[] {
  const kernel = loadKernel(kernelName);
  const halves = split
    ? [documents.filter((_, i) => i % 2 === 0), documents.filter((_, i) => i % 2 === 1)]
    : [documents];
  return halves
    .map((half, part) => ({ half, part }))
    .filter(({ half }) => half.length > 0)
    .map(({ half, part }) => {
      const deadHere = new Set(
        [...dead].filter((i) => !split || i % 2 === part).map((i) => (split ? Math.floor(i / 2) : i)),
      );
      return testShard(kernel, half, repositories, deadHere);
    });
}

/** The oracle's results for one repository after another; the engine is queried in the same way. */
function wanted(
  plan: SearchPlan,
  documents: readonly { path: string; content: string; repositoryId: number }[],
): string[] {
  return [1, 2]
    .flatMap((id) =>
      naiveSearch(
        plan,
        documents
          .filter((one) => one.repositoryId === id)
          .map(({ path, content }) => ({ path, content: Buffer.from(content) })),
      ).map((line) => `${id}/${line}`),
    )
    .sort();
}

const argument = fc
  .tuple(
    fc.constantFrom("", "path:a", "path:k\\.go$", "path:^[bs]"),
    fc.constantFrom("", "content:ab", "content:a+b?k", "content:^k$", "content:[ab]k|", "content:^$", "content:k$"),
  )
  .filter(([path, content]) => path + content !== "")
  .map(([path, content]) => `repo:has.file(${path} ${content})`);

t.test("repositories that contain a file equal the oracle's", (t) => {
  const kernel = loadKernel("native");
  fc.assert(
    fc.property(
      corpus,
      fc.array(argument, { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      fc.boolean(),
      fc.option(fc.nat(11)),
      (documents, given, split, pauses, dead) => {
        const { conditions } = planQuery(given.join(" "), "standard").basicQueries[0].repositories;
        const shards = shardsOf("native", documents, split, dead === null ? new Set() : new Set([dead]));
        const got = conditions.map(({ file }) => {
          const found = new Int32Array(new SharedArrayBuffer(12));
          for (const shard of shards)
            findInShard(
              { file, found, selection: { repositoryIds: undefined, revisions: undefined } },
              shard,
              kernel,
              pauses,
            );
          return [1, 2].filter((id) => found[id] === 1);
        });
        const living = documents.filter((_, i) => i !== dead);
        const want = conditions.map(({ file }) =>
          [1, 2].filter((id) =>
            holds(
              file,
              living.filter(({ repositoryId }) => repositoryId === id),
            ),
          ),
        );
        assert.deepStrictEqual(got, want, given.join(" "));
      },
    ),
    { numRuns: runCount, verbose: false },
  );
  t.end();
});

function findInShard(condition: FindCondition, shard: TestShard, kernel: Kernel, pauses: boolean): void {
  let from: number | undefined = 0;
  while (from !== undefined)
    from = new ShardFind(
      condition,
      shard.reader,
      shard,
      kernel,
      () => undefined,
      neverStopped,
      () => undefined,
    ).run(from, noStats(), () => pauses);
}

function holds(text: TextPlan, documents: readonly { path: string; content: string }[]): boolean {
  const plan = { ...planQuery("", "standard"), basicQueries: [{ ...planQuery("", "standard").basicQueries[0], text }] };
  return (
    naiveSearch(
      plan,
      documents.map(({ path, content }) => ({ path, content: Buffer.from(content) })),
    ).length > 0
  );
}
