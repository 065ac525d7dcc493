import t, { type Test } from "tap";
import { HistorySearch } from "../../../src/eval/history/history-search.js";
import type { BuildKind } from "../../../src/history/history-builder.js";
import { HistoryReader } from "../../../src/history/history-reader.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import type { HistoryPlan } from "../../../src/query/plan/plan.js";
import { neverStopped } from "../../support/engine.js";
import { scaled } from "../../support/full-run.js";
import { generateHistory, generateQuery } from "../../support/history-repository.js";
import { diffParts, messageParts, plansOf } from "../../support/history-parts.js";
import { buildHistoryShard } from "../../support/history-shards.js";
import { naiveHistory, searchNaively, type NaiveCommit } from "../../support/naive-history.js";
import { seed } from "../../support/property.js";
import { randomFrom } from "../../support/random.js";

// search(query, history shards) == naive(query, `git log`), for both kernels, with and without posting lists, in one
// shard or in several. For more cases: `SEED=random FAULTS=1 node dist/test/unit/eval/history-oracle.test.js`; for real
// repositories: `make history-oracle`.

const repositoryCount = scaled(2, 400);
const queryCount = scaled(30, 200);
const commitCount = 40;

/** One shard of all commits, or several of some. */
async function buildShards(
  repository: string,
  commits: readonly NaiveCommit[],
  kernelName: "native" | "ts",
  kind: BuildKind,
  shardCommits: number,
): Promise<HistoryReader[]> {
  const readers: HistoryReader[] = [];
  const oids = commits.map(({ oid }) => oid);
  for (let at = 0; at < oids.length; at += shardCommits) {
    const reader = new HistoryReader(
      at,
      await buildHistoryShard(repository, oids.slice(at, at + shardCommits), kernelName, kind),
    );
    if (kind === "with-postings") reader.verify("text");
    if (kind === "with-postings") reader.verify("index");
    readers.push(reader);
  }
  return readers;
}

function search(
  plan: HistoryPlan,
  readers: readonly HistoryReader[],
  kernelName: "native" | "ts",
  useIndex: boolean,
): string[] {
  const kernel = loadKernel(kernelName);
  return readers.flatMap((reader) => {
    const run = new HistorySearch(plan, { reader, kernel, visible: undefined, useIndex, stop: neverStopped });
    const found: string[] = [];
    for (let commit = run.next(); commit >= 0; commit = run.next()) {
      const text = run.render();
      found.push(
        `${reader.oid(commit)} ${(plan.kind === "commit" ? messageParts(text) : diffParts(text)).join(" | ")}`,
      );
    }
    return found;
  });
}

async function compare(t: Test, repository: string, queries: readonly string[], shardCommits: number): Promise<void> {
  const commits = await naiveHistory(repository);
  const indexed = await buildShards(repository, commits, "native", "with-postings", shardCommits);
  const portable = await buildShards(repository, commits, "ts", "with-postings", Infinity);
  const unindexed = await buildShards(repository, commits, "native", "without-postings", Infinity);
  let found = 0;
  for (const query of queries) {
    for (const plan of plansOf(query)) {
      const wanted = searchNaively(plan, commits);
      found += wanted.length;
      const results: readonly (readonly [string, string[]])[] = [
        ["indexed", search(plan, indexed, "native", true)],
        ["portable", search(plan, portable, "ts", true)],
        ["every record is a candidate", search(plan, indexed, "native", false)],
        ["without posting lists", search(plan, unindexed, "native", true)],
      ];
      for (const [name, got] of results) {
        if (JSON.stringify(got) !== JSON.stringify(wanted)) t.same(got, wanted, `${name}: ${query} in ${repository}`);
      }
    }
  }
  t.ok(found > queries.length, `the queries find something: ${found}`);
}

t.test("searches of generated histories equal git's", { timeout: 0 }, async (t) => {
  for (let i = 0; i < repositoryCount; i++) {
    const random = randomFrom(seed + i);
    const repository = generateHistory(seed + i, commitCount);
    t.teardown(() => repository.remove());
    await compare(
      t,
      repository.path,
      Array.from({ length: queryCount }, () => generateQuery(random)),
      7,
    );
  }
});
