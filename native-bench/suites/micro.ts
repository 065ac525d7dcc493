import { rmSync } from "node:fs";
import { join } from "node:path";
import { openMainCorpus } from "../corpus/corpus.js";
import { readSource, smallFiles } from "../corpus/repositories.js";
import { measureBench, toSamples, benchTable, type BenchGroup, type BenchResult } from "../micro/bench.js";
import { buildingGroup } from "../micro/building.js";
import { encodeGroup } from "../micro/encode.js";
import { Fixture } from "../micro/fixture.js";
import { postingsGroup } from "../micro/postings.js";
import { regexpGroup } from "../micro/regexps.js";
import { scanGroup } from "../micro/scan.js";
import { sharePlot } from "../micro/share-plot.js";
import { durableGroup, storeGroup } from "../micro/store.js";
import { sampleText, type MicroText } from "../micro/text.js";
import { threadGroups } from "../micro/threads.js";
import { short } from "../report/numbers.js";
import type { Findings } from "../report/run-report.js";
import type { Suite, SuiteContext } from "./suite.js";

/** The hot loops, the store and threads, each by itself, beside the machine's limits. */
export const microSuite: Suite = {
  name: "micro",
  title: "Native parts beside what the machine can do",
  estimateSeconds: { quick: 20, full: 70 },
  measure,
};

/** In a full run enough that it is read from memory and not from a cache. */
const textBytesMax = { quick: 8 * 1024 * 1024, full: 64 * 1024 * 1024 };

/** A subject works for at least this long in each round. */
const roundMs = { quick: 5, full: 20 };

/** With larger files the sample would have few of them. */
const fileBytesMax = 1024 * 1024;

const groups = [
  scanGroup,
  postingsGroup,
  encodeGroup,
  regexpGroup,
  buildingGroup,
  storeGroup,
  durableGroup,
  threadGroups,
];

const notes = [
  "Each figure is the median, with the least and the most of the rounds behind it; a ratio is that of two medians. Before any time counts, what the subjects of a row find or write is compared.",
  "Limits are measured in the same rounds on the same bytes, by a small C program with one thread: `memory` adds up all words of the text; `copying` copies it into one buffer of 128 KiB; `plain sums` adds up bytes and writes the sums as words; `C library` is memmem, or memchr for newlines. `file` writes as many bytes and waits for the disk; `messages` are those of a worker thread without a pool; `one call each` calls a function of the kernel that has nothing to do.",
  "`ts` is the kernel in plain TypeScript. The text is in LMDB's map, as it is for a search.",
];

export interface MicroSettings {
  readonly workFolder: string;
  readonly rounds: number;
  readonly roundMs: number;
  readonly progress: (text: string) => void;
}

async function measure(context: SuiteContext): Promise<Findings> {
  const { isQuick, rounds, progress } = context;
  const size = isQuick ? "quick" : "full";
  const corpus = await openMainCorpus(context);
  progress("reading a sample");
  const paths = await smallFiles(corpus, fileBytesMax);
  const text = sampleText(paths, (path) => readSource(corpus, path).text, textBytesMax[size]);
  const workFolder = join(context.workFolder, "micro");
  const findings = await measureMicro(text, { workFolder, rounds, roundMs: roundMs[size], progress });
  rmSync(workFolder, { recursive: true });
  const cached = isQuick ? " This little fits in the processor's cache, so the limits are those of the cache." : "";
  const sample = `The text is ${short(text.bytes / 1e6)} MB in ${text.documents.length} files, spread over the corpus ${corpus.name}.${cached}`;
  return { ...findings, notes: [sample, ...findings.notes] };
}

/** Measures every group on the text, one after the other. */
export async function measureMicro(text: MicroText, settings: MicroSettings): Promise<Findings> {
  const fixture = await Fixture.open(text, settings.workFolder);
  const measured: { readonly title: string; readonly results: readonly BenchResult[] }[] = [];
  for (const open of groups) {
    for (const group of [await open(fixture)].flat())
      measured.push({ title: group.title, results: await measureGroup(group, settings) });
  }
  await fixture.close();
  const disagreements = measured.flatMap(({ title, results }) =>
    results.flatMap(({ bench, disagreement }) => {
      const text = `${title}, ${bench.task}: the results differ (${disagreement}), so there is no ratio.`;
      return disagreement === undefined ? [] : [text];
    }),
  );
  return {
    notes: [...fixture.notes, ...notes, ...disagreements],
    samples: measured.flatMap(({ title, results }) => toSamples(title, results)),
    tables: measured.map(({ title, results }) => benchTable(title, results)),
    plots: [sharePlot(measured.flatMap(({ results }) => results))],
    targets: [],
  };
}

async function measureGroup(group: BenchGroup, { rounds, roundMs, progress }: MicroSettings): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const bench of group.benches) {
    progress(`${group.title}: ${bench.task}`);
    results.push(await measureBench(bench, rounds, roundMs));
  }
  await group.close();
  return results;
}
