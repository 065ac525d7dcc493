import { Command, CommanderError, Option } from "commander";
import { messageOf } from "../base/errors.js";
import { callDaemon } from "./control-client.js";
import { RepoCommands, type TypedFacts } from "./repo.js";
import { exitCodes, runSearch, type Terminal } from "./search.js";
import { serve } from "./serve.js";

/**
 * The `trawl` command: runs what `argv` asks for and resolves with the exit code, 2 for whatever went wrong with a
 * message on standard error.
 */
export async function run(argv: readonly string[]): Promise<number> {
  let exitCode = 0;
  const program = createProgram((code) => { exitCode = code; });
  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.failed;
    for (const line of messageOf(error).split("\n")) process.stderr.write(`trawl: ${line}\n`);
    return exitCodes.failed;
  }
}

function createProgram(exit: (code: number) => void): Command {
  const program = new Command("trawl").description("Code search over git repositories.").exitOverride();
  addServe(program, exit);
  addSearch(program, exit);
  addRepo(program);
  addExplain(program);
  addCheck(program, exit);
  return program;
}

const defaultEndpoint = "http://127.0.0.1:7080";

const print = (line: string): void => void process.stdout.write(`${line}\n`);

function dataOption(): Option {
  return new Option("--data <dir>", "data directory of the daemon").env("TRAWL_DATA").default("data");
}

function collect(value: string, values: readonly string[] | undefined): readonly string[] {
  return [...(values ?? []), value];
}

function addServe(program: Command, exit: (code: number) => void): void {
  program.command("serve")
    .description("Run the daemon in the foreground.")
    .option("--config <file>", "configuration file (JSONC); see config/trawl.jsonc")
    .addOption(new Option("--data <dir>", "directory of mirrors, shards and the control socket").env("TRAWL_DATA"))
    .option("--listen <host:port>", "address of the HTTP server; port 0 takes a free one")
    .option("--repository <[name=]url>", "a repository to serve beside those of the configuration; repeatable", collect, [])
    .option("--set <key=value>", "any option of the configuration, as in search.queue=10; repeatable", collect, [])
    .action(async (typed) => exit(await serve(typed)));
}

function addSearch(program: Command, exit: (code: number) => void): void {
  program.command("search")
    .description("Search, and print matches as they are found.")
    .argument("<query...>", "the query; several words are joined with spaces; put -- before one that begins with a dash")
    .addOption(new Option("--endpoint <url>", "address of the daemon").env("TRAWL_ENDPOINT").default(defaultEndpoint))
    .option("--json", "one JSON object for each matching file", false)
    .option("--count <n>", "stop after this many matches, or `all`")
    .option("-t, --type <type>", "how the pattern is read: standard, keyword, literal or regexp")
    .action(async (words: string[], typed: { endpoint: string; json: boolean; count?: string; type?: string }) => {
      const { endpoint, json, count, type: patternType } = typed;
      exit(await runSearch({ query: words.join(" "), endpoint, json, count, patternType }, standardTerminal()));
    });
}

function standardTerminal(): Terminal {
  const isTerminal = process.stdout.isTTY === true;
  return { out: process.stdout, err: process.stderr, isTerminal, colours: isTerminal && !process.env["NO_COLOR"] };
}

function addRepo(program: Command): void {
  const repo = program.command("repo").description("Add, list, remove and sync repositories of the running daemon.");
  const commands = (typed: { data: string }) => new RepoCommands(typed.data, print);
  addFacts(repo.command("add").argument("<name>").argument("<url>").addOption(dataOption()))
    .description("Mirror and index a repository; returns when it can be searched.")
    .option("--branch <name>", "index this branch too; repeatable", collect, [])
    .action((name: string, url: string, typed: TypedFacts & { data: string; branch: string[] }) => commands(typed).add(name, url, typed.branch, typed));
  addFacts(repo.command("set").argument("<name>").addOption(dataOption()))
    .description("Change what is said about a repository that was added with `trawl repo add`.")
    .option("--no-fork", "it is no fork")
    .option("--no-archived", "it is not archived")
    .option("--no-private", "it is not private")
    .option("--no-topic", "it has no topics")
    .option("--no-meta", "it has no metadata")
    .action((name: string, typed: TypedFacts & { data: string }) => commands(typed).set(name, typed));
  repo.command("list").addOption(dataOption())
    .description("List the repositories, with their state and last error.")
    .option("--json", "one JSON object for each repository", false)
    .action((typed: { data: string; json: boolean }) => commands(typed).list(typed.json));
  repo.command("remove").argument("<name>").addOption(dataOption())
    .description("Forget a repository and delete its mirror and shards.")
    .action((name: string, typed: { data: string }) => commands(typed).remove(name));
  repo.command("sync").argument("[name]").addOption(dataOption())
    .description("Fetch and index at once; without a name, all repositories.")
    .action((name: string | undefined, typed: { data: string }) => commands(typed).sync(name));
}

/** The options for what searches choose repositories by. */
function addFacts(command: Command): Command {
  return command
    .option("--fork", "a fork: left out of searches without fork:yes")
    .option("--archived", "archived: left out of searches without archived:yes")
    .option("--private", "found with visibility:private")
    .option("--stars <n>", "repositories with more stars come first")
    .option("--description <text>", "shown with results; repo:has.description(...)")
    .option("--topic <topic>", "repo:has.topic(...); repeatable", collect)
    .option("--meta <key[=value]>", "repo:has.meta(key:value); repeatable", collect);
}

function addExplain(program: Command): void {
  program.command("explain")
    .description("Show how a query is read and planned, and what the index rules out.")
    .argument("<query...>").addOption(dataOption())
    .option("-t, --type <type>", "how the pattern is read: standard, keyword, literal or regexp", "standard")
    .action(async (words: string[], typed: { data: string; type: string }) => {
      const body = { query: words.join(" "), patternType: typed.type };
      print(String(await callDaemon(typed.data, { method: "POST", path: "/explain", body, progress: () => {} })).trimEnd());
    });
}

/** Exit code 1 says that faults were found and stay; with `--repair`, that some could not be mended. */
function addCheck(program: Command, exit: (code: number) => void): void {
  program.command("check")
    .description("Check every shard's bytes, and the catalog against the shards.")
    .addOption(dataOption())
    .option("--repair", "build damaged shards again from the mirrors", false)
    .action(async ({ data, repair }: { data: string; repair: boolean }) => {
      const progress = (line: unknown) => print(String(line));
      const result = await callDaemon(data, { method: "POST", path: "/check", body: { repair }, progress });
      const { shards, faults } = result as CheckResult;
      print(`${shards} shards checked, ${faults} faults`);
      exit(faults === 0 ? 0 : 1);
    });
}

/** The result of `POST /check`; before it come lines of text that name each fault. */
export interface CheckResult {
  readonly shards: number;
  /** Faults that are there when the check is over. */
  readonly faults: number;
}
