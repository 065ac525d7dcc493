import { join } from "node:path";
import { monotonicMs } from "../../src/base/deadline.js";
import { errorMessage, TrawlError } from "../../src/base/errors.js";
import { type Corpus, openCorpus } from "../corpus/corpus.js";
import { cloneBare, commit, isRegular, readSource, smallFiles, treeFiles } from "../corpus/repositories.js";
import { Generator, getRequest } from "../load/generator.js";
import { type CtagsRun, runCtags } from "../peers/ctags.js";
import { findTools } from "../peers/tools.js";
import type { Trawl } from "../peers/trawl.js";
import { grouped } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import { table } from "../report/views.js";
import { quantile, readTreeCpuSeconds, waitForIdle } from "../system/measure.js";
import { run } from "../system/processes.js";
import { longSearches, ours, startDaemon, type Suite, type SuiteContext } from "./suite.js";

/** Symbols beside `ctags`, what they cost, searches for them, and the first results of ranked searches. */
export const symbolsSuite: Suite = { name: "symbols", title: "Symbols, and the first ranked results", measure };

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
  const bare = await startDaemon(context, "without-symbols", "--set", "index.symbols=false");
  await index(bare, corpus.name, clone, without, context, results);
  await bare.stop();
  const trawl = await startDaemon(context, "symbols-data", ...longSearches);
  await index(trawl, corpus.name, clone, withSymbols, context, results);
  const bytes = await trawl.metric("trawl_index_symbol_bytes");
  results.less(size, "symbols", "% of the text", (100 * bytes) / corpus.textBytes);
  const counts = new Map(parts.map((part) => [part, 0]));
  const compared = [
    await compareSymbols(trawl, corpus, progress, (name) => {
      const lower = name.toLowerCase();
      for (const [part, count] of counts) if (lower.includes(part)) counts.set(part, count + 1);
    }),
  ];
  results.less(cpu, "ctags itself", "s", compared[0]?.ctags.cpuSeconds ?? Number.NaN);
  const distance = (count: number): number => Math.abs(Math.log((count + 1) / hitsWanted));
  const [nearest = ["", 0] as const] = [...counts].sort(([, a], [, b]) => distance(a) - distance(b));
  await measureSearches(trawl, corpus.name, subject, nearest, context, results);
  results.less(changedTask, ours, "ms", await timeFirstSymbols(trawl, corpus.name, revisions));
  for (const name of subject.others) {
    try {
      const other = await openCorpus(name, context);
      progress(`indexing ${name}, with symbols`);
      await trawl.add(name, other.path, progress);
      await trawl.waitForSymbols();
      compared.push(await compareSymbols(trawl, other, progress, () => {}));
    } catch (error) {
      results.note(`${name} is not compared: ${errorMessage(error)}.`);
    }
  }
  const failures = await trawl.metric("trawl_index_symbol_failures");
  await trawl.stop();
  if (failures > 0) results.note(`ctags failed for ${failures} files as a child of the daemon.`);
  report(compared, results);
}

/** Adds a repository to an empty daemon, waits until its symbols were extracted, if they are, and records the cost. */
async function index(
  trawl: Trawl,
  name: string,
  url: string,
  subject: string,
  { progress }: SuiteContext,
  results: Results,
): Promise<void> {
  progress(`indexing ${subject}`);
  const startedMs = monotonicMs();
  await trawl.add(name, url, progress);
  results.less(searchable, subject, "s", (monotonicMs() - startedMs) / 1000);
  if (subject === withSymbols) await trawl.waitForSymbols();
  await waitForIdle(trawl.pid, 120_000);
  results.less(cpu, subject, "s", readTreeCpuSeconds(trawl.pid));
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
    const ms = await trawl.firstMatchMs({ q, t: "standard" });
    if (ms === undefined) throw new TrawlError("internal", `${q} finds nothing`);
    times.push(ms);
  }
  return times;
}

/** The symbols of one corpus, by both. */
interface Compared {
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

async function measureSearches(
  trawl: Trawl,
  repository: string,
  { name, broad }: Subject,
  [part, count]: readonly [string, number],
  { isQuick, workFolder, progress }: SuiteContext,
  results: Results,
): Promise<void> {
  const ask = async (query: string, t: string): Promise<number> => {
    const ms = await trawl.firstMatchMs({ q: `repo:^${repository}$ ${query}`, t, v: "V3" });
    if (ms === undefined) throw new TrawlError("internal", `${query} finds nothing`);
    return ms;
  };
  progress("searches for symbols");
  results.list("Searches by one client on a connection that stays open");
  const generator = await Generator.compile(workFolder);
  for (const [task, query] of [
    [exactTask, `type:symbol count:all ^${name}$`],
    [partTask, `type:symbol count:all ${part}`],
  ] as const) {
    const params = new URLSearchParams({ q: `repo:^${repository}$ ${query}`, t: "regexp", v: "V3" });
    const pace = { connections: 1, seconds: 40, count: isQuick ? 20 : 500 };
    const search = [getRequest(`/.api/search/stream?${params}`)];
    await generator.measure(trawl.url, search, pace);
    results.less(task, ours, "ms", (await generator.measure(trawl.url, search, pace)).p50Ms);
  }
  results.note(`The whole name is \`${name}\`; the part is \`${part}\`, which ${grouped(count)} names contain.`);
  progress("broad queries");
  const times: number[] = [];
  const passes = isQuick ? 6 : 30;
  for (let pass = 0; pass < passes; pass++)
    for (const query of broad) {
      const ms = await ask(query, "keyword");
      if (pass >= 3) times.push(ms);
    }
  results.less(rankedTask, "p50", "ms", quantile(times, 0.5));
  results.less(rankedTask, "p99", "ms", quantile(times, 0.99));
  results.note(`Broad queries: ${broad.map((query) => `\`${query}\``).join(", ")}.`);
}

function report(compared: readonly Compared[], results: Results): void {
  results.table(
    table("Symbols found, by search, beside `ctags` with the same options", compared, [
      ["corpus", ({ corpus }) => corpus],
      ["files with symbols", ({ files }) => files],
      ["symbols of trawl", ({ found }) => found],
      ["symbols of ctags", ({ ctags }) => ctags.symbols.count],
      ["files that differ", ({ differing }) => differing.length],
    ]),
  );
  for (const { corpus, differing, found } of compared) {
    if (differing.length > 0) results.note(`SYMBOLS DIFFER in ${corpus}: ${differing.slice(0, 5).join(", ")}.`);
    const what = `${corpus}: files whose symbols are not those of ctags`;
    results.targets({
      what,
      unit: "files",
      value: differing.length,
      atMost: [0, 0],
      note: `${grouped(found)} symbols`,
    });
  }
  const seconds = (subject: string): number => results.median(cpu, subject);
  results.targets(
    {
      what: "indexing with symbols: CPU ÷ (without + ctags itself)",
      value: seconds(withSymbols) / (seconds(without) + seconds("ctags itself")),
      atMost: [1.2, 1.05],
    },
    // Two single runs differ by some per cent.
    {
      what: "text is searchable: time with symbols ÷ without",
      of: [searchable, withSymbols],
      over: [searchable, without],
      atMost: [1.1, 1.05],
    },
    { what: `${exactTask}, p50`, of: [exactTask, ours], atMost: [3, 1] },
    { what: `${partTask}, p50`, of: [partTask, ours], atMost: [20, 8] },
    { what: "symbols ÷ text", of: [size, "symbols"], unit: "%", atMost: [10, 6] },
    { what: changedTask, of: [changedTask, ours], atMost: [300, 100] },
    { what: `${rankedTask}, p50`, of: [rankedTask, "p50"], atMost: [15, 8] },
    { what: `${rankedTask}, p99`, of: [rankedTask, "p99"], atMost: [50, 20] },
  );
}
