import { join } from "node:path";
import { type Corpus, openCorpus } from "../corpus/corpus.js";
import { cloneBare } from "../corpus/repositories.js";
import { gitGrepAt } from "../peers/peers.js";
import { compare } from "../peers/peer.js";
import type { Trawl } from "../peers/trawl.js";
import { grouped, short } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import { curvePlot } from "../report/views.js";
import { longSearches, startDaemon, type Suite, type SuiteContext } from "./suite.js";
import { alternate, alternateWarm } from "../system/measure.js";
import { run } from "../system/processes.js";

/** Searches in commits that are not indexed: one, many, and one of which no shard has anything. */
export const revisionsSuite: Suite = {
  name: "revisions",
  title: "Revisions that are not indexed",
  estimateSeconds: { quick: 50, full: 125 },
  measure,
};

/** A word that occurs everywhere, one in a few files, and the most frequent one of any corpus. */
const words = {
  full: { common: "kmalloc", rare: "amdgpu_vcn_idle_work", dense: "return" },
  quick: { common: "createHash", rare: "createDiffieHellman", dense: "return" },
} as const;

type Words = (typeof words)[keyof typeof words];

/** The share of the one revision's blobs that no shard has. */
const unindexedShareWanted = 0.05;

const revisionCounts = [1, 10, 50, 200];

const branch = "the indexed branch";
const dataName = "revisions-data";

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const { isQuick, progress } = context;
  const corpus = await openCorpus(isQuick ? "modules-history" : "linux-history", context);
  const nothing = await makeNothingIndexed(corpus, join(context.workFolder, "revisions-nothing.git"));
  const first = await startDaemon(context, dataName, ...longSearches);
  await first.add("history", corpus.path, progress);
  await first.add("nothing", nothing, progress);
  await first.stop();
  const log = await run("git", ["-C", corpus.path, "rev-list", "HEAD"], "");
  const revisions = log
    .trim()
    .split("\n")
    .map((oid) => oid.slice(0, 12));
  const chosen = isQuick ? words.quick : words.full;
  const { one, unindexedShare } = await chooseOne(corpus, revisions);
  results.note(
    `The corpus ${corpus.name} has ${grouped(revisions.length)} commits; the last one is indexed. Of the blobs of ${one}, the one revision, ${short(100 * unindexedShare)} % are not. \`${chosen.common}\` is a common word, \`${chosen.rare}\` a rare one.`,
    "First: the first search of revisions by a daemon that was just started and has searched the indexed branch three times. Other times are of repeated searches.",
    corpus.note,
  );
  await measureCold(context, results, corpus, chosen, one, revisions);
  const trawl = await startDaemon(context, dataName, ...longSearches);
  const differences = await compareResults(trawl, corpus, revisions, one, chosen.common);
  await measureWarm(trawl, context, results, chosen, one, revisions);
  const answerBytes = async (params: URLSearchParams): Promise<number> =>
    (await trawl.resultsAt(params, new Set())).bytes;
  const denseBytes = await answerBytes(search("history", ["HEAD"], chosen.dense));
  const allBytes = await answerBytes(search("history", revisions, chosen.common));
  await trawl.stop();
  const all = grouped(revisions.length);
  results.note(
    ...differences.map((each) => `RESULTS DIFFER from those of \`git grep\`, so no ratio is given: ${each}.`),
    differences.length > 0
      ? ""
      : "Results equal those of `git grep`: at the one revision, also where nothing is indexed, and of the search of all revisions those at three of them.",
    `The answer to \`${chosen.common}\` at ${all} revisions has ${short(allBytes / 1e6)} MB, as each result is sent for each revision; that to \`${chosen.dense}\` at the indexed branch has ${short(denseBytes / 1e6)} MB.`,
  );
  if (differences.length === 0) addTargets(results, chosen, revisions.length, denseBytes, allBytes);
  const counted = results.samples.filter(({ at }) => at !== undefined);
  const plot = { title: "Time of a search against the number of revisions that are not indexed", x: "revisions" };
  const label = (word: string): string =>
    word === chosen.common ? `${word}, whose answer grows with the revisions` : word;
  results.plot(curvePlot({ ...plot, name: "revisions", y: "time, ms" }, counted, ({ task }) => label(task)));
}

/** First searches by just-started daemons, beside `git grep`. */
async function measureCold(
  context: SuiteContext,
  results: Results,
  corpus: Corpus,
  { common, rare }: Words,
  one: string,
  revisions: readonly string[],
): Promise<void> {
  context.progress("just-started daemons");
  const grep = gitGrepAt(corpus.path, common, [one]);
  const head = (word: string): URLSearchParams => search("history", ["HEAD"], word);
  const measures = [
    () => firstMs(context, head(common), search("history", [one], common)),
    () => firstMs(context, head(rare), search("history", revisions, rare)),
    () => firstMs(context, head(common), search("nothing", [one], common)),
    () => grep.time(),
  ];
  const [coldOne = [], coldAll = [], coldNothing = [], nothingGrep = []] = await alternate(
    Math.ceil(context.rounds / 2),
    measures,
  );
  results.less(common, "one revision, first", "ms", coldOne);
  results.less(common, "one revision with nothing indexed, first", "ms", coldNothing);
  results.less(common, "one revision, git grep", "ms", nothingGrep);
  results.less(rare, `${grouped(revisions.length)} revisions, first`, "ms", coldAll);
}

async function measureWarm(
  trawl: Trawl,
  { rounds, progress }: SuiteContext,
  results: Results,
  { common, rare, dense }: Words,
  one: string,
  revisions: readonly string[],
): Promise<void> {
  const head = (word: string): URLSearchParams => search("history", ["HEAD"], word);
  const time = (params: URLSearchParams) => () => trawl.curlMs(params);
  progress("one revision");
  const ofOne = [head(common), search("history", [one], common), head(dense)].map(time);
  const [indexed = [], warm = [], denseTimes = []] = await alternate(rounds, ofOne);
  results.less(common, branch, "ms", indexed);
  results.less(common, "one revision", "ms", warm);
  results.less(dense, branch, "ms", denseTimes);
  progress("many revisions");
  const tasks = [rare, common].flatMap((word) =>
    revisionCounts.map((count) => ({ word, count: Math.min(count, revisions.length) })),
  );
  const times = await alternateWarm(
    rounds,
    tasks.map(({ word, count }) => time(search("history", spread(revisions, count), word))),
  );
  for (const [i, { word, count }] of tasks.entries())
    results.less(word, `${grouped(count)} revisions`, "ms", times[i] ?? [], count);
}

/** The limits are those of the Linux source. */
function addTargets(
  results: Results,
  { common, rare, dense }: Words,
  count: number,
  denseBytes: number,
  allBytes: number,
): void {
  const all = `${grouped(count)} revisions`;
  const ms = (word: string, subject: string): string => results.text(word, subject, "ms");
  const grep = `git grep ${ms(common, "one revision, git grep")}`;
  const first = "one revision, first";
  const nothing = "one revision with nothing indexed, first";
  const megabytes = allBytes / 1e3 / results.median(common, all);
  results.atMost(
    `${common} at a revision of which 95 % is indexed, beside the indexed branch`,
    "x",
    results.ratio(common, "one revision", branch),
    { must: 3, aim: 1.5 },
    ms(common, "one revision"),
  );
  const coldRatio = results.ratio(common, first, branch);
  results.atMost("the same, the first time", "x", coldRatio, { must: 3 }, `${ms(common, first)}; ${grep}`);
  results.atMost(
    `${rare} at ${all}, beside one`,
    "x",
    results.ratio(rare, all, "1 revisions"),
    { must: 3, aim: 1.5 },
    `${ms(rare, all)}; the first time ${ms(rare, `${all}, first`)}`,
  );
  results.atLeast(
    `${common} at ${all}: output, beside ${dense} at the indexed branch`,
    "x",
    megabytes / (denseBytes / 1e3 / results.median(dense, branch)),
    { must: 1 },
    `${short(megabytes)} MB/s; ${short(results.ratio(common, all, "1 revisions") ?? NaN)}x the time of one`,
  );
  results.atLeast(
    `${common} at a revision with nothing indexed, beside git grep`,
    "x",
    results.ratio(common, "one revision, git grep", nothing),
    { must: 1 },
    `${ms(common, nothing)}; ${grep}`,
  );
}

/** Milliseconds of a search by a daemon that was just started and has answered another one three times. */
async function firstMs(context: SuiteContext, before: URLSearchParams, params: URLSearchParams): Promise<number> {
  const trawl = await startDaemon(context, dataName, ...longSearches);
  for (let i = 0; i < 3; i++) await trawl.curlMs(before);
  const ms = await trawl.curlMs(params);
  await trawl.stop();
  return ms;
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

/** Commits from the first to the last, evenly spaced; a single one is in the middle. */
function spread(revisions: readonly string[], count: number): string[] {
  return Array.from({ length: count }, (_, i) => revisions[Math.floor(((i + 0.5) * revisions.length) / count)] ?? "");
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
