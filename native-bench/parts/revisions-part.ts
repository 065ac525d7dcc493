import { rmSync } from "node:fs";
import { join } from "node:path";
import { monotonicMs } from "../../src/base/deadline.js";
import { openCorpus, type Corpus } from "../corpus/corpus.js";
import { gitGrepAt } from "../peers/git-grep.js";
import { compare } from "../peers/result-set.js";
import { Trawl } from "../peers/trawl.js";
import type { PartRecord } from "../report/record.js";
import { alternate } from "../system/measure.js";
import { run } from "../system/processes.js";
import type { Part, PartContext } from "./part.js";
import { describeRevisions, type RevisionsMeasured } from "./revisions-record.js";

/** Searches in commits that are not indexed: one, many, and one of which no shard has anything. */
export const revisionsPart: Part = {
  name: "revisions",
  title: "Revisions that are not indexed",
  estimateSeconds: ({ isQuick }) => (isQuick ? 50 : 125),
  measure,
};

/** A word that is found all over, and one that is in a few files. */
const words = {
  full: { common: "kmalloc", rare: "amdgpu_vcn_idle_work" },
  quick: { common: "createHash", rare: "createDiffieHellman" },
} as const;

/** What every corpus has most of: how fast results are written where nothing else limits. */
const denseWord = "return";

/** Blobs of the one revision that no shard has. */
const unindexedShareWanted = 0.05;

const revisionCounts = [1, 10, 50, 200];

const settings = ["--set", "search.maxTimeoutSeconds=300"];

async function measure(context: PartContext): Promise<PartRecord> {
  const startedMs = monotonicMs();
  const corpus = await openCorpus(context.isQuick ? "modules-history" : "linux-history", context);
  const dataFolder = join(context.workFolder, "revisions-data");
  const nothing = await makeNothingIndexed(corpus, join(context.workFolder, "revisions-nothing.git"));
  const trawl = await Trawl.start(dataFolder, settings);
  await trawl.add("history", corpus.path, context.progress);
  await trawl.add("nothing", nothing, context.progress);
  await trawl.stop();
  const measured = await measureAll(corpus, dataFolder, context);
  for (const folder of [dataFolder, nothing]) rmSync(folder, { recursive: true });
  return {
    part: revisionsPart.name,
    title: revisionsPart.title,
    seconds: (monotonicMs() - startedMs) / 1000,
    ...describeRevisions(measured, context.isQuick),
  };
}

/** The same history in a repository whose default branch, which is what is indexed, has an empty tree. */
async function makeNothingIndexed(corpus: Corpus, folder: string): Promise<string> {
  const git = async (...args: string[]): Promise<string> => (await run("git", ["-C", folder, ...args], "")).trim();
  await run("git", ["clone", "-q", "--bare", corpus.path, folder], "");
  const head = await git("symbolic-ref", "--short", "HEAD");
  await git("branch", "-m", head, "history");
  const commit = await git(
    "-c",
    "user.name=bench",
    "-c",
    "user.email=bench@localhost",
    "commit-tree",
    "-m",
    "nothing",
    await git("mktree"),
  );
  await git("update-ref", `refs/heads/${head}`, commit);
  await git("symbolic-ref", "HEAD", `refs/heads/${head}`);
  return folder;
}

async function measureAll(corpus: Corpus, dataFolder: string, context: PartContext): Promise<RevisionsMeasured> {
  const { isQuick, rounds, progress } = context;
  const { common, rare } = isQuick ? words.quick : words.full;
  const revisions = (await run("git", ["-C", corpus.path, "rev-list", "HEAD"], ""))
    .trim()
    .split("\n")
    .map((oid) => oid.slice(0, 12));
  const { one, unindexedShare } = await chooseOne(corpus, revisions);
  const grep = gitGrepAt(corpus.path, common, [one]);
  const cold = { one: [] as number[], all: [] as number[], nothing: [] as number[], nothingGrep: [] as number[] };
  const params = (name: string, chosen: readonly string[], word: string) =>
    new URLSearchParams({
      q: `type:file count:all case:yes repo:^${name}$@${chosen.join(":")} content:"${word}"`,
      t: "literal",
    });
  for (let round = 1; round <= Math.ceil(rounds / 2); round++) {
    progress(`just started daemons, round ${round}`);
    cold.one.push(await firstMs(dataFolder, params("history", ["HEAD"], common), params("history", [one], common)));
    cold.all.push(await firstMs(dataFolder, params("history", ["HEAD"], rare), params("history", revisions, rare)));
    cold.nothing.push(await firstMs(dataFolder, params("history", ["HEAD"], common), params("nothing", [one], common)));
    cold.nothingGrep.push(await grep.time());
  }
  const trawl = await Trawl.start(dataFolder, settings);
  const differences = await compareResults(trawl, corpus, revisions, one, common, params);
  progress("one revision");
  const [indexed = [], warm = [], dense = []] = await alternate(
    rounds,
    [
      ["HEAD", common],
      [one, common],
      ["HEAD", denseWord],
    ].map(
      ([revision = "", word = ""]) =>
        () =>
          trawl.curlMs(params("history", [revision], word)),
    ),
  );
  const counts = revisionCounts.map((count) => Math.min(count, revisions.length));
  progress("many revisions");
  const queries = [rare, common].flatMap((word) =>
    counts.map((count) => params("history", spread(revisions, count), word)),
  );
  await alternate(
    1,
    queries.map((query) => () => trawl.curlMs(query)),
  );
  const times = await alternate(
    rounds,
    queries.map((query) => () => trawl.curlMs(query)),
  );
  const denseBytes = (await trawl.resultsAt(params("history", ["HEAD"], denseWord), new Set())).bytes;
  const allBytes = (await trawl.resultsAt(params("history", revisions, common), new Set())).bytes;
  await trawl.stop();
  return {
    corpus,
    common,
    rare,
    one,
    unindexedShare,
    differences,
    indexed,
    warm,
    cold,
    counts,
    rareTimes: times.slice(0, counts.length),
    commonTimes: times.slice(counts.length),
    dense: { word: denseWord, timesMs: dense, bytes: denseBytes },
    allBytes,
  };
}

/** Commits from the first to the last, evenly; one alone is in the middle. */
function spread(revisions: readonly string[], count: number): string[] {
  return Array.from({ length: count }, (_, i) => revisions[Math.floor(((i + 0.5) * revisions.length) / count)] ?? "");
}

/** Milliseconds of a search by a daemon that was just started and has answered another one. */
async function firstMs(dataFolder: string, before: URLSearchParams, params: URLSearchParams): Promise<number> {
  const trawl = await Trawl.start(dataFolder, settings);
  for (let i = 0; i < 3; i++) await trawl.curlMs(before);
  const ms = await trawl.curlMs(params);
  await trawl.stop();
  return ms;
}

/**
 * The commit of whose blobs about the wanted share is not indexed: the share grows with the distance from the last one.
 */
async function chooseOne(
  { path }: Corpus,
  revisions: readonly string[],
): Promise<{ one: string; unindexedShare: number }> {
  const countLines = async (...args: string[]): Promise<number> =>
    (await run("git", ["-C", path, ...args], "")).split("\n").length - 1;
  const shareOf = async (revision: string): Promise<number> =>
    (await countLines("diff-tree", "-r", "--no-renames", "--diff-filter=MA", "--name-only", "HEAD", revision)) /
    (await countLines("ls-tree", "-r", "--name-only", revision));
  let near = 1;
  let far = revisions.length - 1;
  while (near < far) {
    const middle = (near + far) >> 1;
    if ((await shareOf(revisions[middle] ?? "")) < unindexedShareWanted) near = middle + 1;
    else far = middle;
  }
  const one = revisions[near] ?? "";
  return { one, unindexedShare: await shareOf(one) };
}

/**
 * Where our results differ from those of `git grep`: at the one revision, also with nothing indexed, and at three of
 * all of them.
 */
async function compareResults(
  trawl: Trawl,
  corpus: Corpus,
  revisions: readonly string[],
  one: string,
  word: string,
  params: (name: string, chosen: readonly string[], word: string) => URLSearchParams,
): Promise<string[]> {
  const differences: string[] = [];
  const compareAt = async (name: string, asked: readonly string[], compared: readonly string[]): Promise<void> => {
    const ours = await trawl.resultsAt(params(name, asked, word), new Set(compared));
    const theirs = await gitGrepAt(corpus.path, word, compared).results();
    const { unexplained, examples } = compare(
      { name: "trawl", lines: ours.lines },
      { name: "git grep", lines: theirs.lines },
      () => undefined,
    );
    if (unexplained > 0)
      differences.push(`${name} at ${asked.length} revisions: ${unexplained} lines, such as ${examples[0] ?? ""}`);
  };
  await compareAt("history", [one], [one]);
  await compareAt("nothing", [one], [one]);
  await compareAt("history", revisions, [revisions[0] ?? "", one, revisions.at(-1) ?? ""]);
  return differences;
}
