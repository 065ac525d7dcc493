import { rmSync } from "node:fs";
import { join } from "node:path";
import { monotonicMs } from "../../src/base/deadline.js";
import { openMainCorpus, type Corpus } from "../corpus/corpus.js";
import { exhaustive } from "../load/adapters/stream.js";
import { measureOverhead, type Overhead } from "../load/overhead.js";
import { queries, quickQueries } from "../peers/queries.js";
import { Trawl } from "../peers/trawl.js";
import type { PartRecord } from "../report/record.js";
import { watchMemory, type WatchedMemory } from "../system/measure.js";
import { run } from "../system/processes.js";
import { interactiveQueries, trawlRequests } from "./clients.js";
import {
  connectionsPossible,
  idleOptions,
  measureExhaustive,
  measureIdle,
  measureInteractive,
  measureLeaving,
  type Asked,
  type ClientStage,
  type ExhaustiveStage,
  type IdleStage,
  type LeavingStage,
} from "./load-stages.js";
import type { Part, PartContext } from "./part.js";
import { describeScaleLoad } from "./scale-load-record.js";

/** Many clients at a time: how latency, memory and fairness go with their number. */
export const scaleLoadPart: Part = {
  name: "load-scale",
  title: "Many clients at a time",
  estimateSeconds: ({ isQuick }) => (isQuick ? 35 : 125),
  measure,
};

export interface ScaleMeasured {
  readonly corpus: Corpus;
  readonly overhead: Overhead;
  readonly interactive: readonly ClientStage[];
  readonly exhaustive: readonly ExhaustiveStage[];
  readonly leaving: LeavingStage;
  readonly idle: IdleStage;
  readonly memory: WatchedMemory;
}

async function measure(context: PartContext): Promise<PartRecord> {
  const startedMs = monotonicMs();
  const { workFolder, progress, isQuick } = context;
  progress("what the generator itself costs");
  const overhead = await measureOverhead(isQuick ? 0.5 : 2);
  const corpus = await openMainCorpus(context);
  const clone = join(workFolder, "load-corpus.git");
  await run("git", ["clone", "-q", "--bare", corpus.path, clone], "");
  const dataFolder = join(workFolder, "load-data");
  const trawl = await Trawl.start(dataFolder, idleOptions);
  await trawl.add("corpus", clone, progress);
  const measured = { corpus, overhead, ...(await measureAll(trawl, context)) };
  await trawl.stop();
  for (const folder of [dataFolder, clone]) rmSync(folder, { recursive: true });
  return {
    part: scaleLoadPart.name,
    title: scaleLoadPart.title,
    seconds: (monotonicMs() - startedMs) / 1000,
    ...describeScaleLoad(measured, isQuick),
  };
}

/** One daemon bears all stages in turn, after one that only warms it. */
async function measureAll(
  trawl: Trawl,
  { isQuick, progress }: PartContext,
): Promise<Omit<ScaleMeasured, "corpus" | "overhead">> {
  const asked = askedOf(isQuick);
  const seconds = isQuick ? 1.5 : 6;
  progress("warming");
  await measureInteractive(trawl, asked, 8, isQuick ? 1.5 : 5);
  const memory = watchMemory(trawl.pid);
  const interactive: ClientStage[] = [];
  for (const clients of [1, 8, 32, 128, 1000]) {
    progress(`${clients} interactive clients`);
    interactive.push(await measureInteractive(trawl, asked, clients, seconds));
  }
  const exhaustiveStages: ExhaustiveStage[] = [];
  for (const clients of [1, 4, 16]) {
    progress(`${clients} exhaustive clients`);
    exhaustiveStages.push(await measureExhaustive(trawl, asked, clients));
  }
  progress("clients that leave");
  const leaving = await measureLeaving(trawl, asked, seconds);
  const wanted = Math.min(isQuick ? 1000 : 10_000, connectionsPossible());
  progress(`${wanted} idle streams`);
  const idle = await measureIdle(trawl, asked, wanted, isQuick ? 1.5 : 5);
  return { interactive, exhaustive: exhaustiveStages, leaving, idle, memory: memory() };
}

function askedOf(isQuick: boolean): Asked {
  const ask = (query: string) =>
    ({
      kind: "stream",
      query: `type:file case:yes ${query}`,
      patternType: "literal",
      version: "",
      display: undefined,
    }) as const;
  return {
    interactive: trawlRequests(interactiveQueries(isQuick ? quickQueries : queries)),
    exhaustive: exhaustive(ask("return")),
    rare: ask("qqzzxxjjvvww"),
  };
}
