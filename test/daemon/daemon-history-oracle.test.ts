/**
 * What daemons answer to searches of generated histories equals the naive search of what `git log` writes: before, while
 * and after they are indexed, and after a force push; with one search worker and with several; with the index and without.
 * For real repositories: `make history-oracle`.
 */
import t, { type Test } from "tap";
import { basicQueries } from "../../src/query/syntax/basic.js";
import { parseQuery } from "../../src/query/syntax/parse.js";
import { askForHistory, findDifference } from "../oracle/history-answers.js";
import { testDaemon, type DaemonProcess } from "../support/daemon.js";
import { isFull, scaled } from "../support/full-run.js";
import type { GitFixture } from "../support/git-fixture.js";
import { plansOf } from "../support/history-parts.js";
import { generateHistory, generateQuery } from "../support/history-repository.js";
import { naiveHistory } from "../support/naive-history.js";
import { seed } from "../support/property.js";
import { randomFrom } from "../support/random.js";
import { until } from "../support/waiting.js";

const name = "host/generated";
const queryCount = scaled(6, 500);
const commitCount = 50;

async function requireEqual(
  t: Test,
  what: string,
  daemon: DaemonProcess,
  remote: GitFixture,
  random: (below: number) => number,
): Promise<void> {
  const commits = await naiveHistory(remote.path);
  for (let i = 0; i < queryCount; i++) {
    const query = `repo:^${name}$@*refs/heads/* ${generateQuery(random)}`;
    const plans = plansOf(query);
    // A filter after an `or` without parentheses belongs to the last part only, which then has no type.
    if (basicQueries(parseQuery(query, "keyword")).length !== 1) continue;
    for (const index of ["", " index:no"]) {
      const difference = findDifference(await askForHistory(daemon.url, query + index), plans, commits);
      t.equal(difference, undefined, `${what}: ${query}${index}`);
    }
  }
}

// In `make test` with several workers, which have all that one has, and more.
for (const [i, workerCount] of (isFull ? [1, 3] : [3]).entries()) {
  t.test(`a generated history, with ${workerCount} search workers`, async (t) => {
    const random = randomFrom(seed + i);
    const remote = generateHistory(seed + i, commitCount);
    t.teardown(() => remote.remove());
    remote.setHead("b1");
    const daemon = await testDaemon(t, ["--set", `workers=${workerCount}`]);
    const untilIndexed = (): Promise<void> =>
      until("its history is indexed", async () => (await daemon.list())[0].historyIndex?.isUpToDate === true);
    // The histories of other branches are not indexed at all.
    await daemon.add(name, remote.path, [`b${commitCount}`, `b${commitCount - 1}`, `b${commitCount - 2}`]);
    await requireEqual(t, "while it is indexed", daemon, remote, random);
    await untilIndexed();
    await requireEqual(t, "indexed", daemon, remote, random);
    for (let branch = 2; branch < commitCount; branch += 3) remote.deleteBranch(`b${branch}`);
    remote.updateRef(`refs/heads/b${commitCount}`, remote.git("rev-parse", `b${commitCount - 7}`));
    await daemon.sync(name);
    await untilIndexed();
    await requireEqual(t, "after a force push", daemon, remote, random);
  });
}
