import { spawnSync } from "node:child_process";
import { existsSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { type Command, Option } from "commander";
import { defaultCacheFolder } from "../corpus/corpus.js";
import { compareRuns, type Comparison, comparisonTable, mergeRuns, noiseRule } from "../report/compare.js";
import { terminalTable } from "../report/numbers.js";
import { isRunFolder, readRun } from "../report/run-folder.js";
import type { RunReport } from "../report/run-report.js";
import { onlyOption, parseRounds } from "./run-commands.js";
import type { Suite } from "../suites/suite.js";
import { checkoutFolder, makeWorkFolder } from "../system/folders.js";
import { ended, run, start } from "../system/processes.js";
import { TrawlError } from "../../src/base/errors.js";

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
