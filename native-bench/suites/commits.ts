import { monotonicMs } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import type { Corpus } from "../corpus/corpus.js";
import { commit, makeRepository, readSource, smallFiles } from "../corpus/repositories.js";
import type { Trawl } from "../peers/trawl.js";
import { run } from "../system/processes.js";

const fileBytesMax = 64 * 1024;

/** Makes a bare repository of about `fileCount` files, taken evenly from the corpus. */
export async function makeSmallRepository(corpus: Corpus, directory: string, fileCount: number): Promise<void> {
  const paths = await smallFiles(corpus, fileBytesMax);
  const step = Math.max(1, Math.floor(paths.length / fileCount));
  const chosen = paths.filter((_, i) => i % step === 0).slice(0, fileCount);
  await makeRepository(
    directory,
    chosen.map((path) => readSource(corpus, path)),
  );
}

/**
 * Milliseconds from the sync call until a search finds what a commit of one file has brought, for each of `count`
 * commits. `directory` is the bare repository that the daemon knows as `name`.
 */
export async function timeCommits(trawl: Trawl, name: string, directory: string, count: number): Promise<number[]> {
  const branch = (await run("git", ["--git-dir", directory, "symbolic-ref", "--short", "HEAD"], "")).trim();
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const marker = `trawlbench${name}${i}x`;
    await commit(
      directory,
      branch,
      [{ path: "trawl-bench.txt", text: Buffer.from(`${marker}\n`) }],
      `refs/heads/${branch}^0`,
    );
    const startedMs = monotonicMs();
    await trawl.sync(name);
    const found = await trawl.firstMatchMs(new URLSearchParams({ q: `${marker} type:file`, t: "literal" }));
    if (found === undefined) throw new TrawlError("internal", `${name}: a synced commit is not found`);
    times.push(monotonicMs() - startedMs);
  }
  return times;
}
