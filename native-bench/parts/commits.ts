import { join } from "node:path";
import { monotonicMs } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import type { Corpus } from "../corpus/corpus.js";
import { spreadOf, type Spread } from "../system/measure.js";
import { run } from "../system/processes.js";
import { commit, makeRepository, readSource, smallFiles } from "../corpus/repositories.js";
import type { Trawl } from "../peers/trawl.js";

/** Milliseconds from the sync call until a search finds what a commit of one file has brought. */
export interface CommitTimes {
  readonly corpus: Spread;
  /** In a repository of `smallFileCount` files. */
  readonly small: Spread;
}

export const smallFileCount = 1000;

const commitCount = 20;
const fileBytesMax = 64 * 1024;

/** `clone` is the bare repository that the daemon knows as `corpus`. */
export async function measureCommits(trawl: Trawl, corpus: Corpus, workFolder: string, clone: string): Promise<CommitTimes> {
  console.log("Commits of one file");
  const directory = join(workFolder, "small.git");
  const paths = await smallFiles(corpus, fileBytesMax);
  const step = Math.max(1, Math.floor(paths.length / smallFileCount));
  const chosen = paths.filter((_, i) => i % step === 0).slice(0, smallFileCount);
  await makeRepository(directory, chosen.map((path) => readSource(corpus, path)));
  await trawl.add("small", directory, () => {});
  return { corpus: await timeCommits(trawl, "corpus", clone), small: await timeCommits(trawl, "small", directory) };
}

async function timeCommits(trawl: Trawl, name: string, directory: string): Promise<Spread> {
  const branch = (await run("git", ["--git-dir", directory, "symbolic-ref", "--short", "HEAD"], "")).trim();
  const times: number[] = [];
  for (let i = 0; i < commitCount; i++) {
    const marker = `trawlbench${name}${i}x`;
    await commit(directory, branch, [{ path: "trawl-bench.txt", text: Buffer.from(`${marker}\n`) }], `refs/heads/${branch}^0`);
    const startedMs = monotonicMs();
    await trawl.sync(name);
    const found = await trawl.firstMatchMs(new URLSearchParams({ q: `${marker} type:file`, t: "literal" }));
    if (found === undefined) throw new TrawlError("internal", `${name}: a synced commit is not found`);
    times.push(monotonicMs() - startedMs);
  }
  return spreadOf(times);
}
