import type { Command } from "commander";
import { TrawlError } from "../base/errors.js";
import { collect, dataOption, print } from "./terminal/command-options.js";
import { absoluteUrl } from "../base/repository-url.js";
import type { HistoryStatus } from "../model/history-record.js";
import type { MissingSymbols, RepositoryStatus } from "../model/repository-status.js";
import type { RepositoryAttributes } from "../model/repository.js";
import { callDaemon, suggestName } from "./connection/control-client.js";
import type { Call } from "./repo-list.js";
import { withProgress } from "./terminal/progress-bar.js";

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

/** Attributes of a repository given on the command line; undefined if not given, false to remove the attribute. */
interface TypedAttributes {
  readonly fork?: boolean;
  readonly archived?: boolean;
  readonly private?: boolean;
  readonly reader?: readonly string[] | false;
  readonly stars?: string;
  readonly description?: string;
  readonly topic?: readonly string[] | false;
  /** `KEY=VALUE`, or `KEY` for a key without a value. */
  readonly meta?: readonly string[] | false;
  readonly history?: string;
}

/**
 * The `trawl repo` commands: each calls the daemon that is running with this data directory, and prints its response.
 */
class RepoCommands {
  readonly #dataDirectory: string;
  readonly #print: (line: string) => void;

  constructor(dataDirectory: string, print: (line: string) => void) {
    this.#dataDirectory = dataDirectory;
    this.#print = print;
  }

  /** A relative path is relative to the current directory, not to the daemon's. */
  async add(
    name: string,
    url: string,
    branches: readonly string[],
    attributes: TypedAttributes,
    credential?: string,
  ): Promise<void> {
    const body = {
      name,
      url: absoluteUrl(url, process.cwd()),
      branches,
      ...parseAttributes(attributes),
      ...(credential === undefined ? {} : { credential }),
    };
    this.#printStatus((await this.#call("POST", "/.api/repos", body)) as RepositoryStatus);
  }

  /**
   * Adds the repositories of a file, or of standard input. Returns before they can be searched, unless `wait`; throws
   * if any was refused or has failed.
   */
  async addList(file: string, wait: boolean): Promise<void> {
    const { addRepositories, readRepositoryList } = await import("./repo-list.js");
    const call: Call = ({ method, path, body }) => this.#call(method, path, body);
    const { added, present, refused } = await addRepositories(call, await readRepositoryList(file));
    this.#print(`${added.length} repositories were added, and ${present.length} were there already`);
    const statuses = wait ? await this.#waitFor(call, [...added, ...present]) : [];
    const problems = [
      ...refused.map(({ name, reason }) => `${name}: ${reason}`),
      ...statuses.filter(({ error }) => error !== "").map(({ name, error }) => `${name}: ${oneLine(error)}`),
    ];
    if (problems.length > 0) throw new TrawlError("bad-request", problems.join("\n"));
  }

  async #waitFor(call: Call, names: readonly string[]): Promise<readonly RepositoryStatus[]> {
    const { waitForRepositories } = await import("./repo-list.js");
    return await withProgress(this.#print, (tell) =>
      waitForRepositories(call, names, (left) =>
        tell(`${names.length - left} of ${names.length} repositories are done`),
      ),
    );
  }

  /** Changes the given attributes. */
  async set(name: string, attributes: TypedAttributes, url: string | undefined, credential?: string): Promise<void> {
    const body = parseAttributes(attributes);
    const hasAttributes = Object.keys(body).length > 0;
    if (!hasAttributes && url === undefined && credential === undefined)
      throw new TrawlError("bad-request", "nothing to change; see `trawl repo set --help`");
    const path = `/.api/repos/${encodeURIComponent(name)}`;
    let status = hasAttributes
      ? ((await this.#callFor(name, "POST", `${path}/attributes`, body)) as RepositoryStatus)
      : undefined;
    const remote = {
      ...(url === undefined ? {} : { url: absoluteUrl(url, process.cwd()) }),
      ...(credential === undefined ? {} : { credential }),
    };
    if (Object.keys(remote).length > 0)
      status = (await this.#callFor(name, "POST", `${path}/url`, remote)) as RepositoryStatus;
    if (status !== undefined) this.#printStatus(status);
  }

  async list(json: boolean): Promise<void> {
    const repositories = (await this.#call("GET", "/.api/repos", undefined)) as RepositoryStatus[];
    for (const status of repositories) {
      if (json) this.#print(JSON.stringify(status));
      else this.#printStatus(status);
    }
  }

  async remove(name: string): Promise<void> {
    await this.#callFor(name, "DELETE", `/.api/repos/${encodeURIComponent(name)}`, undefined);
    this.#print(`removed ${name}`);
  }

  /**
   * Syncs one repository, or all of them; resolves when the fetched state is searchable. With a commit, resolves when an
   * indexed branch of the repository contains it; throws the reason if none does after a fetch. `acceptEmpty`: the
   * repository may be empty afterwards.
   */
  async sync(name: string | undefined, commit: string | undefined, acceptEmpty = false): Promise<void> {
    if (name === undefined && commit !== undefined)
      throw new TrawlError("bad-request", "write `trawl repo sync NAME --wait COMMIT`");
    if (acceptEmpty && (name === undefined || commit !== undefined))
      throw new TrawlError("bad-request", "write `trawl repo sync NAME --accept-empty`");
    if (name === undefined) {
      for (const status of (await this.#call("POST", "/.api/sync", undefined)) as RepositoryStatus[])
        this.#printStatus(status);
      return;
    }
    const path = `/.api/repos/${encodeURIComponent(name)}/sync`;
    const body = commit !== undefined ? { commit } : acceptEmpty ? { acceptEmpty } : undefined;
    this.#printStatus((await this.#callFor(name, "POST", path, body)) as RepositoryStatus);
  }

  /** Like `#call`; if there is no such repository, the error names the one that was probably meant. */
  #callFor(name: string, method: "POST" | "DELETE", path: string, body: unknown): Promise<unknown> {
    return suggestName(
      name,
      () => this.#call("GET", "/.api/repos", undefined),
      () => this.#call(method, path, body),
    );
  }

  #call(method: "GET" | "POST" | "DELETE", path: string, body: unknown): Promise<unknown> {
    return withProgress(this.#print, (tell) =>
      callDaemon(this.#dataDirectory, { method, path, body, progress: (line) => tell(String(line)) }),
    );
  }

  #printStatus(status: RepositoryStatus): void {
    const megabytes = (status.contentBytes / 1e6).toFixed(1);
    const fields = [status.name, status.state, `${status.documentCount} documents`, `${megabytes} MB`, status.url];
    for (const flag of ["fork", "archived", "private"] as const) if (status[flag]) fields.push(flag);
    if (status.readers.length > 0) fields.push(`read by ${status.readers.join(" ")}`);
    if (status.readersFrom !== "") fields.push(`readers by ${status.readersFrom}`);
    if (status.stars > 0) fields.push(`${status.stars} ${status.stars === 1 ? "star" : "stars"}`);
    fields.push(...describeIgnored(status.skippedCounts["ignored"] ?? 0));
    fields.push(...describeHistory(status.historyIndex), ...describeMissing(status.missingSymbols));
    if (status.deletedAfter !== "") fields.push(`deleted after ${status.deletedAfter}`);
    if (status.activity !== "") fields.push(status.activity);
    if (status.error !== "") fields.push(`error: ${oneLine(status.error)}`);
    this.#print(fields.join("  "));
    for (const warning of status.warnings) this.#print(`  warning: ${oneLine(warning)}`);
    for (const sentence of status.quarantine) this.#print(`  ${sentence}`);
    for (const line of listMissing(status.missingSymbols)) this.#print(`  ${line}`);
  }
}

function describeIgnored(count: number): string[] {
  return count === 0 ? [] : [`${count} ${count === 1 ? "file" : "files"} left out by .sourcegraph/ignore`];
}

/** Nothing while its commits are not counted, or none is to be indexed. */
function describeHistory({ wanted, reachableCount, indexedCount, storedBytes, error }: HistoryStatus): string[] {
  const failure = error === "" ? [] : [`history error: ${oneLine(error)}`];
  if (reachableCount === null) return failure;
  const part = wanted === "all" ? "" : ` (${wanted})`;
  const megabytes = (storedBytes / 1e6).toFixed(1);
  return [`history${part}: ${indexedCount} of ${reachableCount} commits, ${megabytes} MB`, ...failure];
}

/** Shards that have no symbols yet are not told: they get them in the background. */
function describeMissing({ textCount }: MissingSymbols): string[] {
  return textCount === 0 ? [] : [`symbols missing: ${textCount} ${textCount === 1 ? "text" : "texts"}`];
}

/** `trawl repo list --json` and the receipt of a search list more of them. */
const listedFilesMax = 10;

function listMissing({ files }: MissingSymbols): string[] {
  const more = files.length > listedFilesMax ? ["symbols missing: …"] : [];
  return [
    ...files.slice(0, listedFilesMax).map(({ path, reason }) => `symbols missing: ${oneLine(path)}: ${reason}`),
    ...more,
  ];
}

/** Replaces control characters, including line ends, by spaces, so that each repository is one line. */
function oneLine(text: string): string {
  return Array.from(text, (character) => (character < " " || character === "\u007f" ? " " : character)).join("");
}

/** The given attributes, in the form that the daemon accepts and validates. */
function parseAttributes({
  fork,
  archived,
  private: isPrivate,
  reader,
  stars,
  description,
  topic,
  meta,
  history,
}: TypedAttributes): Partial<RepositoryAttributes> {
  return {
    ...(fork === undefined ? {} : { fork }),
    ...(archived === undefined ? {} : { archived }),
    ...(isPrivate === undefined ? {} : { private: isPrivate }),
    ...(reader === undefined ? {} : { readers: reader || [] }),
    // Text that is not a number is passed on unchanged, so that the daemon can report it.
    ...(stars === undefined ? {} : { stars: /^[0-9]+$/.test(stars) ? Number(stars) : (stars as unknown as number) }),
    ...(description === undefined ? {} : { description }),
    ...(topic === undefined ? {} : { topics: topic || [] }),
    ...(meta === undefined ? {} : { metadata: Object.fromEntries((meta || []).map(keyAndValue)) }),
    ...(history === undefined ? {} : { history }),
  };
}

function keyAndValue(text: string): readonly [string, string | null] {
  const at = text.indexOf("=");
  return at < 0 ? [text, null] : [text.slice(0, at), text.slice(at + 1)];
}
