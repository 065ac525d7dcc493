import { Command, CommanderError } from "commander";
import { addCorpusCommand } from "./corpus/command.js";
import { addLoadCommand } from "./load/command.js";
import { addCompareCommand, addReportCommand, addRunCommands, exitCodes } from "./run/run-commands.js";
import { changesSuite } from "./suites/changes.js";
import { graphqlSuite } from "./suites/graphql.js";
import { historySuite } from "./suites/history.js";
import { indexSuite } from "./suites/indexing.js";
import { jobsSuite } from "./suites/jobs.js";
import { manySuite } from "./suites/many.js";
import { mcpSuite } from "./suites/mcp.js";
import { oneClientSuite } from "./suites/one-client.js";
import { patternsSuite } from "./suites/patterns.js";
import { peersSuite } from "./suites/peers.js";
import { rankingSuite } from "./suites/ranking.js";
import { revisionsSuite } from "./suites/revisions.js";
import { symbolsSuite } from "./suites/symbols.js";
import { webSuite } from "./suites/web.js";
import { wordsSuite } from "./suites/words.js";
import type { Suite } from "./suites/suite.js";
import { errorMessage } from "../src/base/errors.js";

/** Every suite, in the order of a whole run: the most important results come first. */
const suites: readonly Suite[] = [
  wordsSuite,
  peersSuite,
  oneClientSuite,
  indexSuite,
  revisionsSuite,
  historySuite,
  graphqlSuite,
  mcpSuite,
  manySuite,
  symbolsSuite,
  patternsSuite,
  jobsSuite,
  changesSuite,
  webSuite,
  rankingSuite,
];

/** The `trawl-bench` command: runs what `argv` asks for and resolves with the exit code. */
export async function run(argv: readonly string[]): Promise<number> {
  let exitCode = 0;
  const exit = (code: number): void => {
    exitCode = code;
  };
  const program = new Command("trawl-bench")
    .description("Measures the daemon of this checkout, beside installed peers, and any server under load.")
    .exitOverride();
  addRunCommands(program, suites, exit);
  addLoadCommand(program, exit);
  addCorpusCommand(program);
  addCompareCommand(program, suites);
  addReportCommand(program);
  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.failed;
    for (const line of errorMessage(error).split("\n")) process.stderr.write(`trawl-bench: ${line}\n`);
    return exitCodes.failed;
  }
}
