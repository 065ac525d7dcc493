import { readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import { escapeRegexp } from "../../src/base/text.js";
import { openCorpus } from "../corpus/corpus.js";
import { repositoryMarker } from "../corpus/many.js";
import { curlMs } from "../peers/tools.js";
import type { Trawl } from "../peers/trawl.js";
import { grouped } from "../report/numbers.js";
import type { Results, TargetRow } from "../report/results.js";
import { alternate, diskBytes, watchMemory } from "../system/measure.js";
import { ended, run, start, timeCommand } from "../system/processes.js";
import { longSearches, measureRows, ours, startDaemon, type Suite, type SuiteContext, type TimedRow } from "./suite.js";

/** Searches of commits and diffs beside `git log`, the index of history, and blame. */
export const historySuite: Suite = { name: "history", title: "Commits, diffs and blame", measure };

/** All of each history, and a log of what is indexed. */
const indexed = ["--set", "index.historyBytes=1099511627776", "--set", "log.level=debug", ...longSearches];
const unindexed = ["--set", "index.historyBytes=0", ...longSearches];

/** Far above the target. */
const indexLimitMs = 3_600_000;

const logG = "git log -G";
const logS = "git log -S";

/** Shares of the history, the newest commits, that a plot shows. */
const shares = [1 / 64, 1 / 16, 1 / 4, 1];

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const history = await openHistory(context);
  context.progress("choosing words");
  const words = await chooseWords(history);
  results.note(
    `${history.name} has ${grouped(history.commits.length)} commits. In about one of a hundred: \`${words.changed}\` in changes, \`${words.message}\` in messages. The most frequent author is \`${words.author}\`.`,
    "Times of git are of whole processes that write the oids of commits, without renames.",
    history.note,
  );
  const trawl = await measureIndexing(context, results, history);
  const { differences, times } = await compareResults(context, trawl, history, words);
  results.note(...differences.map((each) => `RESULTS DIFFER from those of git, so no ratio is given: ${each}.`));
  for (const task of differences.length > 0 ? ["literal", "regexp"] : []) results.setIncomparable(task, logG);
  results.grid("Searches of one history", ours);
  for (const [task, ms] of times) results.less(task, logG, "ms", ms);
  await measureSearches(context, results, trawl, history, words);
  await measureLengths(context, results, trawl, history, words);
  await measureBlame(context, results, trawl, history, words);
  await trawl.stop();
  await measureMany(context, results);
  addTargets(results);
}

/** Returns a daemon with the history indexed. */
async function measureIndexing(context: SuiteContext, results: Results, { name, path }: History): Promise<Trawl> {
  const { progress } = context;
  const first = await startDaemon(context, "history-data", ...unindexed);
  await first.add(name, path, progress);
  await first.stop();
  const textBytes = diskBytes(join(first.dataFolder, "shards"));
  progress("indexing the history");
  const trawl = await startDaemon(context, "history-data", ...indexed);
  const memory = watchMemory(trawl.pid);
  const startedMs = monotonicMs();
  await waitForHistories(trawl, 1);
  const seconds = (monotonicMs() - startedMs) / 1000;
  const peak = memory();
  progress("reading the history with git");
  const gitMs = await timeCommand(["git", "-C", path, "log", "-p", "-U0", "--no-renames"], {});
  progress("counting distinct changed lines");
  const lines = await measureDistinctLines(path);
  results.list("The index of one history");
  results.less("index", ours, "s", seconds);
  results.less("index", "git log -p -U0", "s", gitMs / 1000);
  results.less("memory while indexing", ours, "MB", (peak.anonymousBytes + peak.childrenBytes) / 1e6);
  results.less("disk", "history shards", "MB", (diskBytes(join(trawl.dataFolder, "shards")) - textBytes) / 1e6);
  results.less("disk", "distinct changed lines", "MB", lines.distinctBytes / 1e6);
  results.less("disk", "changed lines", "MB", lines.bytes / 1e6);
  return trawl;
}

/** Waits until the daemon has logged for this many repositories that their history is indexed. */
async function waitForHistories(trawl: Trawl, count: number): Promise<void> {
  for (const startedMs = monotonicMs(); monotonicMs() - startedMs < indexLimitMs; await sleep(500)) {
    const done = new Set<string>();
    for (const line of readFileSync(`${trawl.dataFolder}.log`, "utf8").split("\n")) {
      if (!line.includes('"history indexed"')) continue;
      const { repository, left } = JSON.parse(line) as { readonly repository: string; readonly left: number };
      if (left === 0) done.add(repository);
    }
    if (done.size >= count) return;
  }
  throw new TrawlError("cancelled", "the histories were not indexed within an hour");
}

function search({ name }: Pick<History, "name">, query: string, more = "count:all"): URLSearchParams {
  return new URLSearchParams({ q: `repo:^${escapeRegexp(name)}$ ${more} timeout:5m ${query}`, t: "standard" });
}

/** Case is respected, as git does. */
function queryOf({ changed, regexp }: HistoryWords): { readonly literal: string; readonly regexp: string } {
  return { literal: `type:diff case:yes ${changed}`, regexp: `type:diff case:yes /${regexp}/` };
}

function logOf(path: string, pickaxe: string, ...more: readonly string[]): string[] {
  return ["-C", path, "log", "--no-renames", "--no-textconv", "--no-ext-diff", "--format=%H", pickaxe, ...more];
}

/** Reads the whole history with git once for each pattern, and returns how long that took. */
async function compareResults(
  { progress }: SuiteContext,
  trawl: Trawl,
  history: History,
  words: HistoryWords,
): Promise<{ readonly differences: readonly string[]; readonly times: readonly (readonly [string, number])[] }> {
  progress("git log -G over the whole history");
  const queries = queryOf(words);
  const differences: string[] = [];
  const times: (readonly [string, number])[] = [];
  for (const [task, own, pattern] of [
    ["literal", [queries.literal, `${queries.literal} index:no`], words.changed],
    ["regexp", [queries.regexp], words.regexp],
  ] as const) {
    const startedMs = monotonicMs();
    const expected = (await git(history.path, ...logOf(history.path, `-G${pattern}`)))
      .split("\n")
      .filter((oid) => oid !== "");
    times.push([task, monotonicMs() - startedMs]);
    for (const query of own) {
      const found = await trawl.oids(search(history, query));
      const missing = expected.filter((oid) => !found.has(oid));
      if (missing.length > 0 || found.size !== expected.length)
        differences.push(`${query}: ${found.size} commits, of git ${expected.length}, such as ${missing[0] ?? "more"}`);
    }
  }
  return { differences, times };
}

async function measureSearches(
  { rounds, progress }: SuiteContext,
  results: Results,
  trawl: Trawl,
  history: History,
  words: HistoryWords,
): Promise<void> {
  const queries = queryOf(words);
  const day = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  const tasks = [
    ["literal", queries.literal, undefined],
    ["regexp", queries.regexp, undefined],
    ["word in messages", `type:commit ${words.message}`, undefined],
    ["newest 500 of an author", `type:commit author:${words.author}`, "count:500"],
    ["newest 500 by date", `type:commit before:${day}`, "count:500"],
  ] as const;
  progress("searches of the history");
  const rows = tasks.map(([task, query, more]): TimedRow => {
    const params = search(history, query, more);
    return [task, ours, () => trawl.curlMs(params)];
  });
  await measureRows(rows, rounds * 2, results);
  const firsts: number[] = [];
  for (let round = 0; round < rounds * 4; round++)
    for (const query of [queries.literal, `type:commit ${words.message}`])
      firsts.push((await trawl.firstMatchMs(search(history, query))) ?? NaN);
  results.less("first matches event", ours, "ms", firsts);
  progress("git log -S over the whole history");
  const log = ["git", ...logOf(history.path, `-S${words.changed}`)];
  results.less("literal", logS, "ms", await timeCommand(log, {}));
  progress("the same without the index");
  const unread = await trawl.curlMs(search(history, `${queries.literal} index:no`));
  results.less("literal", "trawl, not indexed", "ms", unread);
}

/** The newest commits only, by date. */
async function measureLengths(
  { rounds, progress }: SuiteContext,
  results: Results,
  trawl: Trawl,
  history: History,
  words: HistoryWords,
): Promise<void> {
  progress("histories of several lengths");
  const { literal } = queryOf(words);
  results.grid("Time of a search for changes against the length of the history, in commits", ours, "history");
  for (const share of shares) {
    const count = Math.floor(history.commits.length * share);
    const oldest = history.commits[count - 1] ?? "";
    const date = (await git(history.path, "log", "-1", "--format=%cI", oldest)).trim();
    const params = search(history, `${literal} after:"${date}"`);
    const task = `newest ${grouped(count)} commits`;
    const [values = []] = await alternate(rounds, [() => trawl.curlMs(params)]);
    results.less(task, ours, "ms", values, count);
    const log = ["git", ...logOf(history.path, `-G${words.changed}`, `--since=${date}`)];
    results.less(task, logG, "ms", await timeCommand(log, {}), count);
  }
}

async function measureBlame(
  { rounds, progress }: SuiteContext,
  results: Results,
  trawl: Trawl,
  { name, path }: History,
  { files }: HistoryWords,
): Promise<void> {
  progress("blame");
  results.grid("Blame of three files with about 2,000 lines", ours);
  const [cold, warm, peer]: [number[], number[], number[]] = [[], [], []];
  for (const file of files) {
    const url = `${trawl.url}/.api/blame/${name}/-/stream/${file.split("/").map(encodeURIComponent).join("/")}`;
    cold.push(await curlMs({ url, body: undefined }));
    for (let round = 0; round < rounds; round++) warm.push(await curlMs({ url, body: undefined }));
    peer.push(await timeCommand(["git", "-C", path, "blame", "--porcelain", "HEAD", "--", file], {}));
  }
  results.less("blame", ours, "ms", cold);
  results.less("blame", "git blame", "ms", peer);
  results.less("blame again", ours, "ms", warm);
}

async function measureMany(context: SuiteContext, results: Results): Promise<void> {
  const corpus = await openCorpus(context.isQuick ? "histories-quick" : "histories", context);
  context.progress(`indexing ${corpus.repositories.length} histories`);
  const trawl = await startDaemon(context, "histories-data", "--config", corpus.config, ...indexed);
  await waitForHistories(trawl, corpus.repositories.length);
  const marker = repositoryMarker(corpus.repositories.length - 1);
  const params = new URLSearchParams({ q: `type:diff count:all timeout:5m ${marker}`, t: "standard" });
  const found = (await trawl.oids(params)).size;
  if (found !== 20) results.note(`RESULTS DIFFER: ${marker} is in 20 commits, and ${found} were found.`);
  const [values = []] = await alternate(context.rounds, [() => trawl.curlMs(params)]);
  await trawl.stop();
  results.list("Changes of many repositories");
  results.less("all repositories", ours, "ms", values);
  results.note(
    `All repositories: ${grouped(corpus.repositories.length)} with 20 commits each, one of which has the word.`,
  );
}

function addTargets(results: Results): void {
  const faster = (what: string, task: string, other: string, atLeast: TargetRow["atLeast"] & {}): TargetRow => ({
    ...{ what: `${what}: time of ${other} ÷ ours`, of: [task, other], over: [task, ours], atLeast },
  });
  const atMost = (what: string, task: string, limits: TargetRow["atMost"] & {}): TargetRow => ({
    ...{ what, of: [task, ours], atMost: limits },
  });
  results.targets(
    faster("changed literal", "literal", logG, [100, 500]),
    faster("changed literal", "literal", logS, [30, 150]),
    faster("changed regexp", "regexp", logG, [50, 200]),
    atMost("word in messages, all results", "word in messages", [10, 4]),
    atMost("newest 500 of an author", "newest 500 of an author", [20, 5]),
    atMost("newest 500 by date", "newest 500 by date", [20, 5]),
    atMost("first matches event, p50", "first matches event", [10, 3]),
    {
      what: "disk, beside distinct changed lines",
      of: ["disk", "history shards"],
      over: ["disk", "distinct changed lines"],
      atMost: [2, 1.5],
    },
    {
      what: "index, beside git log -p -U0",
      of: ["index", ours],
      over: ["index", "git log -p -U0"],
      atMost: [2, 1.2],
    },
    {
      ...atMost("memory while indexing, with children", "memory while indexing", [1, 0.5]),
      ...{ unit: "GB", scale: 1 / 1000 },
    },
    {
      what: "not indexed, beside git log -G",
      of: ["literal", "trawl, not indexed"],
      over: ["literal", logG],
      atMost: [1, 0.5],
    },
    { ...atMost("changes of all repositories", "all repositories", [2, 0.5]), unit: "s", scale: 1 / 1000 },
    { what: "blame, beside git blame", of: ["blame", ours], over: ["blame", "git blame"], atMost: [1.2, 1] },
    atMost("blame again", "blame again", [10, 3]),
  );
}

/** A repository with a long history. */
interface History {
  readonly name: string;
  readonly path: string;
  /** Oids, the newest first. */
  readonly commits: readonly string[];
  readonly note: string;
}

/** What is searched for in a history. */
interface HistoryWords {
  /** In about one of a hundred changes. */
  readonly changed: string;
  /** The same as an extended regular expression, of which part is a literal. */
  readonly regexp: string;
  /** In about one of a hundred messages. */
  readonly message: string;
  /** The most frequent author's address. */
  readonly author: string;
  /** The files that have about 2,000 lines. */
  readonly files: readonly string[];
}

/** The repository that `BENCH_HISTORY` names, bare or not, else the corpus of generated commits. */
async function openHistory(context: SuiteContext): Promise<History> {
  const given = process.env["BENCH_HISTORY"] || undefined;
  const { name, path, note } =
    given === undefined
      ? await openCorpus("commits", context)
      : { name: basename(resolve(given), ".git"), path: resolve(given), note: "" };
  return { name, path, commits: (await git(path, "rev-list", "HEAD")).trim().split("\n"), note };
}

function git(path: string, ...args: readonly string[]): Promise<string> {
  return run("git", ["-C", path, ...args], "");
}

/** Words are chosen from the newest changes and messages, which are similar to the older ones. */
const sampledCommits = 2000;
const shareWanted = 0.01;
const lineCountWanted = 2000;

async function chooseWords({ path }: History): Promise<HistoryWords> {
  const newest = ["log", "-n", String(sampledCommits), "--no-renames", "--no-textconv", "--no-ext-diff"];
  const changes = await git(path, ...newest, "-p", "-U0", "--format=%x00");
  const messages = await git(path, ...newest, "--no-merges", "--format=%x00%B");
  const authors = await git(path, ...newest, "--format=%ae");
  const changed = chooseWord(changes.replace(/^(?![-+][^-+]|\0).*$/gm, ""));
  const counts = await git(path, "grep", "-I", "-c", "", "HEAD", "--");
  const files = counts.split("\n").flatMap((line) => {
    const end = line.lastIndexOf(":");
    return end < 0
      ? []
      : [{ file: line.slice("HEAD:".length, end), distance: Math.abs(Number(line.slice(end + 1)) - lineCountWanted) }];
  });
  return {
    changed,
    regexp: `${changed}[a-z]*`,
    message: chooseWord(messages),
    author: mostFrequent(authors.split("\n")),
    files: files
      .sort((a, b) => a.distance - b.distance)
      .slice(0, 3)
      .map(({ file }) => file),
  };
}

/**
 * The word whose share of the texts, which begin with a zero byte, is nearest to what is wanted. It is also found within
 * longer words, so those that begin with it are counted as well.
 */
function chooseWord(texts: string): string {
  const counts = new Map<string, number>();
  const all = texts.split("\0").slice(1);
  for (const text of all) {
    const parts = (text.match(/\b[a-z_]{6,20}/g) ?? []).flatMap((word) =>
      Array.from({ length: word.length - 5 }, (_, i) => word.slice(0, 6 + i)),
    );
    for (const part of new Set(parts)) counts.set(part, (counts.get(part) ?? 0) + 1);
  }
  const words = new Set(texts.match(/\b[a-z_]{6,20}\b/g) ?? []);
  const distance = (count: number): number => Math.abs(Math.log(count / all.length / shareWanted));
  const [[word = "commit"] = []] = [...counts]
    .filter(([part]) => words.has(part))
    .sort(([a, m], [b, n]) => distance(m) - distance(n) || (a < b ? -1 : 1));
  return word;
}

function mostFrequent(values: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const [[value = ""] = []] = [...counts].sort(([, m], [, n]) => n - m);
  return value;
}

const newline = 10;
const timeoutMs = 3_600_000;

/** Bytes of all changed lines of a history, without their signs, and of the distinct ones. */
async function measureDistinctLines(path: string): Promise<{ readonly bytes: number; readonly distinctBytes: number }> {
  const args = ["-C", path, "log", "-p", "-U0", "--no-renames", "--no-textconv", "--no-ext-diff", "--format="];
  const child = start("git", args, { stdio: ["ignore", "pipe", "ignore"] });
  const code = ended(child, timeoutMs);
  const known = new Set<number>();
  let [bytes, distinctBytes] = [0, 0];
  let rest: Buffer = Buffer.alloc(0);
  for await (const part of child.stdout as AsyncIterable<Buffer>) {
    const data = rest.length === 0 ? part : Buffer.concat([rest, part]);
    let from = 0;
    for (let end = data.indexOf(newline); end >= 0; end = data.indexOf(newline, from)) {
      if (isChanged(data, from)) {
        bytes += end - from;
        const count = known.size;
        known.add(hashLine(data, from + 1, end));
        if (known.size > count) distinctBytes += end - from;
      }
      from = end + 1;
    }
    rest = data.subarray(from);
  }
  await code;
  return { bytes, distinctBytes };
}

/** A line of a change, rather than a name of its file. */
function isChanged(data: Buffer, from: number): boolean {
  const sign = data[from];
  return (sign === 43 || sign === 45) && !(data[from + 1] === sign && data[from + 2] === sign && data[from + 3] === 32);
}

/** 53 bits: among ten million lines, a collision is unlikely. */
function hashLine(data: Buffer, from: number, to: number): number {
  let [a, b] = [-2128831035, 5381];
  for (let at = from; at < to; at++) {
    a = Math.imul(a ^ (data[at] ?? 0), 16777619);
    b = Math.imul(b, 33) ^ (data[at] ?? 0);
  }
  return (a >>> 0) * 2 ** 21 + ((b ^ (b >>> 11)) & 0x1fffff);
}
