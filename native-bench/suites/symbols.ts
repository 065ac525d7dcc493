import { join } from "node:path";
import { monotonicMs } from "../../src/base/deadline.js";
import { errorMessage, TrawlError } from "../../src/base/errors.js";
import { type Corpus, openCorpus } from "../corpus/corpus.js";
import { cloneBare, commit, isRegular, readSource, smallFiles, treeFiles } from "../corpus/repositories.js";
import { streamRequest } from "../load/request.js";
import type { ClassResult } from "../load/options.js";
import { requireWhole, runClients } from "../load/run-load.js";
import { type CtagsRun, runCtags } from "../peers/ctags.js";
import { findTools } from "../peers/tools.js";
import type { Trawl } from "../peers/trawl.js";
import { grouped, short } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import { table } from "../report/views.js";
import { readTreeCpuSeconds, waitForIdle } from "../system/measure.js";
import { run } from "../system/processes.js";
import { longSearches, startDaemon, type Suite, type SuiteContext } from "./suite.js";

/** Symbols beside `ctags`, what they cost, searches for them, and the first results of ranked searches. */
export const symbolsSuite: Suite = {
  name: "symbols",
  title: "Symbols, and the first ranked results",
  estimateSeconds: { quick: 30, full: 480 },
  measure,
};

/** The main corpus, on which everything is measured, and others on which only the symbols are compared. */
interface Subject {
  readonly corpus: string;
  readonly others: readonly string[];
  /** The whole name of a symbol. */
  readonly name: string;
  /** Words that are in so many files that ranking must choose among them. */
  readonly broad: readonly string[];
}

const full: Subject = {
  corpus: "linux",
  others: ["webpack", "django", "grpc"],
  name: "kmalloc",
  broad: [
    ...["int", "return", "static", "struct", "include", "define", "error", "data", "lock", "buffer", "init", "read"],
    ...["write", "size", "page", "memory", "device", "struct device", "return error", "lock irq"],
  ],
};

const quick: Subject = {
  corpus: "webpack",
  others: [],
  name: "Compilation",
  broad: ["const", "return", "module", "function", "require", "import", "class", "source"],
};

/** One of these is in about as many names of symbols as wanted. */
const parts = ["_get", "alloc", "_set", "write", "probe", "config", "status", "remove", "clear", "suspend", "hash"];
const hitsWanted = 10_000;

const changedFileCount = 100;
const fileBytesMax = 64 * 1024;

const ours = "trawl";
const searchable = "until text is searchable";
const cpu = "CPU of indexing, children included";
const size = "stored size";
const exactTask = "type:symbol, a whole name";
const partTask = "type:symbol, part of names";
const changedTask = `a commit with ${changedFileCount} changed files: first symbol`;
const rankedTask = "broad queries, first ranked batch";
const without = "without symbols";
const withSymbols = "with symbols";

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const { isQuick, rounds, progress } = context;
  const ctags = findTools(["ctags"], "apt-get install universal-ctags");
  if (ctags.kind === "missing") throw new TrawlError("not-found", ctags.reason);
  const subject = isQuick ? quick : full;
  const corpus = await openCorpus(subject.corpus, context);
  const clone = await cloneBare(corpus, join(context.workFolder, "symbols-corpus.git"));
  const revisions = await changeFiles(corpus, clone, rounds);
  progress("indexing without symbols");
  const bare = await startDaemon(context, "without-symbols", "--set", "index.symbols=false");
  recordIndexing(results, without, await index(bare, corpus.name, clone, false, progress));
  await bare.stop();
  const trawl = await startDaemon(context, "symbols-data", ...longSearches);
  recordIndexing(results, withSymbols, await index(trawl, corpus.name, clone, true, progress));
  const bytes = await trawl.metric("trawl_index_symbol_bytes");
  results.less(size, "symbols", "% of the text", (100 * bytes) / corpus.textBytes);
  const compared: Compared[] = [];
  const names = new PartCounter(parts);
  compared.push(await compareSymbols(trawl, corpus, progress, (name) => names.add(name)));
  results.less(cpu, "ctags itself", "s", compared[0]?.ctags.cpuSeconds ?? NaN);
  await measureSearches(trawl, corpus.name, subject, names.nearest(hitsWanted), context, results);
  results.less(changedTask, ours, "ms", await timeFirstSymbols(trawl, corpus.name, revisions));
  for (const name of subject.others) {
    try {
      compared.push(await compareOther(trawl, await openCorpus(name, context), progress));
    } catch (error) {
      results.note(`${name} is not compared: ${errorMessage(error)}.`);
    }
  }
  const failures = await trawl.metric("trawl_index_symbol_failures");
  await trawl.stop();
  report(compared, failures, results);
  addTargets(compared, results);
}

interface Indexing {
  readonly textSeconds: number;
  readonly cpuSeconds: number;
}

/** Adds a repository to an empty daemon, and waits until its symbols were extracted, if they are to be. */
async function index(
  trawl: Trawl,
  name: string,
  url: string,
  hasSymbols: boolean,
  progress: (text: string) => void,
): Promise<Indexing> {
  const startedMs = monotonicMs();
  await trawl.add(name, url, progress);
  const textSeconds = (monotonicMs() - startedMs) / 1000;
  if (hasSymbols) {
    progress("extracting symbols");
    await trawl.waitForSymbols();
  }
  await waitForIdle(trawl.pid, 120_000);
  return { textSeconds, cpuSeconds: readTreeCpuSeconds(trawl.pid) };
}

function recordIndexing(results: Results, subject: string, { textSeconds, cpuSeconds }: Indexing): void {
  results.less(searchable, subject, "s", textSeconds);
  results.less(cpu, subject, "s", cpuSeconds);
}

/** Adds branches, each with one commit on the head that changes many files. Returns their names. */
async function changeFiles(corpus: Corpus, directory: string, count: number): Promise<string[]> {
  const head = (await run("git", ["--git-dir", directory, "rev-parse", "HEAD"], "")).trim();
  const sources = (await smallFiles(corpus, fileBytesMax)).filter((path) => /\.(c|js)$/.test(path));
  const step = Math.max(1, Math.floor(sources.length / changedFileCount));
  const paths = sources.filter((_, i) => i % step === 0).slice(0, changedFileCount);
  const branches: string[] = [];
  for (let i = 0; i < count; i++) {
    const files = paths.map((path, k) => {
      const added = path.endsWith(".c") ? `int ${changedName(i)}_${k};` : `function ${changedName(i)}_${k}() {}`;
      return { path, text: Buffer.concat([readSource(corpus, path).text, Buffer.from(`\n${added}\n`)]) };
    });
    branches.push(`changed-${i}`);
    await commit(directory, `changed-${i}`, files, head);
  }
  return branches;
}

function changedName(i: number): string {
  return `trawl_bench_changed_${i}`;
}

/** Each revision is searched once. */
async function timeFirstSymbols(trawl: Trawl, name: string, revisions: readonly string[]): Promise<number[]> {
  const times: number[] = [];
  for (const [i, revision] of revisions.entries()) {
    const q = `repo:^${name}$@${revision} type:symbol ${changedName(i)}`;
    const ms = await trawl.firstMatchMs(new URLSearchParams({ q, t: "standard" }));
    if (ms === undefined) throw new TrawlError("internal", `${q} finds nothing`);
    times.push(ms);
  }
  return times;
}

/** The symbols of one corpus, by both. */
export interface Compared {
  readonly corpus: string;
  readonly files: number;
  readonly found: number;
  readonly ctags: CtagsRun;
  readonly differing: readonly string[];
}

/** The corpus is indexed. `onName` is called with the name of each symbol of ctags. */
export async function compareSymbols(
  trawl: Trawl,
  corpus: Corpus,
  progress: (text: string) => void,
  onName: (name: string) => void,
): Promise<Compared> {
  const { name, path } = corpus;
  progress(`${name}: ctags itself`);
  const languages = await trawl.languages(name);
  const files = (await treeFiles(corpus)).filter(isRegular).map((file) => file.path);
  const ofFiles = new Map(files.map((file) => [file, languages.get(file) ?? ""]));
  const ctags = await runCtags(path, ofFiles, onName);
  progress(`${name}: all symbols`);
  const symbols = await trawl.symbols(name);
  const differing = symbols.differing(ctags.symbols);
  return { corpus: name, files: ctags.symbols.fileCount, found: symbols.count, ctags, differing };
}

async function compareOther(trawl: Trawl, corpus: Corpus, progress: (text: string) => void): Promise<Compared> {
  progress(`indexing ${corpus.name}, with symbols`);
  await trawl.add(corpus.name, corpus.path, progress);
  await trawl.waitForSymbols();
  return await compareSymbols(trawl, corpus, progress, () => {});
}

/** Counts the names of symbols that contain one of some parts, whatever the case. */
class PartCounter {
  readonly #counts: Map<string, number>;

  constructor(parts: readonly string[]) {
    this.#counts = new Map(parts.map((part) => [part, 0]));
  }

  add(name: string): void {
    const lower = name.toLowerCase();
    for (const [part, count] of this.#counts) if (lower.includes(part)) this.#counts.set(part, count + 1);
  }

  nearest(wanted: number): readonly [part: string, count: number] {
    const distance = ([, count]: readonly [string, number]): number => Math.abs(Math.log((count + 1) / wanted));
    const [nearest = ["", 0] as const] = [...this.#counts].sort((a, b) => distance(a) - distance(b));
    return nearest;
  }
}

async function measureSearches(
  trawl: Trawl,
  repository: string,
  { name, broad }: Subject,
  [part, count]: readonly [string, number],
  { isQuick, progress }: SuiteContext,
  results: Results,
): Promise<void> {
  results.list("Searches by one client on a connection that stays open");
  const requestsMax = isQuick ? 20 : 500;
  const ask = async (asked: readonly string[], patternType: string, requests: number): Promise<ClassResult> => {
    const all = asked.map((query) => streamRequest(`repo:^${repository}$ ${query}`, patternType, "V3"));
    const limits = { durationSeconds: 40, requestsMax: requests };
    const result = await runClients(trawl.url, { kind: "closed", concurrency: 1 }, all, limits);
    requireWhole(result, "a search");
    return result.of;
  };
  progress("searches for symbols");
  for (const [task, query] of [
    [exactTask, `type:symbol count:all ^${name}$`],
    [partTask, `type:symbol count:all ${part}`],
  ] as const) {
    await ask([query], "regexp", requestsMax);
    const { latency } = await ask([query], "regexp", requestsMax);
    results.less(task, ours, "ms", latency.p50Ms);
  }
  results.note(`The whole name is \`${name}\`; the part is \`${part}\`, which ${grouped(count)} names contain.`);
  progress("broad queries");
  const warmUp = 3 * broad.length;
  await ask(broad, "keyword", warmUp);
  const { firstMatches } = await ask(broad, "keyword", isQuick ? warmUp : 600);
  results.less(rankedTask, "p50", "ms", firstMatches.p50Ms);
  results.less(rankedTask, "p99", "ms", firstMatches.p99Ms);
  results.note(`Broad queries: ${broad.map((query) => `\`${query}\``).join(", ")}.`);
}

function report(compared: readonly Compared[], failures: number, results: Results): void {
  results.table(
    table("Symbols found, by search, beside `ctags` with the same options", compared, [
      ["corpus", ({ corpus }) => corpus],
      ["files with symbols", ({ files }) => files],
      ["symbols of trawl", ({ found }) => found],
      ["symbols of ctags", ({ ctags }) => ctags.symbols.count],
      ["files that differ", ({ differing }) => differing.length],
    ]),
  );
  for (const { corpus, differing } of compared.filter(({ differing }) => differing.length > 0))
    results.note(`SYMBOLS DIFFER in ${corpus}: ${differing.slice(0, 5).join(", ")}.`);
  if (failures > 0) results.note(`ctags failed for ${failures} files as a child of the daemon.`);
}

function addTargets(compared: readonly Compared[], results: Results): void {
  for (const { corpus, differing, found } of compared)
    results.atMost(
      `${corpus}: files whose symbols are not those of ctags`,
      "",
      differing.length,
      { must: 0, aim: 0 },
      grouped(found),
    );
  const seconds = (subject: string): number => results.median(cpu, subject);
  results.atMost(
    "indexing with symbols: CPU ÷ (without + ctags itself)",
    "x",
    seconds(withSymbols) / (seconds(without) + seconds("ctags itself")),
    { must: 1.2, aim: 1.05 },
    `${short(seconds(withSymbols))} s; ${short(seconds(without))} + ${short(seconds("ctags itself"))} s`,
  );
  // Two single runs differ by some per cent.
  results.atMost(
    "text is searchable: time with symbols ÷ without",
    "x",
    results.ratio(searchable, withSymbols, without),
    { must: 1.1, aim: 1.05 },
    results.text(searchable, withSymbols, "s"),
  );
  results.atMost(`${exactTask}, p50`, "ms", results.median(exactTask, ours), { must: 3, aim: 1 });
  results.atMost(`${partTask}, p50`, "ms", results.median(partTask, ours), { must: 20, aim: 8 });
  results.atMost("symbols ÷ text", "%", results.median(size, "symbols"), { must: 10, aim: 6 });
  const changed = results.spread(changedTask, ours);
  results.atMost(changedTask, "ms", results.median(changedTask, ours), { must: 300, aim: 100 }, changed);
  results.atMost(`${rankedTask}, p50`, "ms", results.median(rankedTask, "p50"), { must: 15, aim: 8 });
  results.atMost(`${rankedTask}, p99`, "ms", results.median(rankedTask, "p99"), { must: 50, aim: 20 });
}
