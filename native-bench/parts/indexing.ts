import { rmSync } from "node:fs";
import { join } from "node:path";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import type { RepositoryStatus } from "../../src/model/repository-status.js";
import type { Corpus } from "../corpus/corpus.js";
import { diskBytes, memoryOf, waitForRest, watchMemory, type PeakMemory } from "../system/measure.js";
import { short } from "../report/table.js";
import { Trawl } from "../peers/trawl.js";

export interface IndexRun {
  readonly status: RepositoryStatus;
  readonly fetchSeconds: number;
  readonly indexSeconds: number;
  readonly peak: PeakMemory;
  /** What shards and catalog take on the disk once the daemon has come to rest. */
  readonly dataBytes: number;
}

/** Adds the repository at `url` as `corpus` and waits until it is searchable and the daemon at rest. */
export async function measureIndex(trawl: Trawl, corpus: Corpus, url: string, dataFolder: string): Promise<IndexRun> {
  console.log("Indexing");
  const startedMs = monotonicMs();
  let fetchedMs: number | undefined;
  const peakMemory = watchMemory(trawl.pid);
  const status = await trawl.add("corpus", url, (text) => {
    if (!/: fetching/.test(text)) fetchedMs ??= monotonicMs();
    if (process.stdout.isTTY) process.stdout.write(`\r  ${text}   `);
  });
  const seconds = (monotonicMs() - startedMs) / 1000;
  const peak = peakMemory();
  const fetchSeconds = ((fetchedMs ?? startedMs) - startedMs) / 1000;
  console.log(`\r  searchable after ${short(seconds)} s (${short(corpus.textBytes / 1e6 / seconds)} MB/s)`);
  await waitForRest(trawl.pid, 120_000);
  const dataBytes = diskBytes(join(dataFolder, "shards")) + diskBytes(join(dataFolder, "catalog"));
  return { status, fetchSeconds, indexSeconds: seconds - fetchSeconds, peak, dataBytes };
}

/** Anonymous memory after ten idle seconds. */
export interface RestMemory {
  readonly afterLoadBytes: number;
  readonly afterRestartBytes: number;
}

/** Stops the daemon and deletes its data. */
export async function measureRest(trawl: Trawl, dataFolder: string): Promise<RestMemory> {
  console.log("Daemon at rest");
  const afterLoadBytes = await restBytes(trawl);
  const again = await Trawl.start(dataFolder, []);
  const afterRestartBytes = await restBytes(again);
  rmSync(dataFolder, { recursive: true, force: true });
  return { afterLoadBytes, afterRestartBytes };
}

async function restBytes(trawl: Trawl): Promise<number> {
  await sleep(10_000);
  const { anonymousBytes } = memoryOf(trawl.pid);
  await trawl.stop();
  return anonymousBytes;
}
