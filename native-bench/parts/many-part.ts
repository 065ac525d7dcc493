import { rmSync } from "node:fs";
import { join } from "node:path";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import { openCorpus, type Corpus } from "../corpus/corpus.js";
import { markerOf } from "../corpus/many.js";
import { Trawl } from "../peers/trawl.js";
import { atMost } from "../report/claims.js";
import { grouped, short } from "../report/numbers.js";
import type { Claim, PartRecord, Plot, PlotPoint, Sample } from "../report/record.js";
import { memoryOf, watchMemory, type WatchedMemory } from "../system/measure.js";
import { memoryPlot } from "./memory-plot.js";
import type { Part, PartContext } from "./part.js";

/** How a daemon carries many small repositories. */
export const manyPart: Part = {
  name: "many",
  title: "Many small repositories",
  estimateSeconds: ({ isQuick }) => (isQuick ? 25 : 350),
  measure,
};

interface Measured extends WatchedMemory {
  readonly repositoryCount: number;
  readonly textBytes: number;
  readonly seconds: number;
  readonly failedCount: number;
  /** How many repositories were done after how many seconds. */
  readonly done: readonly PlotPoint[];
  /** From the start of the process with everything indexed until a search has found something. */
  readonly firstAnswerMs: number;
  /** Anonymous memory beyond an empty daemon's, after the index run and after the restart. */
  readonly bytesEach: { readonly afterIndex: number; readonly afterRestart: number };
}

/** So many repositories are never all at rest: some are always looked at. */
const restMs = 8_000;

/** Far more than what is asked; a daemon that is slower still is not waited for. */
const indexLimitMs = 3_600_000;

async function measure(context: PartContext): Promise<PartRecord> {
  const startedMs = monotonicMs();
  const corpus = await openCorpus(context.isQuick ? "many-quick" : "many", context);
  const measured = await measureMany(corpus, context);
  return {
    part: manyPart.name,
    title: manyPart.title,
    seconds: (monotonicMs() - startedMs) / 1000,
    notes: [
      `${grouped(measured.repositoryCount)} bare repositories on the same disk, ${short(measured.textBytes / 1e6)} MB of text in all, named in the configuration of a daemon without data.`,
      ...(measured.failedCount === 0 ? [] : [`${measured.failedCount} repositories failed.`]),
      ...(corpus.note === "" ? [] : [corpus.note]),
    ],
    samples: samplesOf(measured),
    tables: [
      {
        title: "Measured",
        head: ["task", "subject", "unit", "value"],
        rows: samplesOf(measured).map(({ task, subject, unit, values }) => [
          task,
          subject,
          unit,
          short(values[0] ?? NaN),
        ]),
      },
    ],
    plots: [
      donePlot(measured),
      memoryPlot(
        "many-memory",
        "Memory of the daemon while it fetches and indexes many repositories",
        measured.history,
      ),
    ],
    claims: claimsOf(measured, context.isQuick),
  };
}

async function measureMany(corpus: Corpus, { isQuick, workFolder, progress }: PartContext): Promise<Measured> {
  const repositoryCount = corpus.repositories.length;
  const dataFolder = join(workFolder, "many-data");
  const emptyBytes = await emptyDaemonBytes(join(workFolder, "many-empty"));
  const startedMs = monotonicMs();
  const first = await Trawl.start(dataFolder, ["--config", corpus.config]);
  const memory = watchMemory(first.pid);
  const { done, failedCount } = await waitUntilReady(first, repositoryCount, startedMs, progress);
  const seconds = (monotonicMs() - startedMs) / 1000;
  const watched = memory();
  const each = async (trawl: Trawl): Promise<number> => {
    progress("the daemon with nothing to search");
    await sleep(isQuick ? 3_000 : restMs);
    return (memoryOf(trawl.pid).anonymousBytes - emptyBytes) / repositoryCount;
  };
  const afterIndex = await each(first);
  await first.stop();
  const again = await Trawl.start(dataFolder, ["--config", corpus.config]);
  const answerMs = await again.firstMatchMs(
    new URLSearchParams({ q: `${markerOf(repositoryCount - 1)} type:file`, t: "literal" }),
  );
  if (answerMs === undefined)
    throw new TrawlError("internal", "the restarted daemon does not find what it had indexed");
  const afterRestart = await each(again);
  await again.stop();
  rmSync(dataFolder, { recursive: true });
  return {
    ...watched,
    repositoryCount,
    textBytes: corpus.textBytes,
    seconds,
    failedCount,
    done,
    firstAnswerMs: again.startMs + answerMs,
    bytesEach: { afterIndex, afterRestart },
  };
}

async function emptyDaemonBytes(dataFolder: string): Promise<number> {
  const trawl = await Trawl.start(dataFolder, []);
  await sleep(3_000);
  const { anonymousBytes } = memoryOf(trawl.pid);
  await trawl.stop();
  return anonymousBytes;
}

async function waitUntilReady(
  trawl: Trawl,
  repositoryCount: number,
  startedMs: number,
  progress: (text: string) => void,
): Promise<Pick<Measured, "done" | "failedCount">> {
  const done: PlotPoint[] = [];
  for (;;) {
    const { ready, repositories } = await trawl.readiness();
    const pending = repositories.filter(({ state }) => state === "pending").length;
    const seconds = (monotonicMs() - startedMs) / 1000;
    done.push({ x: seconds, y: repositoryCount - pending });
    progress(`${repositoryCount - pending} of ${repositoryCount} repositories are indexed`);
    if (ready) return { done, failedCount: repositories.filter(({ state }) => state === "failed").length };
    if (seconds * 1000 > indexLimitMs)
      throw new TrawlError("cancelled", "the repositories were not indexed within an hour");
    // The answer names every repository, so asking often would cost the daemon what is measured.
    await sleep(seconds < 30 ? 1_000 : 5_000);
  }
}

function samplesOf({ seconds, repositoryCount, peak, firstAnswerMs, bytesEach }: Measured): Sample[] {
  const task = `${grouped(repositoryCount)} repositories`;
  const sample = (subject: string, unit: string, value: number): Sample => ({
    task,
    subject,
    unit,
    better: "less",
    values: [value],
  });
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
function claimsOf({ seconds, repositoryCount, firstAnswerMs, bytesEach }: Measured, isQuick: boolean): Claim[] {
  const limits = (must: number, aim: number) => (isQuick ? { must: undefined, aim: undefined } : { must, aim });
  const what = `${grouped(repositoryCount)} repositories`;
  const both = `${short(bytesEach.afterIndex / 1000)} after indexing, ${short(bytesEach.afterRestart / 1000)} after a restart`;
  return [
    atMost(`${what}: index`, "min", seconds / 60, limits(15, 5), `${short(repositoryCount / seconds)} a second`),
    atMost(`${what}: first answer after a start`, "s", firstAnswerMs / 1000, limits(2, 1), ""),
    atMost(
      `${what}: memory of each`,
      "KB",
      Math.max(bytesEach.afterIndex, bytesEach.afterRestart) / 1000,
      limits(60, 31),
      both,
    ),
  ];
}

function donePlot({ done }: Measured): Plot {
  return {
    name: "many-index",
    title: "Repositories indexed since the start of a daemon without data",
    x: { label: "time, s", scale: "linear", categories: [] },
    y: { label: "repositories indexed", scale: "linear", categories: [] },
    series: [{ name: "repositories", kind: "line", points: done }],
  };
}
