import { join } from "node:path";
import { monotonicMs } from "../../src/base/deadline.js";
import type { Trawl } from "../peers/trawl.js";
import { diskBytes, waitForIdle, watchMemory, type WatchedMemory } from "../system/measure.js";

/** One run from an empty daemon to a searchable repository. */
export interface IndexRun extends WatchedMemory {
  readonly fetchSeconds: number;
  /** From the start of the fetch until a search could find something. */
  readonly seconds: number;
  /** Size of shards and catalog on disk once the daemon is idle. */
  readonly dataBytes: number;
}

/** Adds the repository at `url` as `name` to an empty daemon, and waits until it is searchable and the daemon idle. */
export async function measureIndex(
  trawl: Trawl,
  name: string,
  url: string,
  dataFolder: string,
  progress: (text: string) => void,
): Promise<IndexRun> {
  const startedMs = monotonicMs();
  let fetchedMs: number | undefined;
  const memory = watchMemory(trawl.pid);
  await trawl.add(name, url, (text) => {
    if (!/: fetching/.test(text)) fetchedMs ??= monotonicMs();
    progress(text);
  });
  const seconds = (monotonicMs() - startedMs) / 1000;
  const watched = memory();
  progress("waiting until the daemon is idle");
  await waitForIdle(trawl.pid, 120_000);
  const dataBytes = diskBytes(join(dataFolder, "shards")) + diskBytes(join(dataFolder, "catalog"));
  return { ...watched, fetchSeconds: ((fetchedMs ?? startedMs) - startedMs) / 1000, seconds, dataBytes };
}
