import { setImmediate } from "node:timers/promises";
import { errorMessage } from "../base/errors.js";
import { submodulePolicy } from "../git/mirror/submodule-rules.js";
import { plainHost } from "../git/run/remote-url.js";
import type { RemoteSource, RepositoryConfig } from "../model/repository.js";
import { TextPattern } from "../regexp/match/text-pattern.js";
import { type ConnectionConfig, isLocal, type ListedRepository } from "./connection.js";

/** The repositories to mirror, and those that cannot be. */
export interface Selection {
  readonly repositories: readonly RepositoryConfig[];
  /** The URLs of those that were selected but may not be mirrored, by name. */
  readonly refused: ReadonlyMap<string, string>;
  /** Why; at most a few. */
  readonly problems: readonly string[];
}

const problemsMax = 5;
const descriptionLengthMax = 1000;
const topicsMax = 100;

/** Checking this many takes about 2 ms of the main thread. */
const checkedAtOnce = 20;

/**
 * Applies the filters, and turns what a host lists into configurations of repositories. `check` rejects if one is invalid
 * or may not be fetched.
 */
export async function selectRepositories(
  config: ConnectionConfig,
  listed: readonly ListedRepository[],
  check: (repository: RepositoryConfig) => Promise<void>,
): Promise<Selection> {
  const include = config.include.map((source) => new TextPattern(source));
  const exclude = config.exclude.map((source) => new TextPattern(source));
  const isWanted = ({ name, fork, archived }: ListedRepository) =>
    (config.forks || !fork) &&
    (config.archived || !archived) &&
    (include.length === 0 || include.some((pattern) => pattern.test(name))) &&
    !exclude.some((pattern) => pattern.test(name));
  const repositories: RepositoryConfig[] = [];
  const refused = new Map<string, string>();
  const problems: string[] = [];
  for (const [at, one] of listed.entries()) {
    if (at % checkedAtOnce === checkedAtOnce - 1) await setImmediate();
    if (!isWanted(one)) continue;
    const repository = toConfig(config, one);
    try {
      await check(repository);
      repositories.push(repository);
    } catch (error) {
      refused.set(repository.name, repository.url);
      if (problems.length < problemsMax) problems.push(`${repository.name.slice(0, 255)}: ${errorMessage(error)}`);
    }
  }
  return { repositories, refused, problems };
}

function toConfig(config: ConnectionConfig, listed: ListedRepository): RepositoryConfig {
  const url = config.ssh && listed.sshUrl !== "" ? listed.sshUrl : listed.url;
  return {
    name: config.prefix + listed.name,
    url,
    credential: mayHaveToken(config, url) ? config.credential : "",
    branches: [],
    intervalSeconds: 0,
    fork: listed.fork,
    archived: listed.archived,
    private: listed.private,
    readers: listed.private ? config.readers : [],
    stars: Math.min(Math.max(listed.stars, 0), 2 ** 31 - 1),
    description: listed.description.slice(0, descriptionLengthMax),
    topics: listed.topics.slice(0, topicsMax),
    metadata: {},
    history: "all",
    lfs: config.lfs ? true : undefined,
    source: { ...findSource(config), ...workingCopy(config, listed.workTree) },
    submodules: submodulePolicy(config),
  };
}

/** What is added to the source of a repository whose uncommitted files are indexed. */
export function workingCopy(
  { kind, workingCopies, workingCopySeconds }: ConnectionConfig,
  workTree: string,
): Pick<RemoteSource, "workingCopySeconds" | "workTree"> {
  return kind === "folder" && workingCopies && workTree !== "" ? { workingCopySeconds, workTree } : {};
}

/**
 * Hosts and lists on the web may name repositories at their own host, and at those that the operator has configured for the
 * connection. The API of a host may have another name, which begins with `api.`. A file of the operator, and a folder, may
 * name any place.
 */
export function findSource({ name, url, hosts, permissions }: ConnectionConfig): RemoteSource {
  if (!/^https?:/i.test(url)) return { connection: name };
  const own = plainHost(new URL(url).hostname);
  const others = [own, own.replace(/^api\./, ""), ...hosts.map(plainHost)];
  const source = { connection: name, hosts: [...new Set(others)] };
  return permissions === "host" ? { ...source, readersFromHost: true } : source;
}

/** Whether a URL is at the host of the connection, so that its token may be sent there; `api.` may begin the latter. */
export function mayHaveToken(config: ConnectionConfig, url: string): boolean {
  if (isLocal(config) || !URL.canParse(url)) return false;
  const host = new URL(config.url);
  const remote = new URL(url);
  const isApi = host.hostname.startsWith("api.") && host.hostname.slice("api.".length) === remote.hostname;
  return remote.protocol === host.protocol && (remote.host === host.host || (isApi && remote.port === ""));
}
