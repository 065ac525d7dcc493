import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { Command, CommanderError, Option } from "commander";
import { errorMessage, TrawlError } from "../base/errors.js";
import { withLimit } from "../base/refusal.js";
import { nearestWord } from "../base/text.js";
import { isJournal, withPriority } from "../base/journal.js";
import { addOrganization, addToken, addUser } from "./account-commands.js";
import { addApi } from "./api/api-command.js";
import { addConnection } from "./connection-commands.js";
import { addLogin } from "./login-command.js";
import { collect } from "./terminal/command-options.js";
import { programVersion } from "../daemon/parts/program.js";
import { addBackup, addCheck, addConfig, addExplain, addReload } from "./daemon-commands.js";
import { addFleet } from "./fleet-commands.js";
import { addDoctor } from "./doctor/doctor-command.js";
import { environmentVariables } from "./manual/environment-variables.js";
import { addJob } from "./jobs/job-commands.js";
import { addManual } from "./manual/manual-commands.js";
import { addProfile, addTop } from "./monitor/monitor-commands.js";
import { addRepo } from "./repo-commands.js";
import { isReaderGone, OutputError, visibleLines } from "./terminal/output.js";
import { exitCodes, exitCodeText } from "./terminal/exit-codes.js";
import { addDiffResults, addSearch } from "./search/search-command.js";

/**
 * The `trawl` command: runs `argv` and resolves with the exit code. After an error, which is printed to standard error,
 * that is 2.
 */
export async function run(argv: readonly string[]): Promise<number> {
  let exitCode = 0;
  const program = createProgram((code) => {
    exitCode = code;
  });
  watchOutput();
  try {
    checkArguments(argv);
    checkCommandNames(program, argv.slice(argv[2] === "help" ? 3 : 2));
    await program.parseAsync(withLongOptions(argv));
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.failed;
    return fail(error);
  }
}

/** Bytes that are not UTF-8 reach the program as this character, and would be searched for as such. */
const replacement = "\ufffd";

function checkArguments(argv: readonly string[]): void {
  const at = argv.findIndex((word) => word.includes(replacement));
  if (at === -1 || isUtf8(readFileSync("/proc/self/cmdline"))) return;
  throw new TrawlError("bad-request", `the argument "${argv[at]}" is not UTF-8`);
}

/** Refuses a command that does not exist, also where only its help is wanted: commander then prints that of all. */
function checkCommandNames(program: Command, words: readonly string[]): void {
  let command = program;
  for (const word of words) {
    const { commands } = command;
    if (commands.length === 0 || word === "help" || word.startsWith("-")) return;
    const next = commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (next === undefined) {
      const meant = nearestWord(
        word,
        commands.map((one) => one.name()),
      );
      return command.error(`unknown command '${word}'${meant === undefined ? "" : `\n(Did you mean ${meant}?)`}`);
    }
    command = next;
  }
}

/** Options that `src` writes with one dash. */
const singleDashed = /^-(?=(query|vars|get-curl|json|endpoint|token)(=|$))/;

/** Arguments of `search` and `api` may be those of `src`, up to `--`. */
function withLongOptions(argv: readonly string[]): readonly string[] {
  if (argv[2] !== "search" && argv[2] !== "api") return argv;
  const end = argv.includes("--") ? argv.indexOf("--") : argv.length;
  return argv.map((word, at) => (at < end ? word.replace(singleDashed, "--") : word));
}

function errorText(message: string): string {
  return visibleLines(message.trimEnd()).replaceAll(/^/gm, "trawl: ") + "\n";
}

function fail(error: unknown): number {
  const text = errorText(error instanceof TrawlError ? error.message : withLimit(errorMessage(error)));
  process.stderr.write(isJournal(process.stderr.fd) ? withPriority(text) : text);
  return error instanceof OutputError ? exitCodes.unwritten : exitCodes.failed;
}

let isWatched = false;

/** Ends the command if output fails: silently if the reader has closed the pipe, as `head` does, else with an error. */
function watchOutput(): void {
  if (isWatched) return;
  isWatched = true;
  process.stdout.on("error", (error: NodeJS.ErrnoException) =>
    process.exit(isReaderGone(error) ? 0 : fail(new OutputError(error))),
  );
  process.stderr.on("error", () => undefined);
}

/** Creates the program with all its commands. A command calls `exit` with its exit code. */
export function createProgram(exit: (code: number) => void): Command {
  const program = new Command("trawl")
    .description("Code search over git repositories.")
    .version(programVersion(), "-V, --version", "print the version")
    .configureHelp({ argumentDescription: ({ description }) => description, optionDescription: describeOption })
    .addHelpText("after", () => helpEnd())
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(errorText(text.replace(/^error: /, ""))) });
  program.commandsGroup("Search:");
  addSearch(program, exit);
  addDiffResults(program, exit);
  addExplain(program);
  addJob(program, exit);
  addApi(program, exit);
  addLogin(program);
  program.commandsGroup("Repositories:");
  addRepo(program);
  addConnection(program);
  program.commandsGroup("Accounts:");
  addUser(program);
  addOrganization(program);
  addToken(program);
  program.commandsGroup("The daemon:");
  addServe(program, exit);
  addReload(program);
  addConfig(program);
  addCheck(program, exit);
  addBackup(program, exit);
  addTop(program);
  addProfile(program);
  addFleet(program);
  addDoctor(program, exit);
  program.commandsGroup("Help:").helpCommand(true);
  addManual(program);
  return program;
}

/** An option without what goes without saying: that it is off by default, and values that its description lists. */
function describeOption({ description, defaultValue, envVar }: Option): string {
  const isUnset = !defaultValue || (Array.isArray(defaultValue) && defaultValue.length === 0);
  const details = [
    ...(isUnset ? [] : [`default: ${JSON.stringify(defaultValue)}`]),
    ...(envVar === undefined ? [] : [`environment variable: ${envVar}`]),
  ];
  return details.length === 0 ? description : `${description} (${details.join(", ")})`;
}

/** The end of `trawl --help`. */
function helpEnd(): string {
  const table = (rows: readonly (readonly [string | number, string])[], width: number) =>
    rows.map(([key, meaning]) => `  ${String(key).padEnd(width)}${meaning}\n`).join("");
  const environment = table(environmentVariables, 33);
  const examples = table(
    [
      ["trawl serve --repository https://github.com/git/git", "start a daemon that serves a repository"],
      ["trawl search -w 'repo:git lang:c' -e strbuf", "search it"],
      ["trawl repo add NAME URL", "add a repository"],
      ["source <(trawl completion bash)", "complete commands, fields and repositories"],
    ],
    54,
  );
  return `\nExamples:\n${examples}\nEnvironment:\n${environment}\nExit codes:\n${table(exitCodeText, 5)}\nThe manual: trawl manual, trawl manual trawl.jsonc`;
}

function addServe(program: Command, exit: (code: number) => void): void {
  program
    .command("serve")
    .description("Run the daemon in the foreground.")
    .option("--config <file>", "configuration file (JSONC); see config/trawl.jsonc")
    .addOption(new Option("--data <dir>", "directory of mirrors, shards and the control socket").env("TRAWL_DATA"))
    .option("--listen <host:port>", "address of the HTTP server; port 0 selects a free port")
    .option(
      "--repository <[name=]url>",
      "a repository to serve in addition to those of the configuration; repeatable",
      collect,
      [],
    )
    .option("--set <key=value>", "set a configuration option, for example search.queue=10; repeatable", collect, [])
    .action(async (typed) => {
      const { serve } = await import("./serve.js");
      exit(await serve(typed));
    });
}
