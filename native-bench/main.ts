import { Command, CommanderError, Option } from "commander";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { errorMessage, TrawlError } from "../src/base/errors.js";
import { addCorpusCommand } from "./corpus/command.js";
import { addLoadCommand } from "./load/command.js";
import { graphqlPart } from "./parts/graphql-part.js";
import { indexPart } from "./parts/index-part.js";
import { manyPart } from "./parts/many-part.js";
import { microPart } from "./parts/micro.js";
import type { Part } from "./parts/part.js";
import { peersPart } from "./parts/peers-part.js";
import { revisionsPart } from "./parts/revisions-part.js";
import { scaleLoadPart } from "./parts/scale-load.js";
import { sizeScalePart } from "./parts/size-scale.js";
import { peerVersions } from "./peers/peers.js";
import { compareRuns, comparisonTable, noiseRule, type Comparison } from "./report/compare.js";
import { terminalTable } from "./report/render-table.js";
import { isRunFolder, readRun, renderRun } from "./report/run-folder.js";
import { commitOf, measureRevisions } from "./run/revisions.js";
import { runParts, type RunSettings } from "./run/runner.js";

/** Every part, in the order of a whole run: what is read first comes first. */
const parts: readonly Part[] = [
  peersPart,
  indexPart,
  revisionsPart,
  scaleLoadPart,
  graphqlPart,
  sizeScalePart,
  manyPart,
  microPart,
];

/** Those of a quick run that is not told which: as many as fit into three minutes. */
const quickParts: readonly string[] = [peersPart, indexPart, scaleLoadPart, microPart].map(({ name }) => name);

/** What the commands that run only some of them are called, and the parts they run. */
const partCommands: readonly {
  readonly name: string;
  readonly description: string;
  readonly parts: readonly string[];
}[] = [
  {
    name: "peers",
    description: "Searches, many clients and an index build beside other tools.",
    parts: [peersPart.name],
  },
  { name: "index", description: "Indexing, commits, and the daemon at rest.", parts: [indexPart.name] },
  { name: "revisions", description: "Commits that are not indexed, one and 200 of them.", parts: [revisionsPart.name] },
  {
    name: "graphql",
    description: "GraphQL beside other servers, on a long history, and beside streams.",
    parts: [graphqlPart.name],
  },
  { name: "many", description: "10,000 small repositories.", parts: [manyPart.name] },
  { name: "micro", description: "Native parts one by one, beside what the machine can do.", parts: [microPart.name] },
  {
    name: "scale",
    description: "Time and memory against the size of the corpus, and against the number of clients.",
    parts: [sizeScalePart.name, scaleLoadPart.name],
  },
];

const exitCodes = { partFailed: 1, failed: 2 } as const;

const roundsMin = 5;
const quickRounds = 3;
const roundsMax = 100;

/** So long a machine that is busy is waited for: what was built for the run may go on for a while. */
const quietLimitMs = { quick: 10_000, full: 60_000 } as const;

/** The `trawl-bench` command: runs what `argv` asks for and resolves with the exit code. */
export async function run(argv: readonly string[]): Promise<number> {
  let exitCode = 0;
  const program = createProgram((code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.failed;
    for (const line of errorMessage(error).split("\n")) process.stderr.write(`trawl-bench: ${line}\n`);
    return exitCodes.failed;
  }
}

function createProgram(exit: (code: number) => void): Command {
  const program = new Command("trawl-bench")
    .description(
      "Measures the daemon of this checkout, beside others where they are installed, and any server under load.",
    )
    .exitOverride();
  addRun(
    program,
    "all",
    "Every part on the full corpora, in about half an hour on two cores.",
    { isQuick: false, names: undefined },
    exit,
  );
  addRun(
    program,
    "quick",
    `On what this checkout has, in at most three minutes: ${quickParts.join(", ")}, or others by --only.`,
    { isQuick: true, names: undefined },
    exit,
  );
  for (const { name, description, parts: names } of partCommands)
    addRun(program, name, description, { isQuick: false, names }, exit);
  addLoadCommand(program, exit);
  addCorpusCommand(program);
  addCompare(program);
  addReport(program);
  return program;
}

interface RunOptions {
  readonly rounds?: number;
  readonly out?: string;
  readonly only?: readonly string[];
  readonly quick?: boolean;
}

/** A command that runs parts: those of `names`, or all of which `--only` chooses. */
function addRun(
  program: Command,
  name: string,
  description: string,
  kind: { readonly isQuick: boolean; readonly names: readonly string[] | undefined },
  exit: (code: number) => void,
): void {
  const command = program
    .command(name)
    .description(description)
    .addOption(
      new Option("--rounds <n>", `rounds that count: ${roundsMin} at least, fewer in a quick run`).argParser(
        readRounds,
      ),
    )
    .option("--out <dir>", "the folder to write; native-bench/runs/DATE-MACHINE otherwise");
  if (kind.names === undefined)
    command.addOption(
      new Option("--only <part,...>", `some of ${parts.map((part) => part.name).join(", ")}`).argParser(readPartNames),
    );
  else command.option("--quick", "on what this checkout has, with fewer rounds");
  command.action(async (typed: RunOptions) => {
    const isQuick = kind.isQuick || typed.quick === true;
    const names = typed.only ?? kind.names ?? (kind.isQuick ? quickParts : undefined);
    const chosen = parts.filter((part) => names?.includes(part.name) ?? true);
    const failed = await runParts(chosen, { ...settingsOf(name, isQuick, typed), versions: await peerVersions() });
    if (failed.length > 0) exit(exitCodes.partFailed);
  });
}

function settingsOf(
  name: string,
  isQuick: boolean,
  { rounds, out, only, quick }: RunOptions,
): Omit<RunSettings, "versions"> {
  if (rounds !== undefined && rounds < roundsMin && !isQuick)
    throw new TrawlError("bad-request", `--rounds ${rounds} is too few: a spread needs ${roundsMin}`);
  const words = [
    "trawl-bench",
    name,
    ...(quick ? ["--quick"] : []),
    ...(rounds === undefined ? [] : ["--rounds", rounds]),
    ...(only === undefined ? [] : ["--only", only.join(",")]),
  ];
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

function readRounds(text: string): number {
  const rounds = Number(text);
  if (Number.isInteger(rounds) && rounds >= 1 && rounds <= roundsMax) return rounds;
  throw new TrawlError(
    "bad-request",
    `--rounds takes a whole number from 1 to ${roundsMax}, not ${JSON.stringify(text)}`,
  );
}

function readPartNames(text: string): readonly string[] {
  const names = text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  const unknown = names.find((name) => !parts.some((part) => part.name === name));
  if (unknown === undefined && names.length > 0) return names;
  throw new TrawlError(
    "bad-request",
    `there is no part ${JSON.stringify(unknown ?? text)}; there are ${parts.map((part) => part.name).join(", ")}`,
  );
}

function addCompare(program: Command): void {
  program
    .command("compare")
    .description("Two runs, or two revisions of this checkout, which are built and measured in turn.")
    .argument("<before>", "the folder of a run, or a revision")
    .argument("<after>", "the same of what came after")
    .addOption(new Option("--only <part,...>", "of revisions: the parts to run").argParser(readPartNames))
    .addOption(new Option("--rounds <n>", "of revisions: how often each is run").argParser(readRounds).default(3))
    .action(
      async (before: string, after: string, { only = [], rounds }: { only?: readonly string[]; rounds: number }) => {
        if (isRunFolder(before) && isRunFolder(after))
          return printComparison(compareRuns(readRun(before), readRun(after)), []);
        const { runs, notes } = await measureRevisions(await requireCommit(before), await requireCommit(after), {
          only,
          repeats: rounds,
          say: (text) => console.log(text),
        });
        printComparison(compareRuns(...runs), notes);
      },
    );
}

async function requireCommit(text: string): Promise<string> {
  if (existsSync(text))
    throw new TrawlError(
      "bad-request",
      `${text} is not the folder of a run, and both sides must be runs or both revisions`,
    );
  const commit = await commitOf(text);
  if (commit === undefined)
    throw new TrawlError("not-found", `${text} is neither the folder of a run nor a revision of this checkout`);
  return commit;
}

function printComparison(comparison: Comparison, notes: readonly string[]): void {
  if (comparison.rows.length === 0) throw new TrawlError("bad-request", "the two have no task and subject in common");
  const missing = (side: string, names: readonly string[]): string[] =>
    names.length === 0 ? [] : [`Only ${side}: ${names.join("; ")}.`];
  console.log(
    [
      terminalTable(comparisonTable(comparison)),
      noiseRule,
      ...missing("before", comparison.onlyBefore),
      ...missing("after", comparison.onlyAfter),
      ...notes,
    ].join("\n\n"),
  );
}

function addReport(program: Command): void {
  program
    .command("report")
    .description("Writes report and pictures of a run again.")
    .argument("<run>", "the folder of a run")
    .action((folder: string) => {
      renderRun(folder, readRun(folder));
      console.log(`Written: ${folder}/report.md`);
    });
}
