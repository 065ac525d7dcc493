import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import { openCorpus } from "../corpus/corpus.js";
import { repositoryMarker } from "../corpus/many.js";
import type { Trawl } from "../peers/trawl.js";
import { grouped, short } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import { readMemory, watchMemory } from "../system/measure.js";
import { startDaemon, type Suite, type SuiteContext } from "./suite.js";

/** A daemon with many small repositories. */
export const manySuite: Suite = { name: "many", title: "Many small repositories", measure };

/** With this many repositories some are always being checked, so the daemon never idles; it is given this long. */
const idleMs = 8_000;

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const { isQuick, progress } = context;
  const corpus = await openCorpus(isQuick ? "many-quick" : "many", context);
  const count = corpus.repositories.length;
  const empty = await startDaemon(context, "many-empty");
  await sleep(3_000);
  const emptyBytes = readMemory(empty.pid).anonymousBytes;
  await empty.stop();
  const kilobytesEach = async (trawl: Trawl): Promise<number> => {
    progress("the daemon without searches");
    await sleep(isQuick ? 3_000 : idleMs);
    return (readMemory(trawl.pid).anonymousBytes - emptyBytes) / count / 1000;
  };
  const startedMs = monotonicMs();
  const first = await startDaemon(context, "many-data", "--config", corpus.config);
  const memory = watchMemory(first.pid);
  const failedCount = await first.waitForRepositories(count, progress);
  const seconds = (monotonicMs() - startedMs) / 1000;
  const peak = memory();
  const indexed = await kilobytesEach(first);
  await first.stop();
  const again = await startDaemon(context, "many-data", "--config", corpus.config);
  const answerMs = await again.firstMatchMs({ q: `${repositoryMarker(count - 1)} type:file`, t: "literal" });
  if (answerMs === undefined)
    throw new TrawlError("internal", "the restarted daemon does not find what it had indexed");
  const restarted = await kilobytesEach(again);
  await again.stop();
  const what = `${grouped(count)} repositories`;
  results.note(
    `${grouped(count)} bare repositories on the same disk, ${short(corpus.textBytes / 1e6)} MB of text in all, named in the configuration of a daemon without data.`,
    failedCount === 0 ? "" : `${failedCount} repositories failed.`,
    corpus.note,
  );
  results.less(what, "index", "s", seconds);
  results.less(what, "peak anonymous memory", "MB", peak.anonymousBytes / 1e6);
  results.less(what, "peak memory of git's processes", "MB", peak.childrenBytes / 1e6);
  results.less(what, "first answer after a start", "ms", again.startMs + answerMs);
  results.less(what, "memory of each after indexing", "KB", indexed);
  results.less(what, "memory of each after a restart", "KB", restarted);
  const both = `${short(indexed)} after indexing, ${short(restarted)} after a restart`;
  const firstAnswer = { of: [what, "first answer after a start"], unit: "s", scale: 1 / 1000 } as const;
  results.targets(
    { what: `${what}: index`, of: [what, "index"], unit: "min", scale: 1 / 60, atMost: [15, 5] },
    { what: `${what}: first answer after a start`, ...firstAnswer, atMost: [1, 0.6] },
    { what: `${what}: memory of each`, unit: "KB", value: Math.max(indexed, restarted), atMost: [60, 31], note: both },
  );
}
