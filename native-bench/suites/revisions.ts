import { join } from "node:path";
import { type Corpus, openCorpus } from "../corpus/corpus.js";
import { cloneBare } from "../corpus/repositories.js";
import { gitGrepAt } from "../peers/peers.js";
import { compare } from "../peers/peer.js";
import type { Trawl } from "../peers/trawl.js";
import { grouped, short } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import { longSearches, measureRows, startDaemon, type Suite, type SuiteContext, type TimedRow } from "./suite.js";
import { alternate, alternateWarm } from "../system/measure.js";
import { run } from "../system/processes.js";

/** Searches in commits that are not indexed: one, many, and one of which no shard has anything. */
export const revisionsSuite: Suite = { name: "revisions", title: "Revisions that are not indexed", measure };

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
const [first, nothingFirst] = ["one revision, first", "one revision with nothing indexed, first"];
const grepSubject = "one revision, git grep";
const dataName = "revisions-data";

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const { isQuick, progress } = context;
  const corpus = await openCorpus(isQuick ? "modules-history" : "linux-history", context);
  const nothing = await makeNothingIndexed(corpus, join(context.workFolder, "revisions-nothing.git"));
  const indexing = await startDaemon(context, dataName, ...longSearches);
  await indexing.add("history", corpus.path, progress);
  await indexing.add("nothing", nothing, progress);
  await indexing.stop();
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
  if (differences.length > 0) for (const { task, subject } of results.samples) results.setIncomparable(task, subject);
  await measureWarm(trawl, context, results, chosen, one, revisions);
  await trawl.stop();
  results.note(
    ...differences.map((each) => `RESULTS DIFFER from those of \`git grep\`, so no ratio is given: ${each}.`),
    differences.length > 0
      ? ""
      : "Results equal those of `git grep`: at the one revision, also where nothing is indexed, and of the search of all revisions those at three of them.",
  );
  addTargets(results, chosen, revisions.length);
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
  results.grid("The first search of a just-started daemon, and git grep");
  await measureRows(
    [
      [common, first, () => firstMs(context, head(common), search("history", [one], common))],
      [common, nothingFirst, () => firstMs(context, head(common), search("nothing", [one], common))],
      [common, grepSubject, () => grep.time()],
      [
        rare,
        `${grouped(revisions.length)} revisions, first`,
        () => firstMs(context, head(rare), search("history", revisions, rare)),
      ],
    ],
    Math.ceil(context.rounds / 2),
    results,
    alternate,
  );
}

async function measureWarm(
  trawl: Trawl,
  { rounds, progress }: SuiteContext,
  results: Results,
  { common, rare, dense }: Words,
  one: string,
  revisions: readonly string[],
): Promise<void> {
  const time = (at: readonly string[], word: string) => () => trawl.curlMs(search("history", at, word));
  progress("one revision");
  results.grid("Repeated searches");
  const ofOne: TimedRow[] = [
    [common, branch, time(["HEAD"], common)],
    [common, "one revision", time([one], common)],
    [dense, branch, time(["HEAD"], dense)],
  ];
  await measureRows(ofOne, rounds, results);
  progress("many revisions");
  results.grid("Time of a search against the number of revisions that are not indexed", undefined, "revisions");
  const counts = revisionCounts.map((count) => Math.min(count, revisions.length));
  const tasks = counts.flatMap((count) => [rare, common].map((word) => ({ word, count })));
  const times = await alternateWarm(
    rounds,
    tasks.map(({ word, count }) => time(spread(revisions, count), word)),
  );
  for (const [i, { word, count }] of tasks.entries()) results.less(manyTask(count), word, "ms", times[i] ?? [], count);
}

const manyTask = (count: number): string => `${grouped(count)} revisions`;

/** The limits are those of the Linux source. */
function addTargets(results: Results, { common, rare }: Words, count: number): void {
  const grep = `git grep ${results.text(common, grepSubject)}`;
  results.targets(
    {
      what: `${common} at a revision of which 95 % is indexed, beside the indexed branch`,
      of: [common, "one revision"],
      over: [common, branch],
      atMost: [3, 1.5],
      note: `${results.text(common, "one revision")}; the first time ${results.text(common, first)}; ${grep}`,
    },
    {
      what: `${rare} at ${manyTask(count)}, beside one`,
      of: [manyTask(count), rare],
      over: [manyTask(1), rare],
      atMost: [3, 1.5],
    },
    {
      what: `${common} at a revision with nothing indexed: time of git grep ÷ ours`,
      of: [common, grepSubject],
      over: [common, nothingFirst],
      atLeast: [1, 1.8],
    },
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
