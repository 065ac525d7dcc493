import { join, resolve } from "node:path";
import { type Command, Option } from "commander";
import { peerVersions } from "../peers/peers.js";
import { isRunFolder, readRun, renderRun } from "../report/run-folder.js";
import { type RunSettings, runSuites } from "./runner.js";
import type { Suite } from "../suites/suite.js";
import { TrawlError } from "../../src/base/errors.js";
import { spawnSync } from "node:child_process";
import { existsSync, rmSync, symlinkSync } from "node:fs";
import { defaultCacheFolder } from "../corpus/corpus.js";
import { compareRuns, type Comparison, comparisonTable, mergeRuns, noiseRule } from "../report/compare.js";
import { terminalTable } from "../report/numbers.js";
import type { RunReport } from "../report/run-report.js";
import { checkoutFolder, makeWorkFolder, ended, run, start } from "../system/processes.js";

export const exitCodes = { suiteFailed: 1, failed: 2 } as const;

/** The suites of a quick run without `--only`: as many as fit into three minutes. */
const quickSuites = ["words", "peers", "index"];

const roundsMin = 5;
const quickRounds = 3;
const roundsMax = 100;

/** How long to wait for a busy machine: work from before the run, such as a build, may go on for a while. */
const quietLimitMs = { quick: 10_000, full: 60_000 } as const;

const allDescription = "Every suite on the full corpora, in about an hour and a half on two cores.";
const quickDescription = `On what this checkout has, in at most three minutes: ${quickSuites.join(", ")}, or others by --only.`;

interface RunOptions {
  readonly rounds?: number;
  readonly out?: string;
  readonly only?: readonly string[];
  readonly quick?: boolean;
}

/** `all`, `quick`, and a command for each suite. */
export function addRunCommands(program: Command, suites: readonly Suite[], exit: (code: number) => void): void {
  const add = (name: string, description: string, action: (typed: RunOptions) => Promise<void>): Command => {
    const rounds = `rounds that count: ${roundsMin} at least, fewer in a quick run`;
    return program
      .command(name)
      .description(description)
      .addOption(new Option("--rounds <n>", rounds).argParser(parseRounds))
      .option("--out <dir>", "the folder to write; native-bench/runs/DATE-MACHINE otherwise")
      .action(action);
  };
  const start = async (command: string, isQuick: boolean, names: readonly string[] | undefined, typed: RunOptions) => {
    const chosen = suites.filter(({ name }) => names?.includes(name) ?? true);
    const failed = await runSuites(chosen, { ...settings(command, isQuick, typed), versions: await peerVersions() });
    if (failed.length > 0) exit(exitCodes.suiteFailed);
  };
  add("all", allDescription, (typed) => start("all", false, typed.only, typed)).addOption(onlyOption(suites));
  add("quick", quickDescription, (typed) => start("quick", true, typed.only ?? quickSuites, typed)).addOption(
    onlyOption(suites),
  );
  for (const { name, title } of suites)
    add(name, `${title}.`, (typed) => start(name, typed.quick === true, [name], typed)).option(
      "--quick",
      "on what this checkout has, with fewer rounds",
    );
}

function onlyOption(suites: readonly Suite[]): Option {
  const all = suites.map(({ name }) => name);
  return new Option("--only <suite,...>", `some of ${all.join(", ")}`).argParser((text) => parseNames(text, all));
}

function settings(name: string, isQuick: boolean, typed: RunOptions): Omit<RunSettings, "versions"> {
  const { rounds, out, only, quick } = typed;
  if (rounds !== undefined && rounds < roundsMin && !isQuick)
    throw new TrawlError("bad-request", `--rounds ${rounds} is too few: a spread needs ${roundsMin}`);
  const words = ["trawl-bench", name];
  if (quick) words.push("--quick");
  if (rounds !== undefined) words.push("--rounds", String(rounds));
  if (only !== undefined) words.push("--only", only.join(","));
  const isWhole = name === "all" && only === undefined;
  return {
    command: words.join(" "),
    isQuick,
    rounds: rounds ?? (isQuick ? quickRounds : roundsMin),
    out: out === undefined ? undefined : resolve(out),
    quietLimitMs: isQuick ? quietLimitMs.quick : quietLimitMs.full,
    suffix: isWhole ? "" : [name, ...(quick ? ["quick"] : []), ...(only ?? [])].join("-"),
  };
}

function parseRounds(text: string): number {
  const rounds = Number(text);
  if (Number.isInteger(rounds) && rounds >= 1 && rounds <= roundsMax) return rounds;
  const typed = JSON.stringify(text);
  throw new TrawlError("bad-request", `--rounds takes a whole number from 1 to ${roundsMax}, not ${typed}`);
}

function parseNames(text: string, all: readonly string[]): readonly string[] {
  const words = text.split(",").map((name) => name.trim());
  const names = words.filter((name) => name !== "");
  const unknown = names.find((name) => !all.includes(name));
  if (unknown === undefined && names.length > 0) return names;
  const typed = JSON.stringify(unknown ?? text);
  throw new TrawlError("bad-request", `there is no suite ${typed}; there are ${all.join(", ")}`);
}

export function addReportCommand(program: Command): void {
  program
    .command("report")
    .description("Writes the report and the plots of a run again.")
    .argument("<run>", "the folder of a run")
    .action((folder: string) => {
      renderRun(folder, readRun(folder));
      console.log(`Written: ${folder}/report.md`);
    });
}

interface CompareOptions {
  readonly only?: readonly string[];
  readonly rounds: number;
}

export function addCompareCommand(program: Command, suites: readonly Suite[]): void {
  program
    .command("compare")
    .description("Two runs, or two revisions of this checkout, which are built and measured in turn.")
    .argument("<before>", "the folder of a run, or a revision")
    .argument("<after>", "the same for the other side")
    .addOption(onlyOption(suites))
    .addOption(new Option("--rounds <n>", "of revisions: how often each is run").argParser(parseRounds).default(3))
    .action(compare);
}

async function compare(before: string, after: string, { only = [], rounds }: CompareOptions): Promise<void> {
  if (isRunFolder(before) && isRunFolder(after)) return print(compareRuns(readRun(before), readRun(after)), []);
  const settings = { only, repeats: rounds, say: (text: string) => console.log(text) };
  const commits = [await requireCommit(before), await requireCommit(after)] as const;
  const { runs, notes } = await measureRevisions(...commits, settings);
  print(compareRuns(...runs), notes);
}

async function requireCommit(text: string): Promise<string> {
  if (existsSync(text)) {
    const message = `${text} is not the folder of a run, and both sides must be runs or both revisions`;
    throw new TrawlError("bad-request", message);
  }
  const commit = await resolveCommit(text);
  if (commit !== undefined) return commit;
  throw new TrawlError("not-found", `${text} is neither the folder of a run nor a revision of this checkout`);
}

function print(comparison: Comparison, notes: readonly string[]): void {
  const { rows, onlyBefore, onlyAfter } = comparison;
  if (rows.length === 0) throw new TrawlError("bad-request", "the two have no task and subject in common");
  const missing = (side: string, names: readonly string[]): string[] =>
    names.length === 0 ? [] : [`Only ${side}: ${names.join("; ")}.`];
  const tables = [terminalTable(comparisonTable(comparison)), noiseRule];
  console.log([...tables, ...missing("before", onlyBefore), ...missing("after", onlyAfter), ...notes].join("\n\n"));
}

interface RevisionSettings {
  /** The suites to run; all of a quick run when empty. */
  readonly only: readonly string[];
  /** How often each revision is run, in turn. */
  readonly repeats: number;
  readonly say: (text: string) => void;
}

/** The commit of a revision of this checkout; undefined when it is none. */
async function resolveCommit(revision: string): Promise<string | undefined> {
  const commit = await git("rev-parse", "--quiet", "--verify", "--end-of-options", `${revision}^{commit}`).catch(
    () => "",
  );
  return commit === "" ? undefined : commit;
}

/**
 * Builds both commits, each in a work tree of its own with the packages of this checkout, and has each run its own quick
 * measurement, in turn. Returns the merged runs of each, and notes about them.
 */
async function measureRevisions(
  before: string,
  after: string,
  settings: RevisionSettings,
): Promise<{ readonly runs: readonly [RunReport, RunReport]; readonly notes: readonly string[] }> {
  const folder = makeWorkFolder(defaultCacheFolder());
  const trees = [join(folder, "before"), join(folder, "after")] as const;
  // By then the folder is deleted, and git removes its work trees.
  process.on("exit", () => spawnSync("git", ["-C", checkoutFolder, "worktree", "prune"]));
  for (const [i, commit] of [before, after].entries()) {
    settings.say(`building ${commit.slice(0, 12)}`);
    await buildTree(trees[i] ?? "", commit);
  }
  const records: [RunReport[], RunReport[]] = [[], []];
  for (let repeat = 1; repeat <= settings.repeats; repeat++) {
    for (const [i, tree] of trees.entries()) {
      settings.say(`round ${repeat} of ${settings.repeats}: ${i === 0 ? "before" : "after"}`);
      records[i]?.push(await runTree(tree, settings.only));
    }
  }
  rmSync(folder, { recursive: true, force: true });
  return { runs: [merged(records[0]), merged(records[1])], notes: await comparisonNotes(before, after) };
}

async function buildTree(tree: string, commit: string): Promise<void> {
  await git("worktree", "add", "--quiet", "--detach", tree, commit);
  if (!existsSync(join(tree, "bin/trawl-bench")))
    throw new TrawlError("bad-request", `${commit.slice(0, 12)} has no bin/trawl-bench: it is older than the harness`);
  symlinkSync(join(checkoutFolder, "node_modules"), join(tree, "node_modules"));
  // With the packages taken as installed, make does not change those of this checkout.
  await run("make", ["-C", tree, "-o", "install", "kernel", "typescript"], "");
}

async function runTree(tree: string, only: readonly string[]): Promise<RunReport> {
  const out = join(tree, "build", "run");
  const args = [
    join(tree, "bin/trawl-bench"),
    "quick",
    "--out",
    out,
    ...(only.length === 0 ? [] : ["--only", only.join(",")]),
  ];
  const child = start(process.execPath, args, { cwd: tree, stdio: ["ignore", "ignore", "inherit"] });
  const code = await ended(child, runLimitMs);
  if (code !== 0) throw new TrawlError("internal", `the measurement of a revision ended with ${code}`);
  return readRun(out);
}

const runLimitMs = 900_000;

function merged([first, ...more]: readonly RunReport[]): RunReport {
  if (first === undefined) throw new TrawlError("bad-request", "each revision is run at least once");
  return mergeRuns(first, more);
}

async function comparisonNotes(before: string, after: string): Promise<string[]> {
  const differs = async (path: string): Promise<boolean> =>
    (await git("diff", "--name-only", before, after, "--", path)) !== "";
  return [
    (await differs("native-bench")) ? "The harness differs between the two, too; a change may be its own." : "",
    (await differs("package-lock.json"))
      ? "The two name different packages; both were run with those of this checkout."
      : "",
  ].filter((note) => note !== "");
}

async function git(...args: readonly string[]): Promise<string> {
  return (await run("git", ["-C", checkoutFolder, ...args], "")).trim();
}
