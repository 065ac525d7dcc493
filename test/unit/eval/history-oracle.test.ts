import t, { type Test } from "tap";
import { HistorySearch } from "../../../src/eval/history/history-search.js";
import type { HistoryText } from "../../../src/eval/history/history-text.js";
import type { BuildKind } from "../../../src/history/history-builder.js";
import { HistoryReader } from "../../../src/history/history-reader.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { Analyses } from "../../../src/query/plan/analyses.js";
import { basicQueries } from "../../../src/query/plan/basic.js";
import type { HistoryPlan } from "../../../src/query/plan/history-plan.js";
import { planHistory } from "../../../src/query/plan/plan-history.js";
import { parseQuery } from "../../../src/query/syntax/parse.js";
import { neverStopped } from "../../support/engine.js";
import { scaled } from "../../support/full-run.js";
import { generateHistory, generateQuery } from "../../support/history-repository.js";
import { buildHistoryShard } from "../../support/history-shards.js";
import { naiveHistory, searchNaively, showMatch, type NaiveCommit } from "../../support/naive-history.js";
import { seed } from "../../support/property.js";
import { randomFrom } from "../../support/random.js";

// search(query, history shards) == naive(query, `git log`), for both kernels, with and without posting lists, in one
// shard or in several. For more cases: `SEED=random FAULTS=1 node dist/test/unit/eval/history-oracle.test.js`; with
// HISTORY=DIRECTORY for a real repository instead of generated ones.

const repositoryCount = scaled(6, 400);
const queryCount = scaled(60, 200);
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

function messageParts({ ranges }: HistoryText): string[] {
  return ranges.map(([line, character, length]) => `${line}:${character}+${length}`);
}

/** Per shown file its heading and matches. Checks that the numbers of each hunk agree with its lines. */
function diffParts({ text, ranges, matchCount }: HistoryText): string[] {
  const files: string[][] = [];
  const lines = text.split("\n").slice(0, -1);
  let [oldLeft, newLeft, oldNumber, newNumber, range] = [0, 0, 0, 0, 0];
  lines.forEach((line, i) => {
    const header = oldLeft + newLeft > 0 ? null : /^@@ -(\d+),(\d+) \+(\d+),(\d+) @@/.exec(line);
    if (header !== null) {
      [oldNumber, oldLeft, newNumber, newLeft] = header.slice(1).map(Number);
      if (oldLeft === 0) oldNumber++;
      if (newLeft === 0) newNumber++;
      return;
    }
    if (oldLeft + newLeft === 0) {
      files.push([line]);
      return;
    }
    for (; range < ranges.length && ranges[range][0] === i; range++) {
      const [, character, length] = ranges[range];
      files[files.length - 1].push(
        showMatch(line[0], line[0] === "-" ? oldNumber : newNumber, line.slice(1), character, length),
      );
    }
    if (line[0] !== "+") [oldLeft, oldNumber] = [oldLeft - 1, oldNumber + 1];
    if (line[0] !== "-") [newLeft, newNumber] = [newLeft - 1, newNumber + 1];
  });
  if (oldLeft !== 0 || newLeft !== 0 || range !== ranges.length || matchCount !== ranges.length)
    files.push(["the text is not a diff"]);
  return files.map((file) => file.join(" "));
}

function plansOf(text: string): readonly HistoryPlan[] {
  return basicQueries(parseQuery(text, "keyword")).flatMap((query) => planHistory(query, new Analyses(text), 0));
}

async function compare(t: Test, repository: string, queries: readonly string[], shardCommits: number): Promise<void> {
  const commits = naiveHistory(repository);
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

const given = process.env["HISTORY"];

if (given !== undefined) {
  t.test(`searches of ${given} equal git's`, { timeout: 0 }, async (t) => {
    const random = randomFrom(seed);
    await compare(
      t,
      given,
      Array.from({ length: queryCount }, () => generateQuery(random)),
      5_000,
    );
  });
} else {
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
}
