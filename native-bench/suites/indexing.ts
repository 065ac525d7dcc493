import { join } from "node:path";
import { sleep, monotonicMs } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import { openMainCorpus, type Corpus } from "../corpus/corpus.js";
import { cloneBare, commit, headBranch, makeRepository, readSource, smallFiles } from "../corpus/repositories.js";
import { queries, streamParams } from "../peers/queries.js";
import type { Trawl } from "../peers/trawl.js";
import { grouped, short } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import { axis, line, memoryPlot } from "../report/views.js";
import { diskBytes, median, readMemory, waitForIdle, watchMemory, type WatchedMemory } from "../system/measure.js";
import { longSearches, startDaemon, type Suite, type SuiteContext } from "./suite.js";

/** From a repository to a searchable index, what that costs, and how soon a commit is found. */
export const indexSuite: Suite = {
  name: "index",
  title: "Indexing, commits, and the daemon at rest",
  estimateSeconds: { quick: 25, full: 110 },
  measure,
};

const indexTask = "index from git to searchable";
const commitTask = "commit to found";
const restTask = "daemon at rest, anonymous memory";
const smallFileCount = 1000;
const amongSmall = `among ${smallFileCount} files`;
const fileBytesMax = 64 * 1024;

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const { isQuick, workFolder, progress } = context;
  const corpus = await openMainCorpus(context);
  results.note(
    `The corpus ${corpus.name} has ${short(corpus.textBytes / 1e6)} MB in ${grouped(corpus.fileCount)} files.`,
    corpus.note,
    "From git to searchable: from the call that adds a local bare repository until its answer, the fetch into a mirror included.",
    "Commit to found: from the call that syncs until the first match of the committed line; before the call the daemon knows nothing of the commit.",
  );
  const clone = await cloneBare(corpus, join(workFolder, "index-corpus.git"));
  const runs: IndexRun[] = [];
  if (!isQuick) {
    const trawl = await startDaemon(context, "index-first");
    runs.push(await measureIndex(trawl, "corpus", clone, progress));
    await trawl.stop();
  }
  const trawl = await startDaemon(context, "index-data", ...longSearches);
  runs.push(await measureIndex(trawl, "corpus", clone, progress));
  recordIndex(results, corpus, runs);
  const small = join(workFolder, "index-small.git");
  await makeSmallRepository(corpus, small);
  await trawl.add("small", small, progress);
  progress("commits of one file");
  const commitCount = isQuick ? 5 : 20;
  results.less(commitTask, "in the corpus", "ms", await timeCommits(trawl, "corpus", clone, commitCount));
  results.less(commitTask, amongSmall, "ms", await timeCommits(trawl, "small", small, commitCount));
  progress("searches, then rest");
  for (const query of queries) await trawl.curlMs(streamParams(query));
  const idleMs = isQuick ? 3_000 : 10_000;
  results.less(restTask, "after indexing, commits and searches", "MB", await stopIdle(trawl, idleMs));
  results.less(restTask, "after a restart", "MB", await stopIdle(await startDaemon(context, "index-data"), idleMs));
  addTargets(results, corpus, runs);
  results.plot(memoryPlot("index-memory", "Memory of the daemon while it indexes", runs.at(-1)?.history ?? []));
  results.plot({
    name: "index-commits",
    title: "From a commit of one file until a search finds it",
    x: axis("share of the commits, %", "linear"),
    y: axis("time, ms", "log"),
    series: ["in the corpus", amongSmall].map((subject) => {
      const sorted = [...results.values(commitTask, subject)].sort((a, b) => a - b);
      const points = sorted.map((y, i) => ({ x: (100 * (i + 1)) / sorted.length, y }));
      return line(subject, points);
    }),
  });
}

function recordIndex(results: Results, { textBytes }: Corpus, runs: readonly IndexRun[]): void {
  const record = (subject: string, unit: string, of: (run: IndexRun) => number): void =>
    results.less(indexTask, subject, unit, runs.map(of));
  record("wall time", "s", ({ seconds }) => seconds);
  record("of it the fetch", "s", ({ fetchSeconds }) => fetchSeconds);
  record("peak resident memory", "MB", ({ peak }) => peak.residentBytes / 1e6);
  record("peak anonymous memory", "MB", ({ peak }) => peak.anonymousBytes / 1e6);
  record("peak memory of git's processes", "MB", ({ peak }) => peak.childrenBytes / 1e6);
  record("shards and catalog", "x the text", ({ dataBytes }) => dataBytes / textBytes);
}

function addTargets(results: Results, { textBytes }: Corpus, runs: readonly IndexRun[]): void {
  const seconds = median(runs.map((run) => run.seconds));
  const resident = results.median(indexTask, "peak resident memory") / 1e3;
  const git = `git's processes ${results.text(indexTask, "peak memory of git's processes", "MB more")}`;
  const data = results.median(indexTask, "shards and catalog");
  const atRest = results.median(restTask, "after indexing, commits and searches");
  const restarted = results.text(restTask, "after a restart", "MB after a restart");
  results.atLeast(indexTask, "MB/s", textBytes / 1e6 / seconds, { must: 40, aim: 60 }, `${short(seconds)} s`);
  results.atMost("resident while indexing", "GB", resident, { must: 1.5, aim: 1.5 }, git);
  results.atMost("data beside the mirror", "x the text", data, { must: 1.3, aim: 1.25 });
  for (const [where, subject] of [
    ["in the corpus", "in the corpus"],
    [`among ${smallFileCount}`, amongSmall],
  ] as const) {
    const limits = { must: 1000, aim: 100 };
    const value = results.median(commitTask, subject);
    results.atMost(`commit of one file ${where}, p50`, "ms", value, limits, results.spread(commitTask, subject));
  }
  results.atMost("daemon at rest, anonymous", "MB", atRest, { must: 300, aim: 200 }, restarted);
}

/** Waits until the daemon is idle, stops it, and returns its anonymous megabytes right before. */
async function stopIdle(trawl: Trawl, idleMs: number): Promise<number> {
  await sleep(idleMs);
  await waitForIdle(trawl.pid, 60_000);
  const { anonymousBytes } = readMemory(trawl.pid);
  await trawl.stop();
  return anonymousBytes / 1e6;
}

/** Makes a bare repository of about `smallFileCount` files, taken evenly from the corpus. */
async function makeSmallRepository(corpus: Corpus, directory: string): Promise<void> {
  const paths = await smallFiles(corpus, fileBytesMax);
  const step = Math.max(1, Math.floor(paths.length / smallFileCount));
  const chosen = paths.filter((_, i) => i % step === 0).slice(0, smallFileCount);
  const files = chosen.map((path) => readSource(corpus, path));
  await makeRepository(directory, files);
}

/**
 * Milliseconds from the sync call until a search finds what a commit of one file has brought, for each of `count`
 * commits. `directory` is the bare repository that the daemon knows as `name`.
 */
async function timeCommits(trawl: Trawl, name: string, directory: string, count: number): Promise<number[]> {
  const branch = await headBranch(directory);
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const marker = `trawlbench${name}${i}x`;
    const file = { path: "trawl-bench.txt", text: Buffer.from(`${marker}\n`) };
    await commit(directory, branch, [file], `refs/heads/${branch}^0`);
    const startedMs = monotonicMs();
    await trawl.sync(name);
    const found = await trawl.firstMatchMs(new URLSearchParams({ q: `${marker} type:file`, t: "literal" }));
    if (found === undefined) throw new TrawlError("internal", `${name}: a synced commit is not found`);
    times.push(monotonicMs() - startedMs);
  }
  return times;
}

/** One run from an empty daemon to a searchable repository. */
export interface IndexRun extends WatchedMemory {
  readonly fetchSeconds: number;
  /** From the start of the fetch until a search could find something. */
  readonly seconds: number;
  /** Size of shards and catalog on disk once the daemon is idle. */
  readonly dataBytes: number;
}

/** Adds the repository at `url` as `name` to an empty daemon, and waits until it is searchable and the daemon idle. */
export async function measureIndex(
  trawl: Trawl,
  name: string,
  url: string,
  progress: (text: string) => void,
): Promise<IndexRun> {
  const startedMs = monotonicMs();
  let fetchedMs: number | undefined;
  const memory = watchMemory(trawl.pid);
  await trawl.add(name, url, (text) => {
    if (!/: fetching/.test(text)) fetchedMs ??= monotonicMs();
    progress(text);
  });
  const seconds = (monotonicMs() - startedMs) / 1000;
  const watched = memory();
  progress("waiting until the daemon is idle");
  await waitForIdle(trawl.pid, 120_000);
  const dataBytes = diskBytes(join(trawl.dataFolder, "shards")) + diskBytes(join(trawl.dataFolder, "catalog"));
  return { ...watched, fetchSeconds: ((fetchedMs ?? startedMs) - startedMs) / 1000, seconds, dataBytes };
}
