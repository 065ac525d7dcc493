/**
 * A daemon that is searched all the time, with a commit each second: what it holds must not grow. `make soak` runs it for an hour;
 * `MINUTES` for another time.
 */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { monotonicMs, sleep } from "../src/base/deadline.js";
import { treeBytes } from "./support/attack.js";
import { testDaemon } from "./support/daemon.js";
import { isFull, quantile, record } from "./support/full-run.js";
import { fixture } from "./support/git-mirror.js";
import { linesWith, readCommit } from "./support/git-oracle.js";

const needle = "needle";
const seconds = isFull ? 60 * Number(process.env["MINUTES"] ?? 60) : 6;
const commitMs = 1_000;

interface Sample {
  readonly memoryBytes: number;
  readonly descriptors: number;
  readonly threads: number;
  readonly fileBytes: number;
}

/** So much more may be there in the last third than in the second, in which all caches are warm. */
const growthMax = 1.3;

t.test(`${seconds} s with a commit each second`, { timeout: 2 * 3_600_000 }, async (t) => {
  const source = fixture(t);
  const files = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`d${i % 9}/${i}.txt`, `${needle} ${i}\n`.repeat(20)]));
  source.commit({ branch: "main", files });
  const daemon = await testDaemon(t, ["--set", "sync.intervalSeconds=1"]);
  await daemon.add("host/a", source.path);
  const samples: Sample[] = [];
  const look = (): Sample => ({
    memoryBytes: treeBytes(daemon.pid),
    descriptors: readdirSync(`/proc/${daemon.pid}/fd`).length,
    threads: readdirSync(`/proc/${daemon.pid}/task`).length,
    fileBytes: statSync(join(daemon.data, "shards", "data.mdb")).size + statSync(join(daemon.data, "catalog", "data.mdb")).size,
  });
  const counts = { commits: 0, searches: 0, wrong: 0 };
  const endMs = monotonicMs() + seconds * 1_000;
  for (let nextMs = monotonicMs(); monotonicMs() < endMs; nextMs += commitMs) {
    source.commit({ branch: "main", files: { [`d${counts.commits % 9}/${counts.commits % 300}.txt`]: `${needle} ${counts.commits}\n`.repeat(20) } });
    counts.commits++;
    await daemon.sync("host/a");
    const expected = linesWith("host/a", readCommit(source.path, "main"), needle);
    const { found, skipped } = await daemon.search(needle);
    counts.searches++;
    if (skipped.length > 0 || found.join() !== expected.join()) counts.wrong++;
    samples.push(look());
    await sleep(Math.max(0, nextMs + commitMs - monotonicMs()));
  }
  t.equal(counts.wrong, 0, "each search finds the last commit's lines");
  const grown: string[] = [];
  for (const field of ["memoryBytes", "descriptors", "threads", "fileBytes"] as const) {
    const third = Math.floor(samples.length / 3);
    const medianOf = (part: readonly Sample[]): number => quantile(part.map((sample) => sample[field]), 0.5);
    const [middle, last] = [medianOf(samples.slice(third, 2 * third)), medianOf(samples.slice(2 * third))];
    // A few seconds are a start, and show no trend.
    if (isFull) t.ok(last <= growthMax * middle, `${field}: ${middle}, then ${last}`);
    const print = (value: number): string => (field.endsWith("Bytes") ? `${(value / 2 ** 20).toFixed(1)} MiB` : String(value));
    grown.push(`${field.replace("Bytes", "")} ${print(middle)}, then ${print(last)}`);
  }
  t.equal(await daemon.stop(), 0);
  record(2, "a commit each second, synced, searched and compared with git; medians of the second and of the last third", `${counts.commits} commits in ${seconds} s, `
    + `${counts.wrong} wrong answers; ${grown.join("; ")}`);
});
