import { rmSync } from "node:fs";
import { join } from "node:path";
import { monotonicMs } from "../../src/base/deadline.js";
import { openMainCorpus } from "../corpus/corpus.js";
import { readSource, smallFiles } from "../corpus/repositories.js";
import { measureBench, type BenchGroup, type BenchResult } from "../micro/bench.js";
import { buildingGroup } from "../micro/building.js";
import { encodeGroup } from "../micro/encode.js";
import { Fixture } from "../micro/fixture.js";
import { postingsGroup } from "../micro/postings.js";
import { regexpGroup } from "../micro/regexps.js";
import { scanGroup } from "../micro/scan.js";
import { durableGroup, storeGroup } from "../micro/store.js";
import { sampleText, type MicroText } from "../micro/text.js";
import { threadGroups } from "../micro/threads.js";
import { short } from "../report/numbers.js";
import type { PartRecord } from "../report/record.js";
import { describeMicro, type MeasuredGroup } from "./micro-record.js";
import type { Part, PartContext } from "./part.js";

/** The hot loops, the store and threads, each by itself, beside what the machine can do. */
export const microPart: Part = {
  name: "micro",
  title: "Native parts beside what the machine can do",
  estimateSeconds: ({ isQuick }) => (isQuick ? 20 : 105),
  measure,
};

/** In a whole run so much that it is read from memory and not from a cache. */
const textBytesMax = { quick: 8 * 1024 * 1024, full: 64 * 1024 * 1024 };

/** A subject works for so long in each round, or once. */
const roundMs = { quick: 5, full: 20 };

/** Larger files would make the sample one of few. */
const fileBytesMax = 1024 * 1024;

/** What a run of the groups is given. */
export interface MicroSettings {
  readonly workFolder: string;
  readonly rounds: number;
  readonly roundMs: number;
  readonly progress: (text: string) => void;
}

async function measure(context: PartContext): Promise<PartRecord> {
  const { isQuick, rounds, progress } = context;
  const size = isQuick ? "quick" : "full";
  const corpus = await openMainCorpus(context);
  progress("reading a sample");
  const text = sampleText(
    await smallFiles(corpus, fileBytesMax),
    (path) => readSource(corpus, path).text,
    textBytesMax[size],
  );
  const workFolder = join(context.workFolder, "micro");
  const record = await measureMicro(text, {
    workFolder,
    rounds,
    roundMs: roundMs[size],
    progress,
  });
  rmSync(workFolder, { recursive: true });
  const sample = `The text is ${short(text.bytes / 1e6)} MB in ${text.documents.length} files, spread over the corpus ${corpus.name}.${isQuick ? " So little stays in the processor's cache, and limits are those of the cache." : ""}`;
  return { ...record, notes: [sample, ...record.notes] };
}

/** Measures every group on the text, one after the other. */
export async function measureMicro(text: MicroText, settings: MicroSettings): Promise<PartRecord> {
  const startedMs = monotonicMs();
  const fixture = await Fixture.open(text, settings.workFolder);
  const measured: MeasuredGroup[] = [];
  for (const open of [
    scanGroup,
    postingsGroup,
    encodeGroup,
    regexpGroup,
    buildingGroup,
    storeGroup,
    durableGroup,
    threadGroups,
  ]) {
    for (const group of [await open(fixture)].flat())
      measured.push({ title: group.title, results: await measureGroup(group, settings) });
  }
  await fixture.close();
  const description = describeMicro(measured);
  return {
    part: microPart.name,
    title: microPart.title,
    seconds: (monotonicMs() - startedMs) / 1000,
    ...description,
    notes: [...fixture.notes, ...description.notes],
  };
}

async function measureGroup(
  group: BenchGroup,
  { rounds, roundMs: atLeastMs, progress }: MicroSettings,
): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const bench of group.benches) {
    progress(`${group.title}: ${bench.task}`);
    results.push(await measureBench(bench, rounds, atLeastMs));
  }
  await group.close();
  return results;
}
