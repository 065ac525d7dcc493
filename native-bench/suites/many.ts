import { rmSync } from "node:fs";
import { join } from "node:path";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import { openCorpus, type Corpus } from "../corpus/corpus.js";
import { repositoryMarker } from "../corpus/many.js";
import { Trawl } from "../peers/trawl.js";
import { axis, less, line, memoryPlot, sampleTable } from "../report/build.js";
import { grouped, short } from "../report/numbers.js";
import type { Findings, PlotPoint, Sample, Target } from "../report/run-report.js";
import { atMost, limits } from "../report/targets.js";
import { readMemory, watchMemory, type WatchedMemory } from "../system/measure.js";
import type { Suite, SuiteContext } from "./suite.js";

/** A daemon with many small repositories. */
export const manySuite: Suite = {
  name: "many",
  title: "Many small repositories",
  estimateSeconds: { quick: 25, full: 350 },
  measure,
};

interface Measured extends WatchedMemory, IndexProgress {
  readonly repositoryCount: number;
  readonly seconds: number;
  /** From the start of a process with everything indexed until a search has found something. */
  readonly firstAnswerMs: number;
  /** Anonymous memory per repository beyond an empty daemon's, after the index run and after the restart. */
  readonly bytesEach: { readonly afterIndex: number; readonly afterRestart: number };
}

interface IndexProgress {
  readonly failedCount: number;
  /** How many repositories were indexed after how many seconds. */
  readonly done: readonly PlotPoint[];
}

/** With so many repositories some are always being checked, so the daemon never idles; it is given this long. */
const idleMs = 8_000;

/** Far above the target; a daemon that is slower still is not waited for. */
const indexLimitMs = 3_600_000;

async function measure(context: SuiteContext): Promise<Findings> {
  const corpus = await openCorpus(context.isQuick ? "many-quick" : "many", context);
  const measured = await measureMany(corpus, context);
  const samples = toSamples(measured);
  const { repositoryCount, failedCount, history, done } = measured;
  return {
    notes: [
      `${grouped(repositoryCount)} bare repositories on the same disk, ${short(corpus.textBytes / 1e6)} MB of text in all, named in the configuration of a daemon without data.`,
      failedCount === 0 ? "" : `${failedCount} repositories failed.`,
      corpus.note,
    ],
    samples,
    tables: [sampleTable(samples)],
    plots: [
      {
        name: "many-index",
        title: "Repositories indexed since the start of a daemon without data",
        x: axis("time, s", "linear"),
        y: axis("repositories indexed", "linear"),
        series: [line("repositories", done)],
      },
      memoryPlot("many-memory", "Memory of the daemon while it fetches and indexes many repositories", history),
    ],
    targets: toTargets(measured, context.isQuick),
  };
}

async function measureMany(corpus: Corpus, { isQuick, workFolder, progress }: SuiteContext): Promise<Measured> {
  const repositoryCount = corpus.repositories.length;
  const dataFolder = join(workFolder, "many-data");
  const emptyBytes = await emptyDaemonBytes(join(workFolder, "many-empty"));
  const bytesEach = async (trawl: Trawl): Promise<number> => {
    progress("the daemon without searches");
    await sleep(isQuick ? 3_000 : idleMs);
    return (readMemory(trawl.pid).anonymousBytes - emptyBytes) / repositoryCount;
  };
  const startedMs = monotonicMs();
  const first = await Trawl.start(dataFolder, ["--config", corpus.config]);
  const memory = watchMemory(first.pid);
  const indexed = await waitUntilReady(first, repositoryCount, startedMs, progress);
  const seconds = (monotonicMs() - startedMs) / 1000;
  const watched = memory();
  const afterIndex = await bytesEach(first);
  await first.stop();
  const again = await Trawl.start(dataFolder, ["--config", corpus.config]);
  const marker = new URLSearchParams({ q: `${repositoryMarker(repositoryCount - 1)} type:file`, t: "literal" });
  const answerMs = await again.firstMatchMs(marker);
  if (answerMs === undefined)
    throw new TrawlError("internal", "the restarted daemon does not find what it had indexed");
  const afterRestart = await bytesEach(again);
  await again.stop();
  rmSync(dataFolder, { recursive: true });
  const firstAnswerMs = again.startMs + answerMs;
  return { ...watched, ...indexed, repositoryCount, seconds, firstAnswerMs, bytesEach: { afterIndex, afterRestart } };
}

async function emptyDaemonBytes(dataFolder: string): Promise<number> {
  const trawl = await Trawl.start(dataFolder, []);
  await sleep(3_000);
  const { anonymousBytes } = readMemory(trawl.pid);
  await trawl.stop();
  return anonymousBytes;
}

async function waitUntilReady(
  trawl: Trawl,
  repositoryCount: number,
  startedMs: number,
  progress: (text: string) => void,
): Promise<IndexProgress> {
  const done: PlotPoint[] = [];
  for (;;) {
    const { ready, repositories } = await trawl.readiness();
    const count = (state: string): number => repositories.filter((repository) => repository.state === state).length;
    const indexedCount = repositoryCount - count("pending");
    const seconds = (monotonicMs() - startedMs) / 1000;
    done.push({ x: seconds, y: indexedCount });
    progress(`${indexedCount} of ${repositoryCount} repositories are indexed`);
    if (ready) return { done, failedCount: count("failed") };
    if (seconds * 1000 > indexLimitMs)
      throw new TrawlError("cancelled", "the repositories were not indexed within an hour");
    // The answer names every repository, so frequent polling would slow down what is measured.
    await sleep(seconds < 30 ? 1_000 : 5_000);
  }
}

function toSamples({ seconds, repositoryCount, peak, firstAnswerMs, bytesEach }: Measured): Sample[] {
  const sample = (subject: string, unit: string, value: number): Sample =>
    less(`${grouped(repositoryCount)} repositories`, subject, unit, [value]);
  return [
    sample("index", "s", seconds),
    sample("peak anonymous memory", "MB", peak.anonymousBytes / 1e6),
    sample("peak memory of git's processes", "MB", peak.childrenBytes / 1e6),
    sample("first answer after a start", "ms", firstAnswerMs),
    sample("memory of each after indexing", "KB", bytesEach.afterIndex / 1000),
    sample("memory of each after a restart", "KB", bytesEach.afterRestart / 1000),
  ];
}

/** The limits are those of 10,000 repositories. */
function toTargets({ seconds, repositoryCount, firstAnswerMs, bytesEach }: Measured, isQuick: boolean): Target[] {
  const what = `${grouped(repositoryCount)} repositories`;
  const [indexed, restarted] = [bytesEach.afterIndex / 1000, bytesEach.afterRestart / 1000];
  const both = `${short(indexed)} after indexing, ${short(restarted)} after a restart`;
  const rate = `${short(repositoryCount / seconds)} a second`;
  return [
    atMost(`${what}: index`, "min", seconds / 60, limits(isQuick, 15, 5), rate),
    atMost(`${what}: first answer after a start`, "s", firstAnswerMs / 1000, limits(isQuick, 2, 1), ""),
    atMost(`${what}: memory of each`, "KB", Math.max(indexed, restarted), limits(isQuick, 60, 31), both),
  ];
}
