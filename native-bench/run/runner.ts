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
import { monotonicMs } from "../../src/base/deadline.js";

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
  const context = { isQuick, rounds, workFolder, cacheFolder, progress: newProgress() };
  const folder = settings.out ?? newRunFolder(join(checkoutFolder, "native-bench", "runs"), head, settings.suffix);
  const reports: SuiteReport[] = [];
  const failed: string[] = [];
  for (const { name, title, measure } of suites) {
    console.log(`[${reports.length + 1}/${suites.length}] ${title}`);
    const startedMs = monotonicMs();
    const { findings, isFailed } = await attempt(measure, context);
    emptyFolder(workFolder);
    const seconds = (monotonicMs() - startedMs) / 1000;
    reports.push({ suite: name, title, seconds, ...findings });
    if (isFailed) failed.push(name);
    const notRun = suites.slice(reports.length).map((suite) => suite.name);
    const run: RunReport = { ...head, suites: reports, ...(notRun.length === 0 ? {} : { notRun }) };
    writeRun(folder, withReplaced(run, folderNames(context)));
    for (const text of [...findings.tables.map(terminalTable), ...findings.notes]) console.log(`\n${text}`);
    console.log(`\n${name}: ${isFailed ? "FAILED after" : "done in"} ${durationText(seconds)}\n`);
  }
  printEnd(reports, folder, failed);
  return failed;
}

const linePeriodMs = 1_000;

/** Shows how far a suite is, in a line at most once a second. */
function newProgress(): SuiteContext["progress"] {
  let shownMs = -Infinity;
  return (text) => {
    if (monotonicMs() - shownMs < linePeriodMs) return;
    shownMs = monotonicMs();
    console.log(`  ${text}`);
  };
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
    // What it has measured until then is true all the same.
    results.note(`This suite failed: ${errorMessage(error)}`);
    return { findings: results.findings(), isFailed: true };
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
