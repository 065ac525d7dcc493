import { errorMessage } from "../base/errors.js";
import { checkCredential } from "../git/mirror/url-secret.js";
import type { RepositoryConfig } from "../model/repository.js";
import { TextPattern } from "../regexp/match/text-pattern.js";
import type { ConnectionConfig, ListedRepository } from "./connection.js";

/** The repositories to mirror, and those that cannot be. */
export interface Selection {
  readonly repositories: readonly RepositoryConfig[];
  /** Why some were left out although they were selected; at most a few. */
  readonly problems: readonly string[];
}

const problemsMax = 5;
const descriptionLengthMax = 1000;
const topicsMax = 100;

/**
 * Applies the filters, and turns what a host lists into configurations of repositories. `check` throws if one is
 * invalid.
 */
export function selectRepositories(
  config: ConnectionConfig,
  listed: readonly ListedRepository[],
  check: (repository: RepositoryConfig) => void,
): Selection {
  const include = config.include.map((source) => new TextPattern(source));
  const exclude = config.exclude.map((source) => new TextPattern(source));
  const isWanted = ({ name, fork, archived }: ListedRepository) =>
    (config.forks || !fork) &&
    (config.archived || !archived) &&
    (include.length === 0 || include.some((pattern) => pattern.test(name))) &&
    !exclude.some((pattern) => pattern.test(name));
  const repositories: RepositoryConfig[] = [];
  const problems: string[] = [];
  for (const one of listed.filter(isWanted)) {
    const repository = toConfig(config, one);
    try {
      check(repository);
      checkCredential(repository.url, repository.credential);
      repositories.push(repository);
    } catch (error) {
      if (problems.length < problemsMax) problems.push(`${repository.name.slice(0, 255)}: ${errorMessage(error)}`);
    }
  }
  return { repositories, problems };
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
  };
}

/** Whether a URL is at the host of the connection, so that its token may be sent there; `api.` may begin the latter. */
function mayHaveToken(config: ConnectionConfig, url: string): boolean {
  if (config.kind === "list" || config.kind === "folder" || !URL.canParse(url)) return false;
  const host = new URL(config.url);
  const remote = new URL(url);
  const isApi = host.hostname.startsWith("api.") && host.hostname.slice("api.".length) === remote.hostname;
  return remote.protocol === host.protocol && (remote.host === host.host || (isApi && remote.port === ""));
}
