import { rmSync } from "node:fs";
import { join } from "node:path";
import { openMainCorpus } from "../corpus/corpus.js";
import { cloneBare } from "../corpus/repositories.js";
import { exhaustive, type StreamRequest } from "../load/request.js";
import { measureOverhead } from "../load/overhead.js";
import { queries, quickQueries } from "../peers/queries.js";
import { Trawl } from "../peers/trawl.js";
import type { Findings } from "../report/run-report.js";
import { watchMemory } from "../system/measure.js";
import { interactiveQueries, trawlRequests } from "./clients.js";
import { reportLoadScale, type LoadScaleMeasured } from "./load-scale-report.js";
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
} from "./load-stages.js";
import type { Suite, SuiteContext } from "./suite.js";

/** Many clients at a time: how latency, memory and fairness depend on their number. */
export const loadScaleSuite: Suite = {
  name: "load-scale",
  title: "Many clients at a time",
  estimateSeconds: { quick: 35, full: 125 },
  measure,
};

async function measure(context: SuiteContext): Promise<Findings> {
  const { workFolder, progress, isQuick } = context;
  progress("the cost of the generator itself");
  const overhead = await measureOverhead(isQuick ? 0.5 : 2);
  const corpus = await openMainCorpus(context);
  const clone = await cloneBare(corpus, join(workFolder, "load-corpus.git"));
  const dataFolder = join(workFolder, "load-data");
  const trawl = await Trawl.start(dataFolder, idleOptions);
  await trawl.add("corpus", clone, progress);
  const stages = await measureStages(trawl, context);
  await trawl.stop();
  for (const folder of [dataFolder, clone]) rmSync(folder, { recursive: true });
  return reportLoadScale({ corpus, overhead, ...stages });
}

/** One daemon runs all stages in turn, after one that only warms it up. */
async function measureStages(
  trawl: Trawl,
  { isQuick, progress }: SuiteContext,
): Promise<Omit<LoadScaleMeasured, "corpus" | "overhead">> {
  const asked = requests(isQuick);
  const seconds = isQuick ? 1.5 : 6;
  progress("warming up");
  await measureInteractive(trawl, asked, 8, isQuick ? 1.5 : 5);
  const memory = watchMemory(trawl.pid);
  const interactive: ClientStage[] = [];
  for (const clients of [1, 8, 32, 128, 1000]) {
    progress(`${clients} interactive clients`);
    interactive.push(await measureInteractive(trawl, asked, clients, seconds));
  }
  const exhaustive: ExhaustiveStage[] = [];
  for (const clients of [1, 4, 16]) {
    progress(`${clients} exhaustive clients`);
    exhaustive.push(await measureExhaustive(trawl, asked, clients));
  }
  progress("clients that leave");
  const leaving = await measureLeaving(trawl, asked, seconds);
  const wanted = Math.min(isQuick ? 1000 : 10_000, connectionsPossible());
  progress(`${wanted} idle streams`);
  const idle = await measureIdle(trawl, asked, wanted, isQuick ? 1.5 : 5);
  return { interactive, exhaustive, leaving, idle, memory: memory() };
}

function requests(isQuick: boolean): Asked {
  const ask = (word: string): StreamRequest => {
    return {
      kind: "stream",
      query: `type:file case:yes ${word}`,
      patternType: "literal",
      version: "",
      display: undefined,
    };
  };
  return {
    interactive: trawlRequests(interactiveQueries(isQuick ? quickQueries : queries)),
    exhaustive: exhaustive(ask("return")),
    rare: ask("qqzzxxjjvvww"),
  };
}
