import { join } from "node:path";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { openMainCorpus, type Corpus } from "../corpus/corpus.js";
import { cloneBare, commit, headBranch, makeRepository, readSource, smallFiles } from "../corpus/repositories.js";
import { queries, streamParams } from "../peers/queries.js";
import type { Trawl } from "../peers/trawl.js";
import { grouped, short } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import { diskBytes, type PeakMemory, readMemory, readWakeups, waitForIdle, watchMemory } from "../system/measure.js";
import { longSearches, startDaemon, type Suite, type SuiteContext } from "./suite.js";

/** From a repository to a searchable index, what that costs, and how soon a commit is found. */
export const indexSuite: Suite = { name: "index", title: "Indexing, commits, and the daemon at rest", measure };

const indexTask = "index from git to searchable";
const commitTask = "commit to found";
const restTask = "daemon at rest, anonymous memory";
const wakeupsTask = "wakeups at rest";
const [inUse, restarted] = ["after indexing, commits and searches", "after a restart"];
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
    "A wakeup at rest is a thread of the daemon that ends a wait.",
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
  const record = (subject: string, unit: string, of: (run: IndexRun) => number): void =>
    results.less(indexTask, subject, unit, runs.map(of));
  record("wall time", "s", ({ seconds }) => seconds);
  record("of it the fetch", "s", ({ fetchSeconds }) => fetchSeconds);
  record("peak resident memory", "MB", ({ peak }) => peak.residentBytes / 1e6);
  record("peak anonymous memory", "MB", ({ peak }) => peak.anonymousBytes / 1e6);
  record("peak memory of git's processes", "MB", ({ peak }) => peak.childrenBytes / 1e6);
  record("shards and catalog", "x the text", ({ dataBytes }) => dataBytes / corpus.textBytes);
  const rates = runs.map(({ seconds }) => corpus.textBytes / 1e6 / seconds);
  results.more(indexTask, "text", "MB/s", rates);
  const small = join(workFolder, "index-small.git");
  await makeSmallRepository(corpus, small);
  await trawl.add("small", small, progress);
  progress("commits of one file");
  const commitCount = isQuick ? 5 : 20;
  results.less(commitTask, "in the corpus", "ms", await timeCommits(trawl, "corpus", clone, commitCount));
  results.less(commitTask, amongSmall, "ms", await timeCommits(trawl, "small", small, commitCount));
  progress("searches, then rest");
  for (const query of queries) await trawl.curlMs(streamParams(query));
  await measureRest(trawl, inUse, context, results);
  await measureRest(await startDaemon(context, "index-data"), restarted, context, results);
  const git = `git's processes ${results.text(indexTask, "peak memory of git's processes")} more`;
  results.targets(
    { what: indexTask, of: [indexTask, "text"], atLeast: [40, 60] },
    {
      what: "resident while indexing",
      of: [indexTask, "peak resident memory"],
      unit: "GB",
      scale: 1 / 1000,
      atMost: [1.5, 1.5],
      note: git,
    },
    { what: "data beside the mirror", of: [indexTask, "shards and catalog"], atMost: [1.3, 1.25] },
    { what: "commit of one file in the corpus, p50", of: [commitTask, "in the corpus"], atMost: [1000, 100] },
    { what: `commit of one file ${amongSmall}, p50`, of: [commitTask, amongSmall], atMost: [1000, 100] },
    {
      what: restTask,
      of: [restTask, inUse],
      atMost: [250, 150],
      note: `${results.text(restTask, restarted)} ${restarted}`,
    },
    { what: wakeupsTask, of: [wakeupsTask, inUse], atMost: [25, 10] },
  );
}

/** Waits until the daemon is idle, records its memory and wakeups, and stops it. */
async function measureRest(trawl: Trawl, subject: string, { isQuick }: SuiteContext, results: Results): Promise<void> {
  const seconds = isQuick ? 3 : 10;
  await sleep(seconds * 1000);
  await waitForIdle(trawl.pid, 60_000);
  const before = readWakeups(trawl.pid);
  await sleep(seconds * 1000);
  results.less(wakeupsTask, subject, "/s", (readWakeups(trawl.pid) - before) / seconds);
  results.less(restTask, subject, "MB", readMemory(trawl.pid).anonymousBytes / 1e6);
  await trawl.stop();
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
    await trawl.untilFound(marker);
    times.push(monotonicMs() - startedMs);
  }
  return times;
}

/** One run from an empty daemon to a searchable repository. */
export interface IndexRun {
  readonly fetchSeconds: number;
  /** From the start of the fetch until a search could find something. */
  readonly seconds: number;
  readonly peak: PeakMemory;
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
  const peak = memory();
  progress("waiting until the daemon is idle");
  await waitForIdle(trawl.pid, 120_000);
  const dataBytes = diskBytes(join(trawl.dataFolder, "shards")) + diskBytes(join(trawl.dataFolder, "catalog"));
  return { peak, fetchSeconds: ((fetchedMs ?? startedMs) - startedMs) / 1000, seconds, dataBytes };
}
