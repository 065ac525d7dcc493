import { rmSync } from "node:fs";
import { join } from "node:path";
import { sleep } from "../../src/base/deadline.js";
import { cloneBare } from "../corpus/repositories.js";
import { openMainCorpus, type Corpus } from "../corpus/corpus.js";
import { queries, streamParams } from "../peers/queries.js";
import { Trawl } from "../peers/trawl.js";
import { axis, less, line, memoryPlot, sampleTable } from "../report/build.js";
import { grouped, short, spreadText } from "../report/numbers.js";
import type { Findings, Plot, Sample, Series, Target } from "../report/run-report.js";
import { atLeast, atMost, limits } from "../report/targets.js";
import { median, readMemory, computeSpread, waitForIdle } from "../system/measure.js";
import { makeSmallRepository, timeCommits } from "./commits.js";
import { measureIndex, type IndexRun } from "./indexing.js";
import type { Suite, SuiteContext } from "./suite.js";

/** From a repository to a searchable index, what that costs, and how soon a commit is found. */
export const indexSuite: Suite = {
  name: "index",
  title: "Indexing, commits, and the daemon at rest",
  estimateSeconds: { quick: 25, full: 110 },
  measure,
};

const smallFileCount = 1000;

interface Measured {
  readonly corpus: Corpus;
  readonly runs: readonly IndexRun[];
  /** Milliseconds until a commit is found. */
  readonly commits: { readonly corpus: readonly number[]; readonly small: readonly number[] };
  /** Anonymous bytes after some idle seconds. */
  readonly idleBytes: { readonly afterLoad: number; readonly afterRestart: number };
}

async function measure(context: SuiteContext): Promise<Findings> {
  const measured = await measureAll(context);
  const { corpus, runs } = measured;
  const samples = toSamples(measured);
  return {
    notes: [
      `The corpus ${corpus.name} has ${short(corpus.textBytes / 1e6)} MB in ${grouped(corpus.fileCount)} files.`,
      corpus.note,
      "From git to searchable: from the call that adds a local bare repository until its answer, the fetch into a mirror included.",
      "Commit to found: from the call that syncs until the first match of the committed line; before the call the daemon knows nothing of the commit.",
    ],
    samples,
    tables: [sampleTable(samples)],
    plots: [
      memoryPlot("index-memory", "Memory of the daemon while it indexes", runs.at(-1)?.history ?? []),
      commitPlot(measured),
    ],
    targets: toTargets(measured, context.isQuick),
  };
}

async function measureAll(context: SuiteContext): Promise<Measured> {
  const { isQuick, workFolder, progress } = context;
  const corpus = await openMainCorpus(context);
  const clone = await cloneBare(corpus, join(workFolder, "index-corpus.git"));
  const dataFolder = join(workFolder, "index-data");
  const runs: IndexRun[] = [];
  if (!isQuick) {
    const trawl = await Trawl.start(dataFolder, []);
    runs.push(await measureIndex(trawl, "corpus", clone, dataFolder, progress));
    await trawl.stop();
    rmSync(dataFolder, { recursive: true });
  }
  const trawl = await Trawl.start(dataFolder, ["--set", "search.maxTimeoutSeconds=300"]);
  runs.push(await measureIndex(trawl, "corpus", clone, dataFolder, progress));
  const small = join(workFolder, "index-small.git");
  await makeSmallRepository(corpus, small, smallFileCount);
  await trawl.add("small", small, progress);
  const commitCount = isQuick ? 5 : 20;
  progress("commits of one file");
  const commits = {
    corpus: await timeCommits(trawl, "corpus", clone, commitCount),
    small: await timeCommits(trawl, "small", small, commitCount),
  };
  progress("searches, then rest");
  for (const query of queries) await trawl.curlMs(streamParams(query));
  const idleMs = isQuick ? 3_000 : 10_000;
  const afterLoad = await stopIdle(trawl, idleMs);
  const afterRestart = await stopIdle(await Trawl.start(dataFolder, []), idleMs);
  for (const folder of [dataFolder, clone, small]) rmSync(folder, { recursive: true });
  return { corpus, runs, commits, idleBytes: { afterLoad, afterRestart } };
}

/** Waits until the daemon is idle, stops it, and returns its anonymous bytes right before. */
async function stopIdle(trawl: Trawl, idleMs: number): Promise<number> {
  await sleep(idleMs);
  await waitForIdle(trawl.pid, 60_000);
  const { anonymousBytes } = readMemory(trawl.pid);
  await trawl.stop();
  return anonymousBytes;
}

function toSamples({ corpus, runs, commits, idleBytes }: Measured): Sample[] {
  const index = (subject: string, unit: string, of: (run: IndexRun) => number): Sample =>
    less("index from git to searchable", subject, unit, runs.map(of));
  const idle = (subject: string, bytes: number): Sample =>
    less("daemon at rest, anonymous memory", subject, "MB", [bytes / 1e6]);
  return [
    index("wall time", "s", ({ seconds }) => seconds),
    index("of it the fetch", "s", ({ fetchSeconds }) => fetchSeconds),
    index("peak resident memory", "MB", ({ peak }) => peak.residentBytes / 1e6),
    index("peak anonymous memory", "MB", ({ peak }) => peak.anonymousBytes / 1e6),
    index("peak memory of git's processes", "MB", ({ peak }) => peak.childrenBytes / 1e6),
    index("shards and catalog", "x the text", ({ dataBytes }) => dataBytes / corpus.textBytes),
    less("commit to found", "in the corpus", "ms", commits.corpus),
    less("commit to found", `among ${smallFileCount} files`, "ms", commits.small),
    idle("after indexing, commits and searches", idleBytes.afterLoad),
    idle("after a restart", idleBytes.afterRestart),
  ];
}

function toTargets({ corpus, runs, commits, idleBytes }: Measured, isQuick: boolean): Target[] {
  const held = (must: number, aim: number) => limits(isQuick, must, aim);
  const of = (value: (run: IndexRun) => number): number => median(runs.map(value));
  const seconds = of((run) => run.seconds);
  const resident = of(({ peak }) => peak.residentBytes / 1e9);
  const git = `git's processes ${short(of(({ peak }) => peak.childrenBytes / 1e6))} MB more`;
  const data = of(({ dataBytes }) => dataBytes / corpus.textBytes);
  const restarted = `${short(idleBytes.afterRestart / 1e6)} MB after a restart`;
  const commit = (where: string, values: readonly number[]): Target =>
    atMost(
      `commit of one file ${where}, p50`,
      "ms",
      median(values),
      held(1000, 100),
      spreadText(computeSpread(values)),
    );
  return [
    atLeast(
      "index from git to searchable",
      "MB/s",
      corpus.textBytes / 1e6 / seconds,
      held(40, 60),
      `${short(seconds)} s`,
    ),
    atMost("resident while indexing", "GB", resident, held(1.5, 1.5), git),
    atMost("data beside the mirror", "x the text", data, held(1.3, 1.25), ""),
    commit("in the corpus", commits.corpus),
    commit(`among ${smallFileCount}`, commits.small),
    atMost("daemon at rest, anonymous", "MB", idleBytes.afterLoad / 1e6, held(300, 200), restarted),
  ];
}

function commitPlot({ commits }: Measured): Plot {
  const series = (name: string, times: readonly number[]): Series => {
    const sorted = [...times].sort((a, b) => a - b);
    const points = sorted.map((y, i) => ({ x: (100 * (i + 1)) / times.length, y }));
    return line(name, points);
  };
  return {
    name: "index-commits",
    title: "From a commit of one file until a search finds it",
    x: axis("share of the commits, %", "linear"),
    y: axis("time, ms", "log"),
    series: [series("in the corpus", commits.corpus), series(`among ${smallFileCount} files`, commits.small)],
  };
}
