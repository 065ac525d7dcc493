import { isDeepStrictEqual } from "node:util";
import t, { type Test } from "tap";
import { RepositoryTable } from "../../src/catalog/repository-table.js";
import { textOfBlob } from "../../src/indexer/encoding/blob-text.js";
import { ShardFind } from "../../src/eval/shard-find.js";
import type { Kernel } from "../../src/native/kernel/kernel.js";
import { loadKernel } from "../../src/native/kernel/load.js";
import type { Repository } from "../../src/model/repository.js";
import { nothingFoundTitle } from "../../src/model/stream-events.js";
import type { RepositoryFilter } from "../../src/query/plan/plan.js";
import { planQuery } from "../../src/query/plan/plan-query.js";
import { choosePatternType } from "../../src/query/syntax/parse.js";
import type { QueryType } from "../../src/query/syntax/scan.js";
import { findConditions, narrow } from "../../src/search/repositories/repository-conditions.js";
import { resolveRepositories } from "../../src/search/repositories/repository-resolver.js";
import { noStats, type RepositorySelection } from "../../src/protocol/search-options.js";
import { corpus, type CaseFile, type CaseRepository } from "./corpus.js";
import { predicates } from "./predicates.js";
import { contexts, repositoryCases } from "./repositories.js";
import { answersOf, ask, comparable, configured, configuredContexts } from "./over-http.js";
import { cases as queries } from "./queries.js";
import { revisionCases } from "./revisions.js";
import type { CaseRow } from "./row.js";
import { siteOptions } from "./site-options.js";
import type { DaemonProcess } from "../support/daemon.js";
import {
  neverStopped,
  runEngine,
  testRepository,
  testShard,
  type TestDocument,
  type TestShard,
} from "../support/engine.js";
import { isFull } from "../support/full-run.js";
import { sharedDaemon } from "../support/shared-daemon.js";
import { until } from "../support/waiting.js";

// One table of questions and answers, asked over HTTP of a daemon that mirrored and indexed real repositories, and of
// the evaluator alone: with both kernels, with every document a candidate, and with the index over several shards.

const cases = [...queries, ...predicates, ...repositoryCases, ...revisionCases];

/** Questions at the same time, which is fewer than the daemon answers at the same time. */
const asked = 4;

/** An assertion for what differs only: thousands that hold take seconds to note. */
function compare(t: Test, got: readonly string[], want: readonly string[], name: string): void {
  if (!isDeepStrictEqual(got, want)) t.same(got, want, name);
}

t.test("the table", async (t) => {
  const names = cases.map(({ name }) => name);
  t.equal(new Set(names).size, names.length, "each row has a name of its own");
  t.ok(names.length >= 600);
});

t.test("over HTTP", async (t) => {
  const daemon = await daemonOf(t, corpus);
  const token = await daemon.addToken("admin");
  // What an evaluator answers too is asked in turn with them.
  const rows = cases.filter((row, i) => isFull || i % 12 === 0 || !isOfFiles(row));
  for (let from = 0; from < rows.length; from += asked) {
    await Promise.all(
      rows.slice(from, from + asked).map(async ({ name, query, request, want, skipped }) => {
        const answer = await ask(daemon, query, `${request}&token=${token}`);
        const isNear = (text: string): boolean => text.startsWith(`alert: ${nothingFoundTitle}: `);
        const found = want.some(isNear) ? answer.found : answer.found.filter((text) => !isNear(text));
        compare(t, comparable(found, want), [...want].sort(), `${name}: ${query}`);
        if (skipped !== undefined) compare(t, answer.skipped, skipped, `${name}: skipped`);
      }),
    );
  }
  const query = "secret lang:go";
  t.same((await ask(daemon, query, `token=${token}`)).found, [
    `alert: ${nothingFoundTitle}: No results, but similar queries have some.`,
  ]);
  t.same((await ask(daemon, query, "")).found, [], "a viewer is told nothing about what it may not see");
  t.pass("every row");
});

/** A daemon that has all repositories, configured in a file. */
async function daemonOf(t: Test, repositories: readonly CaseRepository[]): Promise<DaemonProcess> {
  const daemon = await sharedDaemon(
    t,
    { repositories: repositories.map((repository) => configured(t, repository)), contexts: configuredContexts },
    siteOptions,
  );
  await until("all repositories can be searched", async () => (await daemon.get("/readyz")).status === 200);
  return daemon;
}

/**
 * Rows that the evaluator answers alone: without alerts, limits, what the main thread selects, and what mirrors are
 * asked.
 */
function isOfFiles(row: CaseRow): boolean {
  const { query, want, skipped } = row;
  return (
    !revisionCases.includes(row) &&
    !/\bselect:|\bcount:\d|commit\.?after|has\.(owner|contributor)|@main~/.test(query) &&
    !want.some((answer) => /^(alert|error): /.test(answer)) &&
    !skipped?.includes("shard-match-limit")
  );
}

const fileRows = cases.filter(isOfFiles);

const evaluators = [
  { kernelName: "native", useIndex: false, shardCount: 1 },
  { kernelName: "ts", useIndex: true, shardCount: 1 },
  { kernelName: "native", useIndex: true, shardCount: 3 },
] as const;

for (const [turn, { kernelName, useIndex, shardCount }] of evaluators.entries()) {
  t.test(
    `evaluator: ${kernelName} kernel, ${useIndex ? "with" : "without"} index, shards: ${shardCount}`,
    async (t) => {
      t.ok(fileRows.length > 400);
      const kernel = loadKernel(kernelName);
      const shards = shardsOf(kernelName, shardCount);
      // They take turns: that each answers like the daemon is what the oracle tests.
      for (const row of fileRows.filter((_, i) => isFull || i % evaluators.length === turn)) {
        const plan = planQuery(row.query, typeOf(row), new Map(contexts.map((context) => [context.name, context])));
        const selections = plan.basicQueries.map(({ repositories }) => selectionOf(repositories, kernel, shards));
        const { matches } = runEngine(kernel, shards, plan, { useIndex, selections, chunkMatches: false });
        compare(t, answersOf(matches).sort(), fileAnswers(row), `${row.name}: ${row.query}`);
      }
      t.pass("every row");
    },
  );
}

const repositories: readonly Repository[] = corpus.map(({ name, branches, files, tags, ...attributes }, i) =>
  testRepository(i + 1, name, {
    ...attributes,
    indexedBranches: branches.map((branch, bit) => ({ name: branch, bit, commit: "c".repeat(40) })),
    defaultBranch: "main",
  }),
);

const table = RepositoryTable.of(repositories, true, undefined);

/** The repositories that the filter chooses, and whose shards meet its conditions. */
function selectionOf(filter: RepositoryFilter, kernel: Kernel, shards: readonly TestShard[]): RepositorySelection {
  const resolution = resolveRepositories(table, filter);
  const conditions = findConditions(filter, resolution);
  for (const condition of conditions) {
    for (const shard of shards)
      new ShardFind(
        condition,
        shard.reader,
        shard,
        kernel,
        () => undefined,
        neverStopped,
        () => undefined,
      ).run(0, noStats(), () => false);
  }
  return narrow(
    filter,
    resolution,
    conditions.map(({ found }) => found),
  ).selection;
}

function typeOf({ query, request }: CaseRow): QueryType {
  const parameters = new URLSearchParams(request);
  return choosePatternType(query, parameters.get("v") ?? "", parameters.get("t") ?? "");
}

/** The results of the row that are files. */
function fileAnswers({ want }: CaseRow): readonly string[] {
  return want.filter((answer) => answer.includes(":")).sort();
}

/** The corpus dealt out to so many shards. */
function shardsOf(kernelName: "native" | "ts", shardCount: number): TestShard[] {
  const documents = corpus.flatMap(({ files, branches }, i) => files.map((file) => documentOf(file, i + 1, branches)));
  return Array.from({ length: shardCount }, (_, shard) =>
    testShard(
      loadKernel(kernelName),
      documents.filter((_, i) => i % shardCount === shard),
      repositories,
    ),
  );
}

function documentOf(
  { path, content, branches, skipped }: CaseFile,
  repositoryId: number,
  all: readonly string[],
): TestDocument {
  const branchMask = branches.reduce((mask, branch) => mask | (1 << all.indexOf(branch)), 0);
  const isText = skipped === undefined && (typeof content === "string" || Buffer.isBuffer(content));
  const text = isText ? textOfBlob(Buffer.from(content as string)).text : "";
  return { path, content: text, repositoryId, branchMask, skipReason: skipped };
}
