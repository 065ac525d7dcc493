import type { Command } from "commander";
import { TrawlError } from "../base/errors.js";
import { collect, dataOption, print } from "./command-options.js";
import { RepoCommands, type TypedAttributes } from "./repo.js";

/** Options of `trawl repo add` as commander parses them. */
interface TypedAdd extends TypedAttributes {
  readonly data: string;
  readonly branch: string[];
  readonly credential?: string;
  readonly from?: string;
  readonly wait: boolean;
}

const credentialText = "source of the token, or USER:PASSWORD, for an http(s) URL: file:/PATH or credential:NAME";

/** Adds `trawl repo`. */
export function addRepo(program: Command): void {
  const repo = program.command("repo").description("Add, list, remove and sync repositories of the running daemon.");
  const commands = (typed: { data: string }) => new RepoCommands(typed.data, print);
  addAttributeOptions(repo.command("add").argument("[name]").argument("[url]").addOption(dataOption()))
    .description("Mirror and index a repository. Returns when it can be searched. With --from, add many.")
    .option(
      "--from <file>",
      "add the repositories of this file, one per line: NAME URL, URL or JSON; - for standard input",
    )
    .option("--wait", "with --from: return when all of them can be searched", false)
    .option("--branch <name>", "also index this branch; repeatable", collect, [])
    .option("--credential <source>", credentialText)
    .action(async (name: string | undefined, url: string | undefined, typed: TypedAdd) => {
      if (typed.from !== undefined && name === undefined) return commands(typed).addList(typed.from, typed.wait);
      if (typed.from !== undefined || name === undefined || url === undefined)
        throw new TrawlError("bad-request", "write `trawl repo add NAME URL`, or `trawl repo add --from FILE`");
      return commands(typed).add(name, url, typed.branch, typed, typed.credential);
    });
  addAttributeOptions(repo.command("set").argument("<name>").addOption(dataOption()))
    .description("Change the attributes of a repository that was added with `trawl repo add`.")
    .option("--url <url>", "fetch from this URL; the current index stays searchable until a fetch succeeds")
    .option("--credential <source>", `${credentialText}; '' for none`)
    .option("--no-fork", "mark it as not a fork")
    .option("--no-archived", "mark it as not archived")
    .option("--no-private", "make it public")
    .option("--no-reader", "remove all readers: while it is private, only site admins can see it")
    .option("--no-topic", "remove all topics")
    .option("--no-meta", "remove all metadata")
    .action((name: string, typed: TypedAttributes & { data: string; url?: string; credential?: string }) =>
      commands(typed).set(name, typed, typed.url, typed.credential),
    );
  repo
    .command("list")
    .addOption(dataOption())
    .description("List the repositories with their state and last error.")
    .option("--json", "print one JSON object per repository", false)
    .action((typed: { data: string; json: boolean }) => commands(typed).list(typed.json));
  repo
    .command("remove")
    .argument("<name>")
    .addOption(dataOption())
    .description("Remove a repository, and delete its mirror and shards.")
    .action((name: string, typed: { data: string }) => commands(typed).remove(name));
  repo
    .command("sync")
    .argument("[name]")
    .addOption(dataOption())
    .description("Fetch and index a repository immediately, or all repositories if no name is given.")
    .option("--wait <commit>", "return when searches cover this commit, given by its full id; fail if none can")
    .option(
      "--accept-empty",
      "believe a remote that lists no branches or no default branch any more, and drop the index",
    )
    .action((name: string | undefined, typed: { data: string; wait?: string; acceptEmpty?: true }) =>
      commands(typed).sync(name, typed.wait, typed.acceptEmpty),
    );
}

/** Adds the options for attributes of a repository. */
function addAttributeOptions(command: Command): Command {
  return command
    .option("--fork", "mark it as a fork: searches exclude it unless they contain fork:yes")
    .option("--archived", "mark it as archived: searches exclude it unless they contain archived:yes")
    .option("--private", "make it visible only to its readers and site admins")
    .option("--reader <name>", "a user or organization that can see it while it is private; repeatable", collect)
    .option("--stars <n>", "number of stars; repositories with more stars come first in results")
    .option("--description <text>", "description, shown with results and matched by repo:has.description(...)")
    .option("--topic <topic>", "topic, matched by repo:has.topic(...); repeatable", collect)
    .option("--meta <key[=value]>", "metadata, matched by repo:has.meta(key:value); repeatable", collect)
    .option(
      "--history <part>",
      "commits to index: all, off, 'since 2020-01-31' or '10000 commits'; others are read from git",
    );
}
