import type { Command } from "commander";
import { collect, dataOption, print } from "./command-options.js";
import { RepoCommands, type TypedAttributes } from "./repo.js";

const credentialText = "where the token, or USER:PASSWORD, for an http(s) URL is: file:/PATH or credential:NAME";

/** Adds `trawl repo`. */
export function addRepo(program: Command): void {
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
    .option("--no-reader", "only site admins may see it while it is private")
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
    .description("Remove a repository, and delete its mirror and shards.")
    .action((name: string, typed: { data: string }) => commands(typed).remove(name));
  repo
    .command("sync")
    .argument("[name]")
    .addOption(dataOption())
    .description("Fetch and index immediately; without a name, all repositories.")
    .action((name: string | undefined, typed: { data: string }) => commands(typed).sync(name));
}

/** Adds the options for attributes of a repository. */
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
