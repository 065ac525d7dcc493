/**
 * `make history-oracle REPOS="PATH…"`: searches of the histories of real repositories equal those of a naive search of
 * what `git log` writes. Each query is asked of a daemon with one search worker and of one with several, while their
 * index is built and afterwards, and without the index.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { DaemonProcess } from "../support/daemon.js";
import { plansOf } from "../support/history-parts.js";
import { naiveHistory, type NaiveCommit } from "../support/naive-history.js";
import { randomFrom } from "../support/random.js";
import { removeFolder } from "../support/remove-folder.js";
import { until } from "../support/waiting.js";
import { askForHistory, countResults, findDifference, type HistoryAnswer } from "./history-answers.js";
import { pick, queryFrom } from "./history-words.js";

const { REPOS = "", QUERIES = "", SEED = "", COMMITS = "" } = process.env;
const queryCount = Number(QUERIES || 700);
const seed = Number(SEED || Math.floor(Math.random() * 2 ** 30));
/** Of a longer history the newest commits are compared. */
const commitCountMax = Number(COMMITS || 12_000);
/** Histories up to this length are also read from git. */
const unindexedCommitsMax = 600;
/** Of longer ones, one in so many. */
const unindexedShare = 100;
const workerCounts = [1, 4];
const readyMsMax = 30 * 60_000;

/** Commits that a query searches. */
interface Range {
  /** After the `@`. */
  readonly revisions: string;
  readonly commits: readonly NaiveCommit[];
}

/** A history in the daemons and in the model. */
class Comparison {
  readonly #path: string;
  readonly #daemons: readonly DaemonProcess[];
  readonly #base: string;
  readonly #commits: readonly NaiveCommit[];
  readonly #random = randomFrom(seed);
  #asked = 0;
  #unindexed = 0;
  #found = 0;
  differences = 0;

  constructor(path: string, daemons: readonly DaemonProcess[], base: string, commits: readonly NaiveCommit[]) {
    this.#path = path;
    this.#daemons = daemons;
    this.#base = base;
    this.#commits = commits;
  }

  async run(what: string, count: number): Promise<void> {
    for (let i = 0; i < count; i++) await this.#compare(what);
    process.stdout.write(
      `${this.#path}: ${what}: ${this.#asked} queries of ${this.#commits.length} commits, ${this.#unindexed} answers ` +
        `without the index, ${this.#found} results, ${this.differences} differences\n`,
    );
  }

  async #compare(what: string): Promise<void> {
    const range = this.#range();
    const text = queryFrom(range.commits.length > 0 ? range.commits : this.#commits, this.#random);
    const query = `repo:^repository$@${range.revisions} ${text}`;
    const plans = plansOf(query);
    const [one, several] = this.#daemons;
    this.#asked++;
    const asked: (readonly [string, DaemonProcess, string])[] = [
      ["one worker", one, ""],
      ["several workers", several, ""],
    ];
    if (range.commits.length <= unindexedCommitsMax || this.#random(unindexedShare) === 0) {
      this.#unindexed++;
      asked.push(["not indexed", pick(this.#random, this.#daemons), " index:no"]);
    }
    for (const [how, daemon, suffix] of asked) {
      const answer: HistoryAnswer = await askForHistory(daemon.url, `${query}${suffix}`);
      const difference = findDifference(answer, plans, range.commits);
      if (suffix === "" && daemon === one) this.#found += countResults(answer);
      if (difference === undefined) continue;
      this.differences++;
      process.stdout.write(`${this.#path}: ${what}, ${how}: ${query}${suffix}\n  ${difference}\n`);
    }
  }

  /** The whole history, or what one commit reaches and another does not. */
  #range(): Range {
    const base = this.#base === "" ? "" : `:^${this.#base}`;
    if (this.#random(3) > 0) return { revisions: `HEAD${base}`, commits: this.#commits };
    const at = this.#random(this.#commits.length);
    const from = this.#commits[at].oid;
    const without = this.#commits[Math.min(this.#commits.length - 1, at + this.#random(500))].oid;
    const excluded = [without, ...(this.#base === "" ? [] : [this.#base])].map((oid) => `^${oid}`);
    const reached = new Set(git(this.#path, "rev-list", from, ...excluded).split("\n"));
    return {
      revisions: [from, ...excluded].join(":"),
      commits: this.#commits.filter(({ oid }) => reached.has(oid)),
    };
  }
}

function git(path: string, ...args: string[]): string {
  return execFileSync("git", ["-C", path, ...args], { encoding: "utf8", maxBuffer: 1 << 28 }).trim();
}

/** The newest commit whose history is left out, so that not more than the limit remain; "" if none has to be. */
function findBase(path: string): string {
  const count = (base: string): number => Number(git(path, "rev-list", "--count", "HEAD", `^${base}`));
  if (Number(git(path, "rev-list", "--count", "HEAD")) <= commitCountMax) return "";
  const line = git(path, "rev-list", "--first-parent", "HEAD").split("\n");
  let [low, high] = [0, line.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (count(line[middle]) <= commitCountMax) low = middle;
    else high = middle - 1;
  }
  return line[low];
}

async function start(path: string, workerCount: number, folder: string): Promise<DaemonProcess> {
  const file = join(folder, `${workerCount}.jsonc`);
  const configuration = { repositories: [{ name: "repository", url: path }], index: { symbols: false } };
  writeFileSync(file, JSON.stringify(configuration));
  const settings = [`workers=${workerCount}`, "index.historyBytes=4294967296", "search.maxTimeoutSeconds=3600"];
  return DaemonProcess.start(join(folder, `data-${workerCount}`), [
    "--config",
    file,
    ...settings.flatMap((setting) => ["--set", setting]),
  ]);
}

/** Returns the number of differences. */
async function compareRepository(path: string): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "trawl-oracle-"));
  const daemons: DaemonProcess[] = [];
  try {
    for (const workerCount of workerCounts) daemons.push(await start(path, workerCount, folder));
    const base = findBase(path);
    const commits = await naiveHistory(path, base === "" ? ["HEAD"] : ["HEAD", `^${base}`]);
    for (const daemon of daemons) {
      const isReady = async (): Promise<boolean> => (await daemon.get("/readyz")).status === 200;
      await until("the repository can be searched", isReady, readyMsMax);
    }
    const comparison = new Comparison(path, daemons, base, commits);
    await comparison.run("while it is indexed", Math.min(20, queryCount));
    for (const daemon of daemons) {
      const isIndexed = async (): Promise<boolean> => (await daemon.list())[0].historyIndex?.isUpToDate === true;
      await until("the history is indexed", isIndexed, readyMsMax);
    }
    for (let left = queryCount - 20; left > 0; left -= 100) await comparison.run("indexed", Math.min(left, 100));
    return comparison.differences;
  } finally {
    for (const daemon of daemons) await daemon.stop();
    removeFolder(folder);
  }
}

const paths = REPOS.split(" ").filter((path) => path !== "");
if (paths.length === 0 || !(queryCount > 0) || !Number.isSafeInteger(seed) || !(commitCountMax > 0)) {
  process.stderr.write("REPOS are paths of repositories; QUERIES, SEED and COMMITS are numbers\n");
  process.exit(2);
}
process.stdout.write(`SEED=${seed}\n`);
let differences = 0;
for (const path of paths) differences += await compareRepository(resolve(path));
process.exitCode = differences === 0 ? 0 : 1;
