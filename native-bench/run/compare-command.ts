import { existsSync } from "node:fs";
import { type Command, Option } from "commander";
import { compareRuns, type Comparison, comparisonTable, noiseRule } from "../report/compare.js";
import { terminalTable } from "../report/numbers.js";
import { isRunFolder, readRun } from "../report/run-folder.js";
import { measureRevisions, resolveCommit } from "./revisions.js";
import { onlyOption, parseRounds } from "./run-commands.js";
import type { Suite } from "../suites/suite.js";
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
