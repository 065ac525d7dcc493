import { readdirSync, readFileSync, rmSync } from "node:fs";
import { cpus, homedir, loadavg, release, totalmem } from "node:os";
import { join } from "node:path";
import { defaultCacheFolder } from "../corpus/corpus.js";
import { durationText, terminalTable } from "../report/numbers.js";
import { Results } from "../report/results.js";
import { newRunFolder, withReplaced, writeRun } from "../report/run-folder.js";
import type { Environment, Findings, RunReport, SuiteReport } from "../report/run-report.js";
import { judge, targetsSummary, targetsTable } from "../report/markdown.js";
import type { Suite, SuiteContext } from "../suites/suite.js";
import { checkoutFolder, makeWorkFolder, endAll, run } from "../system/processes.js";
import { waitForQuiet } from "../system/measure.js";
import { errorMessage } from "../../src/base/errors.js";
import type { WriteStream } from "node:tty";
import { callEvery, monotonicMs, type PendingCall } from "../../src/base/deadline.js";

export interface RunSettings {
  /** As a person would type it again, without folders of this machine. */
  readonly command: string;
  readonly isQuick: boolean;
  readonly rounds: number;
  /** The folder to write; undefined for `native-bench/runs/DATE-MACHINE-SUFFIX`. */
  readonly out: string | undefined;
  readonly suffix: string;
  /** How long to wait for a busy machine. */
  readonly quietLimitMs: number;
  /** Versions of the peers, by name. */
  readonly versions: Readonly<Record<string, string>>;
}

/**
 * Runs the suites one after the other. The run is written after each, so an interrupted one keeps what it has. A suite
 * that fails is noted and the others go on; returns the names of those that failed.
 */
export async function runSuites(suites: readonly Suite[], settings: RunSettings): Promise<readonly string[]> {
  const cacheFolder = defaultCacheFolder();
  const busyBefore = await waitForQuiet(settings.quietLimitMs, console.log);
  const environment = await readEnvironment(settings.versions, busyBefore);
  const head = { date: new Date().toISOString(), command: settings.command, environment };
  const workFolder = makeWorkFolder(cacheFolder);
  const { isQuick, rounds } = settings;
  const estimates = suites.map(({ estimateSeconds: { quick, full } }) => (isQuick ? quick : full));
  const progress = new Progress(process.stdout, estimates);
  const context = { isQuick, rounds, workFolder, cacheFolder, progress: (text: string) => progress.say(text) };
  const folder = settings.out ?? newRunFolder(join(checkoutFolder, "native-bench", "runs"), head, settings.suffix);
  const reports: SuiteReport[] = [];
  const failed: string[] = [];
  for (const { name, title, measure } of suites) {
    progress.begin(title);
    const { findings, isFailed } = await attempt(measure, context);
    emptyFolder(workFolder);
    const seconds = progress.end();
    reports.push({ suite: name, title, seconds, ...findings });
    if (isFailed) failed.push(name);
    const notRun = suites.slice(reports.length).map((suite) => suite.name);
    const run: RunReport = { ...head, suites: reports, ...(notRun.length === 0 ? {} : { notRun }) };
    writeRun(folder, withReplaced(run, folderNames(context)));
    for (const text of [...findings.tables.map(terminalTable), ...findings.notes]) progress.line(`\n${text}`);
    progress.line(`\n${name}: ${isFailed ? "FAILED after" : "done in"} ${durationText(seconds)}\n`);
  }
  progress.close();
  printEnd(reports, folder, failed);
  return failed;
}

async function attempt(
  measure: Suite["measure"],
  context: SuiteContext,
): Promise<{ readonly findings: Findings; readonly isFailed: boolean }> {
  const results = new Results(context.isQuick);
  try {
    await measure(context, results);
    return { findings: results.findings(), isFailed: false };
  } catch (error) {
    const notes = [`This suite failed: ${errorMessage(error)}`];
    return { findings: { notes, samples: [], tables: [], plots: [], targets: [] }, isFailed: true };
  } finally {
    await endAll();
  }
}

/**
 * Data of daemons and copies of corpora take gigabytes, and the next suite makes its own. A child of a daemon that has just
 * ended may still write a file, so a folder that is not empty is tried again.
 */
function emptyFolder(folder: string): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true, maxRetries: 5 });
}

/** What replaces folders of this machine in what is written. */
function folderNames({ workFolder, cacheFolder }: SuiteContext): ReadonlyMap<string, string> {
  return new Map([
    [workFolder, "$WORK"],
    [cacheFolder, "$CACHE"],
    [checkoutFolder, "$CHECKOUT"],
    [homedir(), "$HOME"],
  ]);
}

function printEnd(suites: readonly SuiteReport[], folder: string, failed: readonly string[]): void {
  if (suites.some(({ targets }) => targets.some((target) => judge(target) !== "")))
    console.log(`${terminalTable(targetsTable(suites))}\n\n${targetsSummary(suites)}`);
  if (failed.length > 0) console.log(`${failed.length} of ${suites.length} suites failed: ${failed.join(", ")}`);
  console.log(`The report is ${join(folder, "report.md")}`);
}

/**
 * The machine as it is at the moment of the call. `peers` are their versions by name; `busyBefore` is what `waitForQuiet`
 * returned.
 */
async function readEnvironment(peers: Readonly<Record<string, string>>, busyBefore: number): Promise<Environment> {
  return {
    machine: {
      processor: cpus()[0]?.model || process.arch,
      cores: cpus().length,
      memoryBytes: totalmem(),
      kernel: release(),
      loadBefore: loadavg()[0] ?? 0,
      busyBefore,
      pageCacheBytes: pageCacheBytes(readFileSync("/proc/meminfo", "utf8")),
    },
    versions: {
      trawl: await trawlVersion(),
      node: process.version,
      git: (await run("git", ["--version"], "")).trim(),
      ...peers,
    },
  };
}

/** Of the text of `/proc/meminfo`. */
export function pageCacheBytes(meminfo: string): number {
  return Number(/^Cached:\s+(\d+) kB$/m.exec(meminfo)?.[1] ?? 0) * 1024;
}

/** As git describes the checkout; a checkout without git has the version of the package. */
async function trawlVersion(): Promise<string> {
  try {
    return (await run("git", ["-C", checkoutFolder, "describe", "--always", "--dirty"], "")).trim();
  } catch {
    return (JSON.parse(readFileSync(join(checkoutFolder, "package.json"), "utf8")) as { version: string }).version;
  }
}

/**
 * Seconds left of suites estimated at `estimates`, when the first ones took `done` and the next has run for
 * `runningSeconds`. A machine that was slower than estimated is expected to stay so, within bounds.
 */
export function secondsLeft(estimates: readonly number[], done: readonly number[], runningSeconds: number): number {
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const expected = sum(estimates.slice(0, done.length));
  const slowness = expected === 0 ? 1 : Math.min(5, Math.max(0.3, sum(done) / expected));
  const current = estimates[done.length] ?? 0;
  return Math.max(0, current * slowness - runningSeconds) + sum(estimates.slice(done.length + 1)) * slowness;
}

type Out = Pick<WriteStream, "write"> & { readonly isTTY?: boolean; readonly columns?: number };

const linePeriodMs = 1_000;
const statusPeriodMs = 500;

/** Shows how far a run is: one changing line on a terminal, a line at most once a second elsewhere. */
export class Progress {
  readonly #out: Out;
  readonly #estimates: readonly number[];
  readonly #done: number[] = [];
  readonly #timer: PendingCall;
  #startedMs = monotonicMs();
  #printedMs = -Infinity;
  #text = "";

  constructor(out: Out, estimates: readonly number[]) {
    this.#out = out;
    this.#estimates = estimates;
    this.#timer = callEvery(statusPeriodMs, () => this.#drawStatus());
  }

  begin(title: string): void {
    this.#startedMs = monotonicMs();
    this.line(
      `[${this.#done.length + 1}/${this.#estimates.length}] ${title} (about ${durationText(this.#left())} left)`,
    );
  }

  say(text: string): void {
    this.#text = text;
    if (this.#out.isTTY) this.#drawStatus();
    else if (monotonicMs() - this.#printedMs > linePeriodMs) this.line(`  ${text}`);
  }

  /** Writes lines that are not overwritten. */
  line(text: string): void {
    this.#printedMs = monotonicMs();
    this.#out.write(`${this.#out.isTTY ? clearLine : ""}${text}\n`);
  }

  /** Returns the seconds that the suite took. */
  end(): number {
    const seconds = this.#runningSeconds();
    this.#done.push(seconds);
    this.#text = "";
    return seconds;
  }

  close(): void {
    this.#timer.cancel();
    if (this.#out.isTTY) this.#out.write(clearLine);
  }

  #runningSeconds(): number {
    return (monotonicMs() - this.#startedMs) / 1000;
  }

  #left(): number {
    return secondsLeft(this.#estimates, this.#done, this.#runningSeconds());
  }

  #drawStatus(): void {
    if (!this.#out.isTTY || this.#text === "") return;
    const status = `  ${durationText(this.#runningSeconds())}, about ${durationText(this.#left())} left: ${this.#text}`;
    this.#out.write(`${clearLine}${status.slice(0, (this.#out.columns ?? 80) - 1)}`);
  }
}

const clearLine = "\r\x1b[K";
