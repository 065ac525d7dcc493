import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import { openCorpus } from "../corpus/corpus.js";
import { repositoryMarker } from "../corpus/many.js";
import type { Trawl } from "../peers/trawl.js";
import { grouped, short } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import type { PlotPoint } from "../report/run-report.js";
import { axis, line, memoryPlot } from "../report/views.js";
import { readMemory, watchMemory } from "../system/measure.js";
import { startDaemon, type Suite, type SuiteContext } from "./suite.js";

/** A daemon with many small repositories. */
export const manySuite: Suite = {
  name: "many",
  title: "Many small repositories",
  estimateSeconds: { quick: 25, full: 350 },
  measure,
};

/** With this many repositories some are always being checked, so the daemon never idles; it is given this long. */
const idleMs = 8_000;

/** Far above the target; a daemon that is slower still is not waited for. */
const indexLimitMs = 3_600_000;

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const { isQuick, progress } = context;
  const corpus = await openCorpus(isQuick ? "many-quick" : "many", context);
  const repositoryCount = corpus.repositories.length;
  const emptyBytes = await emptyDaemonBytes(context);
  const kilobytesEach = async (trawl: Trawl): Promise<number> => {
    progress("the daemon without searches");
    await sleep(isQuick ? 3_000 : idleMs);
    return (readMemory(trawl.pid).anonymousBytes - emptyBytes) / repositoryCount / 1000;
  };
  const startedMs = monotonicMs();
  const first = await startDaemon(context, "many-data", "--config", corpus.config);
  const memory = watchMemory(first.pid);
  const { failedCount, done } = await waitUntilReady(first, repositoryCount, startedMs, progress);
  const seconds = (monotonicMs() - startedMs) / 1000;
  const { peak, history } = memory();
  const indexed = await kilobytesEach(first);
  await first.stop();
  const again = await startDaemon(context, "many-data", "--config", corpus.config);
  const marker = new URLSearchParams({ q: `${repositoryMarker(repositoryCount - 1)} type:file`, t: "literal" });
  const answerMs = await again.firstMatchMs(marker);
  if (answerMs === undefined)
    throw new TrawlError("internal", "the restarted daemon does not find what it had indexed");
  const restarted = await kilobytesEach(again);
  await again.stop();
  const firstAnswerMs = again.startMs + answerMs;

  const what = `${grouped(repositoryCount)} repositories`;
  results.note(
    `${grouped(repositoryCount)} bare repositories on the same disk, ${short(corpus.textBytes / 1e6)} MB of text in all, named in the configuration of a daemon without data.`,
    failedCount === 0 ? "" : `${failedCount} repositories failed.`,
    corpus.note,
  );
  results.less(what, "index", "s", seconds);
  results.less(what, "peak anonymous memory", "MB", peak.anonymousBytes / 1e6);
  results.less(what, "peak memory of git's processes", "MB", peak.childrenBytes / 1e6);
  results.less(what, "first answer after a start", "ms", firstAnswerMs);
  results.less(what, "memory of each after indexing", "KB", indexed);
  results.less(what, "memory of each after a restart", "KB", restarted);
  const both = `${short(indexed)} after indexing, ${short(restarted)} after a restart`;
  const rate = `${short(repositoryCount / seconds)} a second`;
  results.atMost(`${what}: index`, "min", seconds / 60, { must: 15, aim: 5 }, rate);
  results.atMost(`${what}: first answer after a start`, "s", firstAnswerMs / 1000, { must: 2, aim: 1 });
  results.atMost(`${what}: memory of each`, "KB", Math.max(indexed, restarted), { must: 60, aim: 31 }, both);
  results.plot({
    name: "many-index",
    title: "Repositories indexed since the start of a daemon without data",
    x: axis("time, s", "linear"),
    y: axis("repositories indexed", "linear"),
    series: [line("repositories", done)],
  });
  results.plot(
    memoryPlot("many-memory", "Memory of the daemon while it fetches and indexes many repositories", history),
  );
}

async function emptyDaemonBytes(context: SuiteContext): Promise<number> {
  const trawl = await startDaemon(context, "many-empty");
  await sleep(3_000);
  const { anonymousBytes } = readMemory(trawl.pid);
  await trawl.stop();
  return anonymousBytes;
}

/** Returns how many repositories were indexed after how many seconds. */
export async function waitUntilReady(
  trawl: Trawl,
  repositoryCount: number,
  startedMs: number,
  progress: (text: string) => void,
): Promise<{ readonly failedCount: number; readonly done: readonly PlotPoint[] }> {
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
