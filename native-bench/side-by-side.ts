// Measures this checkout's daemon beside ripgrep and codesearch and prints the table of speeds: `make bench-peers`.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { messageOf } from "../src/base/errors.js";
import { measureCommits } from "./parts/commits.js";
import { openCorpus, type Corpus } from "./corpus/corpus.js";
import { figuresOf, type Measured } from "./parts/figures.js";
import { measureIndex, measureRest } from "./parts/indexing.js";
import { measureMany } from "./parts/many.js";
import { openPeers, type Peers } from "./peers/peers.js";
import { run } from "./system/processes.js";
import { nameOf, queries } from "./peers/queries.js";
import { differenceLines, figureTable, judge, meets, searchTable, short, type Figure, type JudgedSearch, type SearchRow } from "./report/table.js";
import { measureFirstMatch, measureFloor, measureSearch } from "./parts/searches.js";
import { Trawl } from "./peers/trawl.js";

interface Settings {
  readonly corpus: string | undefined;
  readonly rounds: number;
  /** Number of small repositories; 0 leaves that part out. */
  readonly many: number;
}

const floorCount = 20;
const firstMatchCount = 200;
/** Above this others are at work on the machine. */
const quietLoad = 0.5;
const roundsMin = 5;

try {
  await main(readSettings());
  process.exit(0);
} catch (error) {
  console.error(`side-by-side: ${messageOf(error)}`);
  process.exit(1);
}

async function main(settings: Settings): Promise<void> {
  const loadBefore = loadavg()[0] ?? 0;
  if (loadBefore > quietLoad) console.log(`The machine is busy (load ${short(loadBefore)}): look at the ratios, not at the times.`);
  const corpus = await openCorpus(settings.corpus);
  const workFolder = mkdtempSync(join(corpus.cacheFolder, "run-"));
  process.on("exit", () => rmSync(workFolder, { recursive: true, force: true, maxRetries: 3 }));
  console.log(`${corpus.fileCount} files, ${short(corpus.textBytes / 1e6)} MB of text. ${estimate(settings)}`);
  const peers = await openPeers(corpus);
  const { rows, measured } = await measureAll(settings, corpus, peers, workFolder);
  const returnMs = rows.find(({ query }) => nameOf(query) === "return")?.trawl.median ?? NaN;
  const searches = rows.map((row) => judge(row, returnMs));
  const figures = figuresOf(corpus, measured);
  printTables(searches, figures, measured);
  writeRun({
    date: new Date().toISOString(),
    machine: { cores: cpus().length, processor: cpus()[0]?.model, memoryBytes: totalmem(), loadBefore },
    versions: { node: process.version, trawl: await trawlVersion(), rg: peers.rg.version, csearch: peers.csearch.version },
    corpus: { commit: corpus.commit, fileCount: corpus.fileCount, textBytes: corpus.textBytes },
    rounds: settings.rounds,
    searches,
    figures,
    measured,
  });
}

/** One daemon goes through it all, so each number is of a daemon that has done what stands before it. */
async function measureAll(settings: Settings, corpus: Corpus, peers: Peers, workFolder: string): Promise<{ readonly rows: SearchRow[]; readonly measured: Measured }> {
  const clone = join(workFolder, "corpus.git");
  await run("git", ["clone", "-q", "--bare", corpus.path, clone], "");
  const dataFolder = join(workFolder, "data");
  const trawl = await Trawl.start(dataFolder, ["--set", "search.maxTimeoutSeconds=300"]);
  const index = await measureIndex(trawl, corpus, clone, dataFolder);
  console.log("Searches side by side");
  const rows: SearchRow[] = [];
  for (const query of queries) rows.push(await measureSearch(trawl, corpus, peers, query, settings.rounds));
  const floor = await measureFloor(trawl, floorCount);
  const firstMatch = await measureFirstMatch(trawl, firstMatchCount);
  const commits = await measureCommits(trawl, corpus, workFolder, clone);
  const rest = await measureRest(trawl, dataFolder);
  const many = settings.many > 0 ? await measureMany(corpus, workFolder, settings.many) : undefined;
  return { rows, measured: { index, floor, firstMatch, commits, rest, many } };
}

function printTables(searches: readonly JudgedSearch[], figures: readonly Figure[], { floor }: Measured): void {
  const remarks = [...differenceLines(searches), `An HTTP answer without a search takes curl ${short(floor.median)} ms.`];
  console.log(["", searchTable(searches), "", ...remarks, "", figureTable(figures), ""].join("\n"));
  const missed = searches.filter(({ missesMust }) => missesMust.length > 0).length + figures.filter((figure) => !meets(figure, figure.must)).length;
  console.log(`${missed} of ${searches.length + figures.length} rows miss what they must reach.`);
}

function readSettings(): Settings {
  const { values } = parseArgs({
    options: {
      corpus: { type: "string", default: process.env["BENCH_CORPUS"] ?? "" },
      rounds: { type: "string", default: String(roundsMin) },
      many: { type: "boolean", default: false },
      "many-count": { type: "string", default: "10000" },
    },
  });
  const rounds = Math.max(roundsMin, Number(values.rounds) || 0);
  return { corpus: values.corpus || undefined, rounds, many: values.many ? Number(values["many-count"]) : 0 };
}

/** As measured on two cores. */
function estimate({ rounds, many }: Settings): string {
  const minutes = Math.round(4 + rounds * 0.6);
  return many > 0 ? `About ${minutes + Math.round(many / 500)} minutes.` : `About ${minutes} minutes.`;
}

async function trawlVersion(): Promise<string> {
  const checkout = fileURLToPath(new URL("../..", import.meta.url));
  return (await run("git", ["-C", checkout, "describe", "--always", "--dirty"], "").catch(() => "unknown")).trim();
}

function writeRun(result: RunRecord): void {
  const folder = fileURLToPath(new URL("../../native-bench/runs", import.meta.url));
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${result.date.slice(0, 10)}.json`);
  writeFileSync(file, `${JSON.stringify(result, undefined, 2)}\n`);
  console.log(`Written to ${file}`);
}

type RunRecord = Readonly<Record<string, unknown>> & { readonly date: string };
