import { join } from "node:path";
import { openMainCorpus } from "../corpus/corpus.js";
import { readSource, smallFiles } from "../corpus/repositories.js";
import { measureBench } from "../micro/bench.js";
import { Fixture, sampleText, type MicroText } from "../micro/fixture.js";
import { buildingGroup, postingsGroup, scanGroup } from "../micro/kernel-benches.js";
import { short } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import type { Sample } from "../report/run-report.js";
import { taskPlot } from "../report/views.js";
import type { Suite, SuiteContext } from "./suite.js";

/** The kernel's loops, each by itself, beside the machine's limits. */
export const microSuite: Suite = {
  name: "micro",
  title: "Native parts beside what the machine can do",
  estimateSeconds: { quick: 10, full: 40 },
  measure,
};

/** In a full run enough that it is read from memory and not from a cache. */
const textBytesMax = { quick: 8 * 1024 * 1024, full: 64 * 1024 * 1024 };

/** A subject works for at least this long in each round. */
const roundMs = { quick: 5, full: 20 };

/** With larger files the sample would have few of them. */
const fileBytesMax = 1024 * 1024;

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const { isQuick, rounds, progress, workFolder } = context;
  const size = isQuick ? "quick" : "full";
  const corpus = await openMainCorpus(context);
  progress("reading a sample");
  const paths = await smallFiles(corpus, fileBytesMax);
  const text = sampleText(paths, (path) => readSource(corpus, path).text, textBytesMax[size]);
  const cached = isQuick ? " This little fits in the processor's cache, so the limits are those of the cache." : "";
  results.note(
    `The text is ${short(text.bytes / 1e6)} MB in ${text.documents.length} files, spread over the corpus ${corpus.name}.${cached}`,
  );
  await measureMicro(
    text,
    { workFolder: join(workFolder, "micro"), rounds, roundMs: roundMs[size], progress },
    results,
  );
}

export interface MicroSettings {
  readonly workFolder: string;
  readonly rounds: number;
  readonly roundMs: number;
  readonly progress: (text: string) => void;
}

/** Which subjects each series of the plot shows, and the limits of the machine: a task has at most one. */
const series: Readonly<Record<string, string>> = { native: "native", ts: "in TypeScript", "C library": "C library" };
const limitNames = ["memory", "plain sums", "copying"];

/** Measures every group on the text, one after the other. */
export async function measureMicro(text: MicroText, settings: MicroSettings, results: Results): Promise<void> {
  const fixture = await Fixture.open(text, settings.workFolder);
  results.note(
    ...fixture.notes,
    "Each figure is the median, with the least and the most of the rounds behind it; a ratio is that of two medians. Before any time counts, what the subjects of a row find or write is compared.",
    "Limits are measured in the same rounds on the same bytes, by a small C program with one thread: `memory` adds up all words of the text; `copying` copies it into one buffer of 128 KiB; `plain sums` adds up bytes and writes the sums as words; `C library` is memmem, or memchr for newlines. `ts` is the kernel in plain TypeScript.",
  );
  for (const group of [scanGroup(fixture), postingsGroup(fixture), buildingGroup(fixture)]) {
    results.grid(group.title, fixture.kernels[0].name);
    for (const bench of group.benches) {
      settings.progress(`${group.title}: ${bench.task}`);
      await measureBench(group.title, bench, settings, results);
    }
  }
  fixture.close();
  const shares = results.samples.flatMap(({ task, subject, values }): Sample[] => {
    const limit = limitNames.map((name) => results.median(task, name)).find((value) => !Number.isNaN(value));
    const name = series[subject];
    if (limit === undefined || name === undefined || !results.isComparable(task, subject)) return [];
    const percent = values.map((rate) => (100 * rate) / limit);
    return [{ task, subject: name, unit: "%", better: "more", values: percent }];
  });
  const label = (task: string): string => task.replace(/^[^:]*: /, "").replaceAll("`", "");
  const plot = { name: "micro-shares", title: "Share of the machine's limit, one thread", x: "", y: "% of the limit" };
  results.plot(taskPlot(plot, "points", shares, label));
}
