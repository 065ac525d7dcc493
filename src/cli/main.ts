import { Command, CommanderError, Option } from "commander";
import { errorMessage } from "../base/errors.js";
import { isJournal, withPriority } from "../base/journal.js";
import { AccountCommands, type TypedToken, type TypedUser } from "./account.js";
import { callDaemon, isDaemonRunning } from "./control-client.js";
import { RepoCommands, type TypedAttributes } from "./repo.js";
import { isReaderGone, OutputError } from "./output.js";
import { exitCodes, runSearch, type Terminal } from "./search.js";

/**
 * The `trawl` command: runs what `argv` asks for and resolves with the exit code, 2 for whatever went wrong with a
 * message on standard error.
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

/**
 * A reader that leaves, as `head` does, ends a command quietly; output that cannot be written ends it with a message.
 */
function watchOutput(): void {
  if (isWatched) return;
  isWatched = true;
  process.stdout.on("error", (error: NodeJS.ErrnoException) =>
    process.exit(isReaderGone(error) ? 0 : fail(new OutputError(error))),
  );
  process.stderr.on("error", () => undefined);
}

/** All commands; `exit` takes the exit code of the one that was run. */
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

const print = (line: string): void => void process.stdout.write(`${line}\n`);

function dataOption(): Option {
  return new Option("--data <dir>", "data directory of the daemon").env("TRAWL_DATA").default("data");
}

function collect(value: string, values: readonly string[] | undefined): readonly string[] {
  return [...(values ?? []), value];
}

function addServe(program: Command, exit: (code: number) => void): void {
  program
    .command("serve")
    .description("Run the daemon in the foreground.")
    .option("--config <file>", "configuration file (JSONC); see config/trawl.jsonc")
    .addOption(new Option("--data <dir>", "directory of mirrors, shards and the control socket").env("TRAWL_DATA"))
    .option("--listen <host:port>", "address of the HTTP server; port 0 takes a free one")
    .option(
      "--repository <[name=]url>",
      "a repository to serve beside those of the configuration; repeatable",
      collect,
      [],
    )
    .option("--set <key=value>", "any option of the configuration, as in search.queue=10; repeatable", collect, [])
    .action(async (typed) => {
      const { serve } = await import("./serve.js");
      exit(await serve(typed));
    });
}

function addSearch(program: Command, exit: (code: number) => void): void {
  program
    .command("search")
    .description("Search, and print matches as they are found.")
    .argument(
      "<query...>",
      "the query; several words are joined with spaces; put -- before one that begins with a dash",
    )
    .addOption(new Option("--endpoint <url>", "address of the daemon").env("TRAWL_ENDPOINT").default(defaultEndpoint))
    .addOption(
      new Option("--token <token>", "access token; the variable keeps it out of lists of processes").env("TRAWL_TOKEN"),
    )
    .option("--json", "one JSON object for each matching file", false)
    .option("--count <n>", "stop after this many matches, or `all`")
    .option("-t, --type <type>", "how the pattern is read: standard, keyword, literal or regexp")
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

const credentialText = "where the token, or USER:PASSWORD, for an http(s) URL is: file:/PATH or credential:NAME";

function addRepo(program: Command): void {
  const repo = program.command("repo").description("Add, list, remove and sync repositories of the running daemon.");
  const commands = (typed: { data: string }) => new RepoCommands(typed.data, print);
  addAttributeOptions(repo.command("add").argument("<name>").argument("<url>").addOption(dataOption()))
    .description("Mirror and index a repository; returns when it can be searched.")
    .option("--branch <name>", "index this branch too; repeatable", collect, [])
    .option("--credential <source>", credentialText)
    .action(
      (name: string, url: string, typed: TypedAttributes & { data: string; branch: string[]; credential?: string }) =>
        commands(typed).add(name, url, typed.branch, typed, typed.credential),
    );
  addAttributeOptions(repo.command("set").argument("<name>").addOption(dataOption()))
    .description("Change what is said about a repository that was added with `trawl repo add`.")
    .option("--url <url>", "fetch from there; what was indexed stays searchable until that has succeeded")
    .option("--credential <source>", `${credentialText}; '' for none`)
    .option("--no-fork", "it is no fork")
    .option("--no-archived", "it is not archived")
    .option("--no-private", "it is not private")
    .option("--no-reader", "nobody but site admins may see it while it is private")
    .option("--no-topic", "it has no topics")
    .option("--no-meta", "it has no metadata")
    .action((name: string, typed: TypedAttributes & { data: string; url?: string; credential?: string }) =>
      commands(typed).set(name, typed, typed.url, typed.credential),
    );
  repo
    .command("list")
    .addOption(dataOption())
    .description("List the repositories, with their state and last error.")
    .option("--json", "one JSON object for each repository", false)
    .action((typed: { data: string; json: boolean }) => commands(typed).list(typed.json));
  repo
    .command("remove")
    .argument("<name>")
    .addOption(dataOption())
    .description("Forget a repository and delete its mirror and shards.")
    .action((name: string, typed: { data: string }) => commands(typed).remove(name));
  repo
    .command("sync")
    .argument("[name]")
    .addOption(dataOption())
    .description("Fetch and index at once; without a name, all repositories.")
    .action((name: string | undefined, typed: { data: string }) => commands(typed).sync(name));
}

/** The options for what searches choose repositories by. */
function addAttributeOptions(command: Command): Command {
  return command
    .option("--fork", "a fork: left out of searches without fork:yes")
    .option("--archived", "archived: left out of searches without archived:yes")
    .option("--private", "seen by its readers and site admins only")
    .option("--reader <name>", "a user or organisation that may see it while it is private; repeatable", collect)
    .option("--stars <n>", "repositories with more stars come first")
    .option("--description <text>", "shown with results; repo:has.description(...)")
    .option("--topic <topic>", "repo:has.topic(...); repeatable", collect)
    .option("--meta <key[=value]>", "repo:has.meta(key:value); repeatable", collect);
}

function accountCommands(typed: { data: string }): AccountCommands {
  return new AccountCommands(typed.data, print);
}

function addUser(program: Command): void {
  const user = program.command("user").description("Create, list and delete users of the running daemon.");
  user
    .command("create")
    .argument("<name>")
    .addOption(dataOption())
    .description("Create a user. It has no access token yet.")
    .option("--admin", "a site admin: sees all repositories, and may have tokens that act as other users", false)
    .option("--email <address>", "its e-mail address")
    .option(
      "--password-stdin",
      "its password is the first line of standard input; without one it cannot sign in",
      false,
    )
    .action((name: string, typed: TypedUser & { data: string }) => accountCommands(typed).createUser(name, typed));
  user
    .command("password")
    .argument("<name>")
    .addOption(dataOption())
    .description("Set the password to the first line of standard input, and end the user's sessions.")
    .option("--link", "print a link by which the user sets it, good once and for a day", false)
    .action((name: string, typed: { data: string; link: boolean }) =>
      typed.link ? accountCommands(typed).linkPassword(name) : accountCommands(typed).setPassword(name),
    );
  user
    .command("set")
    .argument("<name>")
    .addOption(dataOption())
    .description("Change a user.")
    .option("--admin", "make it a site admin")
    .option("--no-admin", "make it one no more")
    .action((name: string, typed: { data: string; admin?: boolean }) =>
      accountCommands(typed).setUser(name, typed.admin),
    );
  user
    .command("list")
    .addOption(dataOption())
    .description("List the users.")
    .option("--json", "one JSON object for each user", false)
    .action((typed: { data: string; json: boolean }) => accountCommands(typed).listUsers(typed.json));
  user
    .command("delete")
    .argument("<name>")
    .addOption(dataOption())
    .description("Delete a user with its access tokens, which are refused from then on.")
    .action((name: string, typed: { data: string }) => accountCommands(typed).deleteUser(name));
}

function addOrganisation(program: Command): void {
  const organisation = program
    .command("org")
    .description("Create, list and delete organisations, and say who belongs to them.");
  organisation
    .command("create")
    .argument("<name>")
    .addOption(dataOption())
    .description("Create an organisation. Private repositories can name it as their reader.")
    .action((name: string, typed: { data: string }) => accountCommands(typed).createOrganisation(name));
  organisation
    .command("add")
    .argument("<name>")
    .argument("<user>")
    .addOption(dataOption())
    .description("Make a user a member.")
    .action((name: string, user: string, typed: { data: string }) =>
      accountCommands(typed).setMember(name, user, true),
    );
  organisation
    .command("remove")
    .argument("<name>")
    .argument("<user>")
    .addOption(dataOption())
    .description("Make a user a member no more.")
    .action((name: string, user: string, typed: { data: string }) =>
      accountCommands(typed).setMember(name, user, false),
    );
  organisation
    .command("list")
    .addOption(dataOption())
    .description("List the organisations with their members.")
    .option("--json", "one JSON object for each organisation", false)
    .action((typed: { data: string; json: boolean }) => accountCommands(typed).listOrganisations(typed.json));
  organisation
    .command("delete")
    .argument("<name>")
    .addOption(dataOption())
    .description("Delete an organisation.")
    .action((name: string, typed: { data: string }) => accountCommands(typed).deleteOrganisation(name));
}

function addToken(program: Command): void {
  const token = program.command("token").description("Create, list and delete access tokens of users.");
  token
    .command("create")
    .argument("<user>")
    .addOption(dataOption())
    .description("Create an access token and print it alone. It cannot be shown again.")
    .option(
      "--scope <scopes>",
      "what it permits, separated by commas: user:all, and site-admin:sudo for site admins",
      "user:all",
    )
    .option("--expires <time>", "when it ends, as 30d, 12h or never; by default after auth.tokenDays", "")
    .option("--note <text>", "what it is for", "")
    .action((user: string, typed: TypedToken & { data: string }) => accountCommands(typed).createToken(user, typed));
  token
    .command("list")
    .argument("[user]")
    .addOption(dataOption())
    .description("List access tokens: id, user, scopes, expiry, last use, note.")
    .option("--json", "one JSON object for each token", false)
    .action((user: string | undefined, typed: { data: string; json: boolean }) =>
      accountCommands(typed).listTokens(user, typed.json),
    );
  token
    .command("delete")
    .argument("<id>")
    .addOption(dataOption())
    .description("Delete an access token, which is refused from then on.")
    .action((id: string, typed: { data: string }) => accountCommands(typed).deleteToken(id));
}

function addReload(program: Command): void {
  program
    .command("reload")
    .description(
      "Let the running daemon read its configuration file again: its lists of repositories and contexts take effect.",
    )
    .addOption(dataOption())
    .option("--yes", "also when most of the repositories would be removed", false)
    .action(async ({ data, yes }: { data: string; yes: boolean }) => {
      const result = await callDaemon(data, {
        method: "POST",
        path: "/.api/reload",
        body: { mayRemoveMost: yes },
        progress: () => {},
      });
      const { repositories, contexts, needRestart } = result as {
        repositories: number;
        contexts: number;
        needRestart: readonly string[];
      };
      print(`reloaded: ${repositories} repositories, ${contexts} contexts`);
      if (needRestart.length > 0) print(`these options changed and need a restart: ${needRestart.join(", ")}`);
    });
}

function addConfig(program: Command): void {
  const config = program.command("config").description("Look at configuration files.");
  config
    .command("check")
    .argument("<file>")
    .description("Check a configuration file as the daemon would read it; exit code 2 with a line for each mistake.")
    .action(async (file: string) => {
      const { resolveOptions } = await import("../daemon/config.js");
      const { repositories, contexts } = resolveOptions({ configFile: file, overrides: [], repositories: [] });
      print(`${file} is good: ${repositories.length} repositories, ${contexts.length} contexts`);
    });
}

function addExplain(program: Command): void {
  program
    .command("explain")
    .description("Show how a query is read and planned, and what the index rules out.")
    .argument("<query...>")
    .addOption(dataOption())
    .option("-t, --type <type>", "how the pattern is read: standard, keyword, literal or regexp", "standard")
    .action(async (words: string[], typed: { data: string; type: string }) => {
      const body = { query: words.join(" "), patternType: typed.type };
      print(
        String(await callDaemon(typed.data, { method: "POST", path: "/explain", body, progress: () => {} })).trimEnd(),
      );
    });
}

function addBackup(program: Command, exit: (code: number) => void): void {
  program
    .command("backup")
    .argument("<folder>")
    .addOption(dataOption())
    .description(
      "Let the running daemon copy its data to a folder. What is there from an earlier backup is not copied again.",
    )
    .action(async (folder: string, { data }: { data: string }) => {
      const { backup } = await import("./backup.js");
      exit(await backup(folder, data, print));
    });
  program
    .command("restore")
    .argument("<folder>")
    .addOption(dataOption())
    .description("Make a data directory of a backup, before its daemon is started. The directory must be empty.")
    .action(async (folder: string, { data }: { data: string }) => {
      const { restoreBackup } = await import("./backup.js");
      await restoreBackup(folder, data, print);
    });
}

/** Exit code 1 says that faults were found and stay; with `--repair`, that some could not be repaired. */
function addCheck(program: Command, exit: (code: number) => void): void {
  program
    .command("check")
    .description(
      "Check every shard's bytes. While no daemon runs, also compare catalog, mirrors, commits and shards with one another.",
    )
    .addOption(dataOption())
    .option("--repair", "build damaged shards again from the mirrors; the daemon does that", false)
    .action(async ({ data, repair }: { data: string; repair: boolean }) => {
      const progress = (line: unknown) => print(String(line));
      if (!repair && !(await isDaemonRunning(data))) {
        const { checkOffline } = await import("./check/offline-check.js");
        const { repositories, ...checked } = await checkOffline(data, print);
        print(`${checked.shards} shards and ${repositories} repositories checked, ${checked.faults} faults`);
        return exit(checked.faults === 0 ? 0 : 1);
      }
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
