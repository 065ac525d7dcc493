import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { peerVersions } from "../peers/peers.js";
import { readRun, renderRun } from "../report/run-folder.js";
import { type RunSettings, runSuites } from "./runner.js";
import type { Suite } from "../suites/suite.js";
import { TrawlError } from "../../src/base/errors.js";

export const exitCodes = { suiteFailed: 1, failed: 2 } as const;

/** The suites of a quick run without `--only`: as many as fit into three minutes. */
const quickSuites = ["peers", "index", "load-scale", "micro"];

/** The commands that run only some suites. */
const suiteCommands: readonly (readonly [name: string, suites: readonly string[], description: string])[] = [
  ["peers", ["peers"], "Searches, many clients and an index build beside other tools."],
  ["one-client", ["one-client"], "One client: without pauses, after pauses, and first after a start."],
  ["index", ["index"], "Indexing, commits, and the daemon at rest."],
  ["revisions", ["revisions"], "Commits that are not indexed, one and 200 of them."],
  ["history", ["history"], "Commits, diffs, their index and blame, beside git."],
  ["graphql", ["graphql"], "GraphQL beside other servers, on a long history, and beside streams."],
  ["mcp", ["mcp"], "Tools for assistants: calls a second beside the SDK, and memory."],
  ["many", ["many"], "10,000 small repositories."],
  ["ranking", ["ranking"], "Whether the file and line that a person wants come first, beside zoekt with symbols."],
  ["symbols", ["symbols"], "Symbols beside ctags, their cost, searches for them, and first ranked results."],
  ["patterns", ["patterns"], "Thousands of patterns in one pass, beside a search for each and `rg -f`."],
  ["jobs", ["jobs"], "Search jobs beside streams, a job over 10,000 repositories, and what receipts cost."],
  ["changes", ["changes"], "From a push until it is found, and what a commit changed in the results of a broad query."],
  ["web", ["web"], "The web pages in chromium: size, delays, memory."],
  ["micro", ["micro"], "The kernel's loops one by one, beside what the machine can do."],
  [
    "scale",
    ["size-scale", "load-scale"],
    "Time and memory against the size of the corpus, and against the number of clients.",
  ],
];

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
  for (const [command, names, description] of suiteCommands)
    add(command, description, (typed) => start(command, typed.quick === true, names, typed)).option(
      "--quick",
      "on what this checkout has, with fewer rounds",
    );
}

export function onlyOption(suites: readonly Suite[]): Option {
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

export function parseRounds(text: string): number {
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
