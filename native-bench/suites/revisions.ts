import { rmSync } from "node:fs";
import { join } from "node:path";
import { openCorpus, type Corpus } from "../corpus/corpus.js";
import { cloneBare } from "../corpus/repositories.js";
import { gitGrepAt } from "../peers/git-grep.js";
import { compare } from "../peers/result-set.js";
import { Trawl } from "../peers/trawl.js";
import type { Findings } from "../report/run-report.js";
import { alternate, alternateWarm } from "../system/measure.js";
import { run } from "../system/processes.js";
import { reportRevisions, type RevisionsMeasured } from "./revisions-report.js";
import type { Suite, SuiteContext } from "./suite.js";

/** Searches in commits that are not indexed: one, many, and one of which no shard has anything. */
export const revisionsSuite: Suite = {
  name: "revisions",
  title: "Revisions that are not indexed",
  estimateSeconds: { quick: 50, full: 125 },
  measure,
};

const words = {
  full: { common: "kmalloc", rare: "amdgpu_vcn_idle_work", dense: "return" },
  quick: { common: "createHash", rare: "createDiffieHellman", dense: "return" },
} as const;

/** The share of the one revision's blobs that no shard has. */
const unindexedShareWanted = 0.05;

const revisionCounts = [1, 10, 50, 200];

const settings = ["--set", "search.maxTimeoutSeconds=300"];

async function measure(context: SuiteContext): Promise<Findings> {
  const corpus = await openCorpus(context.isQuick ? "modules-history" : "linux-history", context);
  const dataFolder = join(context.workFolder, "revisions-data");
  const nothing = await makeNothingIndexed(corpus, join(context.workFolder, "revisions-nothing.git"));
  const trawl = await Trawl.start(dataFolder, settings);
  await trawl.add("history", corpus.path, context.progress);
  await trawl.add("nothing", nothing, context.progress);
  await trawl.stop();
  const log = await run("git", ["-C", corpus.path, "rev-list", "HEAD"], "");
  const revisions = log.trim().split("\n").map(abbreviated);
  const measured = await measureAll(corpus, revisions, dataFolder, context);
  for (const folder of [dataFolder, nothing]) rmSync(folder, { recursive: true });
  return reportRevisions(measured, context.isQuick);
}

function abbreviated(oid: string): string {
  return oid.slice(0, 12);
}

/** The same history in a repository whose default branch, the one that is indexed, has an empty tree. */
async function makeNothingIndexed(corpus: Corpus, folder: string): Promise<string> {
  const git = async (...args: string[]): Promise<string> => (await run("git", ["-C", folder, ...args], "")).trim();
  await cloneBare(corpus, folder);
  const head = await git("symbolic-ref", "--short", "HEAD");
  await git("branch", "-m", head, "history");
  const identity = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
  const commit = await git(...identity, "commit-tree", "-m", "nothing", await git("mktree"));
  await git("update-ref", `refs/heads/${head}`, commit);
  await git("symbolic-ref", "HEAD", `refs/heads/${head}`);
  return folder;
}

/** A search for every occurrence of a word in a repository at some revisions. */
function search(name: string, revisions: readonly string[], word: string): URLSearchParams {
  const q = `type:file count:all case:yes repo:^${name}$@${revisions.join(":")} content:"${word}"`;
  return new URLSearchParams({ q, t: "literal" });
}

async function measureAll(
  corpus: Corpus,
  revisions: readonly string[],
  dataFolder: string,
  { isQuick, rounds, progress }: SuiteContext,
): Promise<RevisionsMeasured> {
  const chosen = isQuick ? words.quick : words.full;
  const { common, rare, dense } = chosen;
  const { one, unindexedShare } = await chooseOne(corpus, revisions);
  progress("just-started daemons");
  const grep = gitGrepAt(corpus.path, common, [one]);
  const head = (word: string): URLSearchParams => search("history", ["HEAD"], word);
  const [coldOne = [], coldAll = [], coldNothing = [], nothingGrep = []] = await alternate(Math.ceil(rounds / 2), [
    () => firstMs(dataFolder, head(common), search("history", [one], common)),
    () => firstMs(dataFolder, head(rare), search("history", revisions, rare)),
    () => firstMs(dataFolder, head(common), search("nothing", [one], common)),
    () => grep.time(),
  ]);
  const trawl = await Trawl.start(dataFolder, settings);
  const differences = await compareResults(trawl, corpus, revisions, one, common);
  progress("one revision");
  const time = (params: URLSearchParams) => () => trawl.curlMs(params);
  const ofOne = [head(common), search("history", [one], common), head(dense)].map(time);
  const [indexed = [], warm = [], denseTimes = []] = await alternate(rounds, ofOne);
  progress("many revisions");
  const counts = revisionCounts.map((count) => Math.min(count, revisions.length));
  const ofMany = [rare, common].flatMap((word) =>
    counts.map((count) => time(search("history", spread(revisions, count), word))),
  );
  const times = await alternateWarm(rounds, ofMany);
  const answerBytes = async (params: URLSearchParams): Promise<number> =>
    (await trawl.resultsAt(params, new Set())).bytes;
  const bytes = { dense: await answerBytes(head(dense)), all: await answerBytes(search("history", revisions, common)) };
  await trawl.stop();
  const [rareTimes, commonTimes] = [times.slice(0, counts.length), times.slice(counts.length)];
  const cold = { one: coldOne, all: coldAll, nothing: coldNothing, nothingGrep };
  const atOne = { one, unindexedShare, differences, indexed, warm, cold, dense: denseTimes };
  return { corpus, words: chosen, ...atOne, counts, rareTimes, commonTimes, bytes };
}

/** Commits from the first to the last, evenly spaced; a single one is in the middle. */
function spread(revisions: readonly string[], count: number): string[] {
  return Array.from({ length: count }, (_, i) => revisions[Math.floor(((i + 0.5) * revisions.length) / count)] ?? "");
}

/** Milliseconds of a search by a daemon that was just started and has answered another one three times. */
async function firstMs(dataFolder: string, before: URLSearchParams, params: URLSearchParams): Promise<number> {
  const trawl = await Trawl.start(dataFolder, settings);
  for (let i = 0; i < 3; i++) await trawl.curlMs(before);
  const ms = await trawl.curlMs(params);
  await trawl.stop();
  return ms;
}

/** The commit with about the wanted share of blobs that are not indexed: the share grows with the age of a commit. */
async function chooseOne(
  { path }: Corpus,
  revisions: readonly string[],
): Promise<{ one: string; unindexedShare: number }> {
  const countLines = async (...args: string[]): Promise<number> =>
    (await run("git", ["-C", path, ...args], "")).split("\n").length - 1;
  const measureShare = async (revision: string): Promise<number> =>
    (await countLines("diff-tree", "-r", "--no-renames", "--diff-filter=MA", "--name-only", "HEAD", revision)) /
    (await countLines("ls-tree", "-r", "--name-only", revision));
  let near = 1;
  let far = revisions.length - 1;
  while (near < far) {
    const middle = (near + far) >> 1;
    if ((await measureShare(revisions[middle] ?? "")) < unindexedShareWanted) near = middle + 1;
    else far = middle;
  }
  const one = revisions[near] ?? "";
  return { one, unindexedShare: await measureShare(one) };
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
): Promise<string[]> {
  const three = [revisions[0] ?? "", one, revisions.at(-1) ?? ""];
  const differences: string[] = [];
  for (const { name, asked, compared } of [
    { name: "history", asked: [one], compared: [one] },
    { name: "nothing", asked: [one], compared: [one] },
    { name: "history", asked: revisions, compared: three },
  ]) {
    const ours = await trawl.resultsAt(search(name, asked, word), new Set(compared));
    const theirs = await gitGrepAt(corpus.path, word, compared).results();
    const expected = { name: "git grep", lines: theirs.lines };
    const { unexplained, examples } = compare({ name: "trawl", lines: ours.lines }, expected, () => undefined);
    if (unexplained > 0)
      differences.push(`${name} at ${asked.length} revisions: ${unexplained} lines, such as ${examples[0] ?? ""}`);
  }
  return differences;
}
