import { rmSync } from "node:fs";
import { join } from "node:path";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { openMainCorpus, type Corpus } from "../corpus/corpus.js";
import { queries, streamParams } from "../peers/queries.js";
import { Trawl } from "../peers/trawl.js";
import { atLeast, atMost } from "../report/claims.js";
import { short, spreadText } from "../report/numbers.js";
import type { Claim, PartRecord, Plot, Sample, Series } from "../report/record.js";
import { memoryOf, spreadOf, waitForRest } from "../system/measure.js";
import { run } from "../system/processes.js";
import { makeSmallRepository, timeCommits } from "./commits.js";
import { measureIndex, type IndexRun } from "./indexing.js";
import { memoryPlot } from "./memory-plot.js";
import type { Part, PartContext } from "./part.js";

/** From a repository to a searchable index, what that costs, and how soon a commit is found. */
export const indexPart: Part = {
  name: "index",
  title: "Indexing, commits, and the daemon at rest",
  estimateSeconds: ({ isQuick }) => (isQuick ? 25 : 110),
  measure,
};

const smallFileCount = 1000;

interface Measured {
  readonly corpus: Corpus;
  readonly runs: readonly IndexRun[];
  /** Milliseconds until a commit is found. */
  readonly commits: { readonly corpus: readonly number[]; readonly small: readonly number[] };
  /** Anonymous bytes after some idle seconds. */
  readonly restBytes: { readonly afterLoad: number; readonly afterRestart: number };
}

async function measure(context: PartContext): Promise<PartRecord> {
  const startedMs = monotonicMs();
  const measured = await measureAll(context);
  const samples = samplesOf(measured);
  return {
    part: indexPart.name,
    title: indexPart.title,
    seconds: (monotonicMs() - startedMs) / 1000,
    notes: [
      `The corpus ${measured.corpus.name} has ${short(measured.corpus.textBytes / 1e6)} MB in ${measured.corpus.fileCount} files.`,
      ...(measured.corpus.note === "" ? [] : [measured.corpus.note]),
      "From git to searchable: from the call that adds a local bare repository until its answer, the fetch into a mirror included.",
      "Commit to found: from the call that syncs until the first match of the committed line; before the call nothing is known of the commit.",
    ],
    samples,
    tables: [
      {
        title: "Measured",
        head: ["task", "subject", "unit", "median (min..max)", "values"],
        rows: samples.map(({ task, subject, unit, values }) => [
          task,
          subject,
          unit,
          spreadText(spreadOf(values)),
          String(values.length),
        ]),
      },
    ],
    plots: [
      memoryPlot("index-memory", "Memory of the daemon while it indexes", measured.runs.at(-1)?.history ?? []),
      commitPlot(measured),
    ],
    claims: claimsOf(measured, context.isQuick),
  };
}

async function measureAll(context: PartContext): Promise<Measured> {
  const { isQuick, workFolder, progress } = context;
  const corpus = await openMainCorpus(context);
  const clone = join(workFolder, "index-corpus.git");
  await run("git", ["clone", "-q", "--bare", corpus.path, clone], "");
  const dataFolder = join(workFolder, "index-data");
  const runs: IndexRun[] = [];
  const roundCount = isQuick ? 1 : 2;
  for (let round = 1; round < roundCount; round++) {
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
  const restMs = isQuick ? 3_000 : 10_000;
  const afterLoad = await restBytes(trawl, restMs);
  const again = await Trawl.start(dataFolder, []);
  const afterRestart = await restBytes(again, restMs);
  for (const folder of [dataFolder, clone, small]) rmSync(folder, { recursive: true });
  return { corpus, runs, commits, restBytes: { afterLoad, afterRestart } };
}

/** Stops the daemon, too. */
async function restBytes(trawl: Trawl, restMs: number): Promise<number> {
  await sleep(restMs);
  await waitForRest(trawl.pid, 60_000);
  const { anonymousBytes } = memoryOf(trawl.pid);
  await trawl.stop();
  return anonymousBytes;
}

function samplesOf({ corpus, runs, commits, restBytes: rest }: Measured): Sample[] {
  const less = (task: string, subject: string, unit: string, values: readonly number[]): Sample => ({
    task,
    subject,
    unit,
    better: "less",
    values,
  });
  return [
    less(
      "index from git to searchable",
      "wall time",
      "s",
      runs.map(({ seconds }) => seconds),
    ),
    less(
      "index from git to searchable",
      "of it the fetch",
      "s",
      runs.map(({ fetchSeconds }) => fetchSeconds),
    ),
    less(
      "index from git to searchable",
      "peak resident memory",
      "MB",
      runs.map(({ peak }) => peak.residentBytes / 1e6),
    ),
    less(
      "index from git to searchable",
      "peak anonymous memory",
      "MB",
      runs.map(({ peak }) => peak.anonymousBytes / 1e6),
    ),
    less(
      "index from git to searchable",
      "peak memory of git's processes",
      "MB",
      runs.map(({ peak }) => peak.childrenBytes / 1e6),
    ),
    less(
      "index from git to searchable",
      "shards and catalog",
      "x the text",
      runs.map(({ dataBytes }) => dataBytes / corpus.textBytes),
    ),
    less("commit to found", "in the corpus", "ms", commits.corpus),
    less("commit to found", `among ${smallFileCount} files`, "ms", commits.small),
    less("daemon at rest, anonymous memory", "after indexing, commits and searches", "MB", [rest.afterLoad / 1e6]),
    less("daemon at rest, anonymous memory", "after a restart", "MB", [rest.afterRestart / 1e6]),
  ];
}

/** The limits are those of the full corpus. */
function claimsOf({ corpus, runs, commits, restBytes: rest }: Measured, isQuick: boolean): Claim[] {
  const limits = (must: number, aim: number) => (isQuick ? { must: undefined, aim: undefined } : { must, aim });
  const of = (value: (each: IndexRun) => number): number => spreadOf(runs.map(value)).median;
  const git = `git's processes ${short(of(({ peak }) => peak.childrenBytes) / 1e6)} MB more`;
  return [
    atLeast(
      "index from git to searchable",
      "MB/s",
      corpus.textBytes / 1e6 / of(({ seconds }) => seconds),
      limits(40, 60),
      `${short(of(({ seconds }) => seconds))} s`,
    ),
    atMost("resident while indexing", "GB", of(({ peak }) => peak.residentBytes) / 1e9, limits(1.5, 1.5), git),
    atMost(
      "data beside the mirror",
      "x the text",
      of(({ dataBytes }) => dataBytes) / corpus.textBytes,
      limits(1.3, 1.25),
      "",
    ),
    atMost(
      "commit of one file in the corpus, p50",
      "ms",
      spreadOf(commits.corpus).median,
      limits(1000, 100),
      spreadText(spreadOf(commits.corpus)),
    ),
    atMost(
      `commit of one file among ${smallFileCount}, p50`,
      "ms",
      spreadOf(commits.small).median,
      limits(1000, 100),
      spreadText(spreadOf(commits.small)),
    ),
    atMost(
      "daemon at rest, anonymous",
      "MB",
      rest.afterLoad / 1e6,
      limits(300, 200),
      `${short(rest.afterRestart / 1e6)} MB after a restart`,
    ),
  ];
}

function commitPlot({ commits }: Measured): Plot {
  const series = (name: string, times: readonly number[]): Series => ({
    name,
    kind: "line",
    points: [...times].sort((a, b) => a - b).map((y, i) => ({ x: (100 * (i + 1)) / times.length, y })),
  });
  return {
    name: "index-commits",
    title: "From a commit of one file until a search finds it",
    x: { label: "share of the commits, %", scale: "linear", categories: [] },
    y: { label: "time, ms", scale: "log", categories: [] },
    series: [series("in the corpus", commits.corpus), series(`among ${smallFileCount} files`, commits.small)],
  };
}
