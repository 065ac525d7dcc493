import { errorMessage, TrawlError } from "../../base/errors.js";
import { submodulePolicy, submoduleProblems } from "../../git/mirror/submodule-rules.js";
import { checkCredential } from "../../git/mirror/url-secret.js";
import { isHistoryScope } from "../../model/history-record.js";
import { branchCountMax, type RepositoryAttributes, type RepositoryConfig } from "../../model/repository.js";
import { repositoryTable, type OptionRow, type RepositoryOptions } from "./options.js";
import { absoluteUrl, nameOfUrl } from "../../base/repository-url.js";
import { findLine, type ConfigFile } from "./config-file.js";
import { describe } from "./problems.js";
import { attributesValidation, repositoryValidation } from "./validators.js";

/** Checks a repository, given as JSON, like an item of the file, and fills in defaults. Throws `bad-config`. */
export function resolveRepository(value: unknown): RepositoryConfig {
  const validRepository = repositoryValidation();
  if (!validRepository(value)) {
    const problems = describe("repository", validRepository.errors, value, undefined, ["repositories", "0"]);
    throw new TrawlError("bad-config", problems.join("\n"));
  }
  const config = repositoryConfig(value as Partial<RepositoryOptions>, process.cwd());
  requireUsable(config);
  return config;
}

/** Throws `bad-config` if a listed repository could not be in the configuration file. */
export function checkRepository({ name, url, credential, topics }: RepositoryConfig): void {
  const validRepository = repositoryValidation();
  const value = { name, url, topics };
  if (validRepository(value)) return checkCredential(url, credential);
  const problems = describe("repository", validRepository.errors, value, undefined, ["repositories", "0"]);
  throw new TrawlError("bad-config", problems.join("; "));
}

/**
 * Checks attributes of a repository, given as JSON, like those of the file. Attributes that are absent do not change.
 * Throws `bad-config`.
 */
export function resolveAttributes(value: unknown): Partial<RepositoryAttributes> {
  const validAttributes = attributesValidation();
  if (validAttributes(value)) {
    const attributes = value as Partial<RepositoryAttributes>;
    requireHistoryScope(attributes.history ?? "all");
    return attributes;
  }
  throw new TrawlError(
    "bad-config",
    describe("repository", validAttributes.errors, value, undefined, ["repositories", "0"]).join("\n"),
  );
}

/**
 * A repository and where it was configured. `where` is a function because finding a line reads the file up to it, which
 * is only needed for a message.
 */
export interface LocatedRepository {
  readonly where: () => string;
  readonly config: RepositoryConfig;
}

/** The repositories of the file; none when there are problems, since the file is then not known to be valid. */
export function fileRepositories(file: ConfigFile, problems: string[]): LocatedRepository[] {
  const items = file.content["repositories"];
  if (items === undefined || problems.length > 0 || !Array.isArray(items)) return [];
  return items.flatMap((item: Partial<RepositoryOptions>, at) => {
    const where = (): string => `${file.path}:${findLine(file, ["repositories", String(at)])}`;
    return tryToLocate(item, file.directory, where, problems);
  });
}

/** Adds a problem and returns nothing if the URL cannot be meant as it is written. */
function tryToLocate(
  item: Partial<RepositoryOptions>,
  base: string,
  where: () => string,
  problems: string[],
): LocatedRepository[] {
  try {
    return [{ where, config: repositoryConfig(item, base) }];
  } catch (error) {
    problems.push(`${where()}: ${errorMessage(error)}`);
    return [];
  }
}

/** Parses `NAME=URL`, or a URL alone, from which a name is derived. */
export function typedRepository(text: string, problems: string[]): LocatedRepository[] {
  const where = "command line";
  const [, typedName, url = text] = /^([^=:]+)=(.*)$/s.exec(text) ?? [];
  const located = tryToLocate({ url }, process.cwd(), () => where, problems);
  const name = typedName ?? nameOfUrl(located[0]?.config.url ?? "");
  if (located.length === 0) return [];
  const item = { name, url };
  const validRepository = repositoryValidation();
  if (!validRepository(item))
    problems.push(...describe(where, validRepository.errors, item, undefined, ["repositories", "0"]));
  return [{ where: () => where, config: repositoryConfig(item, process.cwd()) }];
}

const repositoryRows = Object.entries<OptionRow>(repositoryTable);

/** Every repository gets its properties in the same order, so that they share one hidden class. */
function repositoryConfig(item: Partial<RepositoryOptions>, base: string): RepositoryConfig {
  const config: Record<string, unknown> = {};
  for (const [name, row] of repositoryRows) {
    const value = item[name as keyof RepositoryOptions] ?? row.default;
    if (name === "submodules" || name === "submodulesFrom") continue;
    config[name === "interval" ? "intervalSeconds" : name] = name === "url" ? absoluteUrl(String(value), base) : value;
    // Absent unless it is wanted, as in older records.
    if (name === "lfs" && value !== true) config[name] = undefined;
  }
  const { submodules = false, submodulesFrom = [] } = item;
  const [problem] = submoduleProblems({ submodules, submodulesFrom });
  if (problem !== undefined) throw new TrawlError("bad-config", problem);
  config["submodules"] = submodulePolicy({ submodules, submodulesFrom });
  return config as unknown as RepositoryConfig;
}

/** Adds a problem for each name that occurs twice and each credential that does not fit its URL. */
export function checkRepositories(repositories: readonly LocatedRepository[], problems: string[]): void {
  if (problems.length > 0) return;
  const seen = new Set<string>();
  for (const { where, config } of repositories) {
    const { name } = config;
    if (seen.has(name)) problems.push(`${where()}: a repository named ${JSON.stringify(name)} is defined twice`);
    seen.add(name);
    try {
      requireUsable(config);
    } catch (error) {
      problems.push(`${where()}: ${errorMessage(error)}`);
    }
  }
}

/** Throws `bad-config` for a configuration that fits the schema, and with which the repository could not be indexed. */
function requireUsable({ url, credential, history, branches }: RepositoryConfig): void {
  checkCredential(url, credential);
  requireHistoryScope(history);
  // The default branch is one of them, or one more.
  if (new Set(branches).size > branchCountMax)
    throw new TrawlError("bad-config", `branches has more than ${branchCountMax} branches`);
}

function requireHistoryScope(history: string): void {
  if (!isHistoryScope(history))
    throw new TrawlError("bad-config", `history: there is no such day: ${JSON.stringify(history)}`);
}
