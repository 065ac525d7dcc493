/**
 * A daemon that is searched all the time, with a commit each second: what it holds must not grow. `make soak` runs it
 * for an hour; `MINUTES` for another time.
 */
import t from "tap";
import { join } from "node:path";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { preparedAhead, testDaemon, type DaemonProcess } from "../support/daemon.js";
import { isFull, quantile, record } from "../support/full-run.js";
import type { FixtureFile, GitFixture } from "../support/git-fixture.js";
import { fixture } from "../support/git-mirror.js";
import { linesWith, readCommit } from "../support/git-oracle.js";
import { folderSize, ResourceWatch } from "../support/resources.js";
import { partOf, slopePerHour, soakRows, writeSoakReport, type SoakSample } from "../support/soak-report.js";
import { until } from "../support/waiting.js";

const needle = "needle";
const name = "host/a";
const seconds = isFull ? 60 * Number(process.env["MINUTES"] || 60) : 6;
const commitMs = 1_000;
/** So much more may be there in the last third than in the second, in which all caches are warm. */
const growthMax = 1.15;

const fileCount = 600;
const textOf = (i: number): string =>
  `${`line of file ${i}, ${"x".repeat(i % 200)}\n`.repeat(i % 40)}${`${needle} ${i}\n`.repeat(20)}`;
const pathOf = (i: number): string => `d${i % 9}/${i}.txt`;

/** What the commit of a second changes: three files, one of them goes every other time and comes back later. */
function change(second: number): Record<string, FixtureFile> {
  const [first, next, last] = [second % fileCount, (7 * second) % fileCount, (11 * second) % fileCount];
  return {
    [pathOf(first)]: textOf(first + second),
    [pathOf(next)]: `${textOf(next)}${second}\n`,
    [pathOf(last)]: second % 2 === 0 ? { deleted: true } : textOf(last),
  };
}

interface Commit {
  readonly oid: string;
  readonly lines: readonly string[];
}

async function timed<T>(work: () => Promise<T>): Promise<{ readonly ms: number; readonly result: T }> {
  const startedMs = monotonicMs();
  const result = await work();
  return { ms: monotonicMs() - startedMs, result };
}

async function isRight(daemon: DaemonProcess, { oid, lines }: Commit): Promise<boolean> {
  const { found, skipped } = await daemon.search(`repo:^${name}$@${oid} ${needle}`);
  return skipped.length === 0 && found.join() === lines.join();
}

async function askGraphql(daemon: DaemonProcess): Promise<boolean> {
  const query = `{ repository(name: "${name}") { commit(rev: "main") { oid tree(path: "") { entries { name } } } } search(query: "${needle} count:5") { results { matchCount } } }`;
  const response = await fetch(`${daemon.url}/.api/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", connection: "close" },
    body: JSON.stringify({ query }),
  });
  const { errors } = (await response.json()) as { readonly errors?: unknown };
  return response.status === 200 && errors === undefined;
}

/** One second: a commit, its sync, what is found then, and other clients. */
async function liveSecond(
  source: GitFixture,
  daemon: DaemonProcess,
  second: number,
  kept: Commit[],
): Promise<{ readonly wrong: number; readonly times: Pick<SoakSample, "syncMs" | "searchMs" | "graphqlMs"> }> {
  const oid = source.commit({ branch: "main", files: change(second) });
  const { ms: syncMs } = await timed(() => daemon.sync(name));
  const commit = { oid, lines: linesWith(name, readCommit(source.path, oid), needle) };
  kept.push(commit);
  if (kept.length > 20) kept.shift();
  const { ms: searchMs, result: answer } = await timed(() => daemon.search(needle));
  let wrong = answer.skipped.length === 0 && answer.found.join() === commit.lines.join() ? 0 : 1;
  if (!(await isRight(daemon, kept[second % kept.length] ?? commit))) wrong++;
  const { ms: graphqlMs, result: isAnswered } = await timed(() => askGraphql(daemon));
  if (!isAnswered) wrong++;
  (await daemon.openStream("/[a-z]+ x/", "standard")).destroy();
  return { wrong, times: { syncMs, searchMs, graphqlMs } };
}

t.test(`${seconds} s with a commit each second`, { timeout: 2 * 3_600_000 }, async (t) => {
  const source = fixture(t);
  source.commit({
    branch: "main",
    files: Object.fromEntries(Array.from({ length: fileCount }, (_, i) => [pathOf(i), textOf(i)])),
  });
  // The smallest cache of revisions is full, and as large as it gets, after some minutes.
  const daemon = await testDaemon(t, [
    ...preparedAhead,
    "--set",
    "sync.intervalSeconds=1",
    "--set",
    `search.revisionCacheBytes=${16 << 20}`,
  ]);
  await daemon.add(name, source.path);
  const watch = new ResourceWatch(daemon);
  t.teardown(() => watch.close());
  const samples: SoakSample[] = [];
  const kept: Commit[] = [];
  let [wrong, mirror] = [0, { bytes: 0, files: 0 }];
  const startedMs = monotonicMs();
  const endMs = startedMs + seconds * 1_000;
  for (
    let nextMs = startedMs;
    monotonicMs() < endMs;
    nextMs = Math.max(nextMs + commitMs, monotonicMs() - 10 * commitMs)
  ) {
    const second = samples.length;
    const lived = await liveSecond(source, daemon, second, kept);
    wrong += lived.wrong;
    if (second % 60 === 0) mirror = folderSize(join(daemon.data, "mirrors"));
    samples.push({
      second: (monotonicMs() - startedMs) / 1_000,
      ...(await watch.look()),
      ...lived.times,
      mirrorBytes: mirror.bytes,
      mirrorFiles: mirror.files,
    });
    await sleep(Math.max(0, nextMs + commitMs - monotonicMs()));
  }
  t.equal(wrong, 0, "each search finds its commit's lines");
  await until("no stream is open", async () => (await daemon.metric("trawl_streams_open")) === 0);
  const grown = ["memoryBytes", "descriptors", "threads", "readers", "shardBytes", "catalogBytes"]
    .flatMap((field) => soakRows.filter((row) => row.field === field))
    .map(({ field, name, print }) => {
      const [middle, last] = [quantile(partOf(samples, field, 1, 3), 0.5), quantile(partOf(samples, field, 2, 3), 0.5)];
      // A few seconds are a start, and show no trend.
      if (isFull) t.ok(last <= growthMax * middle, `${name}: ${print(middle)}, then ${print(last)}`);
      return `${name} ${print(middle)}, then ${print(last)} (${print(slopePerHour(samples, field))} per hour)`;
    });
  t.ok(
    samples.every(({ readers }) => readers > 0 && readers <= 64),
    "readers have slots, and few",
  );
  t.equal(await daemon.stop(), 0);
  if (isFull)
    writeSoakReport(samples, {
      seconds,
      commits: samples.length,
      searches: 3 * samples.length,
      wrong,
      left: samples.length,
    });
  record(
    2,
    "one commit per second, synced, searched and compared with git ([full report](soak.md)); medians of the second and the last third",
    `${samples.length} commits in ${seconds} s, ${wrong} wrong answers; ${grown.join("; ")}`,
  );
});
