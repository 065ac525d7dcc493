import { Command, CommanderError, Option } from "commander";
import { errorMessage } from "../base/errors.js";
import { isJournal, withPriority } from "../base/journal.js";
import { addOrganisation, addToken, addUser } from "./account-commands.js";
import { collect } from "./command-options.js";
import { addBackup, addCheck, addConfig, addExplain, addReload } from "./daemon-commands.js";
import { addRepo } from "./repo-commands.js";
import { isReaderGone, OutputError } from "./output.js";
import { exitCodes, runSearch, type Terminal } from "./search.js";

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
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.failed;
    return fail(error);
  }
}

function fail(error: unknown): number {
  const text = errorMessage(error)
    .split("\n")
    .map((line) => `trawl: ${line}\n`)
    .join("");
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
  const program = new Command("trawl").description("Code search over git repositories.").exitOverride();
  addServe(program, exit);
  addSearch(program, exit);
  addRepo(program);
  addUser(program);
  addOrganisation(program);
  addToken(program);
  addReload(program);
  addConfig(program);
  addExplain(program);
  addCheck(program, exit);
  addBackup(program, exit);
  return program;
}

const defaultEndpoint = "http://127.0.0.1:7080";

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

function addSearch(program: Command, exit: (code: number) => void): void {
  program
    .command("search")
    .description("Search, and print matches as they are found.")
    .argument("<query...>", "the query; words are joined with spaces; put -- before a word that starts with a dash")
    .addOption(new Option("--endpoint <url>", "address of the daemon").env("TRAWL_ENDPOINT").default(defaultEndpoint))
    .addOption(
      new Option(
        "--token <token>",
        "access token; use the environment variable to keep it out of process listings",
      ).env("TRAWL_TOKEN"),
    )
    .option("--json", "one JSON object for each matching file", false)
    .option("--count <n>", "stop after this many matches, or `all`")
    .option("-t, --type <type>", "pattern type: standard, keyword, literal or regexp")
    .action(
      async (
        words: string[],
        typed: { endpoint: string; token?: string; json: boolean; count?: string; type?: string },
      ) => {
        const { endpoint, token, json, count, type: patternType } = typed;
        exit(
          await runSearch({ query: words.join(" "), endpoint, token, json, count, patternType }, standardTerminal()),
        );
      },
    );
}

function standardTerminal(): Terminal {
  const isTerminal = process.stdout.isTTY === true;
  return { out: process.stdout, err: process.stderr, isTerminal, colours: isTerminal && !process.env["NO_COLOR"] };
}
