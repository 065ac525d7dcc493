import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import type { Corpus } from "../corpus/corpus.js";
import { memoryOf, waitForRest, watchMemory, type PeakMemory } from "../system/measure.js";
import { makeRepository, readSource, smallFiles } from "../corpus/repositories.js";
import { Trawl } from "../peers/trawl.js";

export interface ManyResult {
  readonly repositoryCount: number;
  readonly indexSeconds: number;
  readonly failedCount: number;
  readonly peak: PeakMemory;
  /** From the start of the process with everything indexed until a search has found something. */
  readonly firstAnswerMs: number;
  /** Anonymous memory beyond an empty daemon's, after the index run and after the restart. */
  readonly bytesEachAfterIndex: number;
  readonly bytesEachAfterRestart: number;
}

const fileCount = 20;
const fileBytesMax = 16 * 1024;
const seed = 1;

/** An hour is far more than the target; a daemon that is slower still is not waited for. */
const indexLimitMs = 3_600_000;

/** How a daemon carries many small repositories, generated from the corpus' files. */
export async function measureMany(corpus: Corpus, workFolder: string, repositoryCount: number): Promise<ManyResult> {
  const config = await generate(corpus, repositoryCount);
  const dataFolder = join(workFolder, "many");
  const emptyBytes = await emptyDaemonBytes(join(workFolder, "empty"));
  const startedMs = monotonicMs();
  const first = await Trawl.start(dataFolder, ["--config", config]);
  const peakMemory = watchMemory(first.pid);
  const failedCount = await waitUntilReady(first, repositoryCount, startedMs);
  const indexSeconds = (monotonicMs() - startedMs) / 1000;
  const peak = peakMemory();
  const each = async (trawl: Trawl): Promise<number> => {
    await sleep(10_000);
    await waitForRest(trawl.pid, 300_000);
    return (memoryOf(trawl.pid).anonymousBytes - emptyBytes) / repositoryCount;
  };
  const bytesEachAfterIndex = await each(first);
  await first.stop();
  const again = await Trawl.start(dataFolder, ["--config", config]);
  const answerMs = await again.firstMatchMs(new URLSearchParams({ q: `${markerOf(repositoryCount - 1)} type:file`, t: "literal" }));
  if (answerMs === undefined) throw new TrawlError("internal", "the restarted daemon does not find what it had indexed");
  const bytesEachAfterRestart = await each(again);
  await again.stop();
  rmSync(dataFolder, { recursive: true, force: true });
  return { repositoryCount, indexSeconds, failedCount, peak, firstAnswerMs: again.startMs + answerMs, bytesEachAfterIndex, bytesEachAfterRestart };
}

async function emptyDaemonBytes(dataFolder: string): Promise<number> {
  const trawl = await Trawl.start(dataFolder, []);
  await sleep(3_000);
  const { anonymousBytes } = memoryOf(trawl.pid);
  await trawl.stop();
  return anonymousBytes;
}

async function waitUntilReady(trawl: Trawl, repositoryCount: number, startedMs: number): Promise<number> {
  for (;;) {
    const { ready, repositories } = await trawl.readiness();
    const pending = repositories.filter(({ state }) => state === "pending").length;
    const seconds = Math.round((monotonicMs() - startedMs) / 1000);
    console.log(`  ${repositoryCount - pending} of ${repositoryCount} repositories after ${seconds} s`);
    if (ready) return repositories.filter(({ state }) => state === "failed").length;
    if (monotonicMs() - startedMs > indexLimitMs) throw new TrawlError("cancelled", "the many repositories were not indexed within an hour");
    await sleep(seconds < 30 ? 1_000 : 5_000);
  }
}

/** Makes the repositories in the cache folder, two at a time; returns the path of a configuration that names them. */
async function generate(corpus: Corpus, repositoryCount: number): Promise<string> {
  const folder = join(corpus.cacheFolder, `many-${repositoryCount}x${fileCount}-${seed}`);
  const config = join(folder, "trawl.jsonc");
  if (existsSync(config)) return config;
  const unfinished = `${folder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  const paths = await smallFiles(corpus, fileBytesMax);
  const random = generator(seed);
  let made = 0;
  const makeSome = async (): Promise<void> => {
    while (made < repositoryCount) {
      const i = made++;
      if (i % 1000 === 0) console.log(`  generating: ${i} of ${repositoryCount} repositories`);
      const chosen = new Set<string>();
      while (chosen.size < fileCount) chosen.add(paths[Math.floor(random() * paths.length)] ?? "");
      const directory = join(unfinished, directoryOf(i));
      mkdirSync(directory, { recursive: true });
      await makeRepository(directory, [...chosen].map((path) => marked(readSource(corpus, path), i)));
    }
  };
  await Promise.all([makeSome(), makeSome()]);
  const repositories = Array.from({ length: repositoryCount }, (_, i) => ({ name: `many/${i}`, url: join(folder, directoryOf(i)) }));
  writeFileSync(join(unfinished, "trawl.jsonc"), JSON.stringify({ repositories }));
  renameSync(unfinished, folder);
  return config;
}

function directoryOf(i: number): string {
  return join(String(Math.floor(i / 100)), `${i}.git`);
}

/** A last line of its own for each repository, so that no two of them share content. */
function marked(file: { path: string; text: Buffer }, i: number): { path: string; text: Buffer } {
  return { path: file.path, text: Buffer.concat([file.text, Buffer.from(`${markerOf(i)}\n`)]) };
}

function markerOf(i: number): string {
  return `trawlbenchmany${i}x`;
}

/** Random numbers from 0 to 1, the same for the same seed (mulberry32). */
function generator(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
