import { resolve } from "node:path";
import { TrawlError, errorMessage } from "../../base/errors.js";
import { isHomePath } from "../../base/repository-url.js";
import { findLine, hasValue, parseConfigFile, readConfigFile, type ConfigFile } from "./config-file.js";
import { fileConnections, providerProblems } from "./file-connections.js";
import { isObject } from "../../base/is-object.js";
import { findOptionProblems } from "./option-problems.js";
import { describe, ownRow, unknownKeyText } from "./problems.js";
import { checkRepositories, fileRepositories, typedRepository } from "./file-repositories.js";
import { optionValidation } from "./validators.js";
import {
  optionTable,
  splitKey,
  type OptionKey,
  type OptionRow,
  type OptionValues,
  type ResolvedOptions,
  type TypedOptions,
  contextRevisionLengthMax,
} from "./options.js";
import type { SearchContext } from "../../model/search-context.js";
import { checkContextQuery } from "../../query/plan/search-contexts.js";
import { QueryError } from "../../query/syntax/query-error.js";
import type { ProviderConfig } from "../../account/sign-in/provider-config.js";
import { checkName } from "../../account/records/validation.js";
import { providerTable } from "./provider-options.js";

/**
 * Resolves the options that were typed: reads and checks the file, overrides it by the command line, fills in defaults
 * and makes paths absolute. Called at the start, and on SIGHUP again with the same `typed`.
 *
 * Throws one `bad-config` error that lists everything that is wrong, one line each, as in
 * `trawl.jsonc:12: search.queue: must be …, not "x"`.
 */
export function resolveOptions(typed: TypedOptions): ResolvedOptions {
  const problems: string[] = [];
  const file = typed.configFile === undefined ? undefined : readConfigFile(typed.configFile, problems);
  return resolveFile(typed, file, true, problems);
}

/**
 * Throws what `resolveOptions` would throw if `text` were the file, with `path` in its place. The files of secrets that it names
 * are not read: whoever has written the text need not be the operator.
 */
export function checkConfigText(typed: TypedOptions, path: string, text: string): void {
  const problems: string[] = [];
  resolveFile(typed, parseConfigFile(path, text, problems), false, problems);
}

function resolveFile(
  typed: TypedOptions,
  file: ConfigFile | undefined,
  mayReadFiles: boolean,
  problems: string[],
): ResolvedOptions {
  const values = new Map<string, unknown>(file ? flatten(file, problems) : []);
  for (const [key, text] of typed.overrides) applyOverride(values, key, text, problems);
  const repositories = [
    ...(file ? fileRepositories(file, problems) : []),
    ...typed.repositories.flatMap((text) => typedRepository(text, problems)),
  ];
  checkRepositories(repositories, problems);
  const connections = file === undefined ? [] : fileConnections(file, problems);
  const contexts = file === undefined ? [] : fileContexts(file, problems);
  const identityProviders = file === undefined ? [] : fileProviders(file, problems);
  if (problems.length === 0)
    problems.push(
      ...providerProblems(connections, identityProviders).map((problem) => `${file?.path}: connection ${problem}`),
    );
  const options = nest(values);
  const { listenHost, listenPort } = checkListen(options, values.has("auth.public"), problems);
  const resolved = { ...options, data: resolve(options.data) };
  // A default is never wrong in itself: that of the data directory depends on where the program is started.
  for (const { key, message } of findOptionProblems(resolved, mayReadFiles).filter((one) => values.has(one.key)))
    problems.push(`${findPlace(key, file, typed)}${message}`);
  if (problems.length > 0) throw new TrawlError("bad-config", problems.join("\n"));
  return {
    ...resolved,
    typed,
    listenHost,
    listenPort,
    repositories: repositories.map(({ config }) => config),
    contexts,
    connections,
    identityProviders,
  };
}

/** Names of the options whose values differ, without the lists of repositories and contexts. */
export function differingOptions(a: ResolvedOptions, b: ResolvedOptions): string[] {
  return Object.keys(optionTable).filter(
    (key) => JSON.stringify(optionAt(a, key)) !== JSON.stringify(optionAt(b, key)),
  );
}

function optionAt(options: ResolvedOptions, key: string): unknown {
  const { group, name } = splitKey(key);
  const values = (group === undefined ? options : options[group as keyof ResolvedOptions]) as unknown;
  return (values as Readonly<Record<string, unknown>>)[name];
}

/** Where the value of an option is from: `FILE:LINE: `, or nothing for one of the command line or a default. */
function findPlace(key: OptionKey, file: ConfigFile | undefined, { overrides }: TypedOptions): string {
  if (file === undefined || overrides.some(([overridden]) => overridden === key)) return "";
  const { group, name } = splitKey(key);
  const path = group === undefined ? [name] : [group, name];
  return hasValue(file, path) ? `${file.path}:${findLine(file, path)}: ` : "";
}

/** The options of the file by key. A relative data directory is relative to the file. */
function flatten(file: ConfigFile, problems: string[]): [string, unknown][] {
  const values: [string, unknown][] = [];
  const { content, directory } = file;
  if (typeof content["data"] === "string" && isHomePath(content["data"]))
    problems.push(
      `${file.path}:${findLine(file, ["data"])}: data: ~ in ${JSON.stringify(content["data"])} is not expanded here; write the path in full`,
    );
  for (const [key, value] of Object.entries(content)) {
    // Certificates are near the file that names them.
    if (key === "fleet" && isObject(value)) {
      for (const [name, inner] of Object.entries(value)) {
        const isPath =
          ["certificate", "key", "authority", "databaseAuthority"].includes(name) &&
          typeof inner === "string" &&
          inner !== "";
        values.push([`fleet.${name}`, isPath ? resolve(directory, inner) : inner]);
      }
    } else if (Object.hasOwn(optionTable, key))
      values.push([key, key === "data" ? resolve(directory, String(value)) : value]);
    else if (isObject(value)) for (const [name, inner] of Object.entries(value)) values.push([`${key}.${name}`, inner]);
  }
  return values;
}

function applyOverride(values: Map<string, unknown>, key: string, text: string, problems: string[]): void {
  const row = ownRow(optionTable, key);
  const isValid = row === undefined ? undefined : optionValidation(key as OptionKey);
  const value = row ? readValue(row, text) : text;
  const { group, name } = splitKey(key);
  const content = group === undefined ? { [name]: value } : { [group]: { [name]: value } };
  if (key === "data" && isHomePath(text))
    problems.push(`command line: data: ~ in ${JSON.stringify(text)} is not expanded here; write the path in full`);
  else if (isValid?.(content)) values.set(key, value);
  else if (isValid) problems.push(...describe("command line", isValid.errors, content, undefined, []));
  else if (key === "repositories") problems.push("command line: repositories are named with --repository NAME=URL");
  else problems.push(`command line: ${unknownKeyText([], key)}`);
}

/** Parses the value of an option on the command line. Invalid text is returned as it is, and fails validation. */
function readValue(row: OptionRow, text: string): unknown {
  if (row.kind === "string" || row.kind === "choice") return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Fills in defaults, and turns keys with a dot into nested objects. */
function nest(values: ReadonlyMap<string, unknown>): OptionValues {
  const nested: Record<string, unknown> = {};
  for (const [key, row] of Object.entries<OptionRow>(optionTable)) {
    const value = values.has(key) ? values.get(key) : row.default;
    const { group, name } = splitKey(key);
    if (group === undefined) nested[name] = value;
    else nested[group] = { ...(nested[group] as object), [name]: value };
  }
  return nested as OptionValues;
}

function checkListen(
  options: OptionValues,
  isPublicGiven: boolean,
  problems: string[],
): { listenHost: string; listenPort: number } {
  const { host: listenHost, port: listenPort } = splitAddress(options.listen);
  if (listenPort > portMax) problems.push(`listen: the port of ${options.listen} is above ${portMax}`);
  const { listen } = options.metrics;
  if (listen !== "" && splitAddress(listen).port > portMax)
    problems.push(`metrics.listen: the port of ${listen} is above ${portMax}`);
  if (listen === options.listen && listenPort !== 0)
    problems.push("metrics.listen: it must differ from listen; leave it out to serve /metrics there");
  if (!isLoopback(listenHost) && !isPublicGiven) {
    problems.push(
      `listen: ${options.listen} is not a loopback address: set "auth": {"public": false} to ask everyone for an ` +
        `access token, or "auth": {"public": true} to let everyone who can reach it read all code that is not private`,
    );
  }
  return { listenHost, listenPort };
}

const portMax = 65_535;

/** The parts of HOST:PORT, without the brackets of an IPv6 address. */
export function splitAddress(address: string): { readonly host: string; readonly port: number } {
  const at = address.lastIndexOf(":");
  return { host: withoutBrackets(address.slice(0, at)), port: Number(address.slice(at + 1)) };
}

/** Without those of an IPv6 address. */
function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, "");
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.[0-9]{1,3}){3}$/.test(host);
}

/** The contexts of the file, with defaults filled in. Adds what is wrong with one to `problems`, with its line. */
function fileContexts(file: ConfigFile, problems: string[]): SearchContext[] {
  const items = file.content["contexts"];
  if (items === undefined || problems.length > 0 || !Array.isArray(items)) return [];
  const seen = new Set<string>();
  return items.map((item: Partial<SearchContext> & { readonly name: string }, at) => {
    const { name, description = "", public: isPublic = true, query = "" } = item;
    const repositories = (item.repositories ?? []).map((repository) => ({
      ...repository,
      revisions: (repository.revisions as readonly string[] | undefined) ?? [],
    }));
    const where = `${file.path}:${findLine(file, ["contexts", String(at)])}`;
    const context = { name, description, public: isPublic, query, repositories };
    if (seen.has(name)) problems.push(`${where}: a context named ${JSON.stringify(name)} is defined twice`);
    seen.add(name);
    for (const problem of contextProblems(context, item.repositories !== undefined))
      problems.push(`${where}: context ${name}: ${problem}`);
    return context;
  });
}

function contextProblems({ query, repositories }: SearchContext, hasList: boolean): string[] {
  if ((query !== "") === hasList) return [`it needs either "query" or "repositories"${hasList ? ", not both" : ""}`];
  const long = repositories
    .flatMap(({ revisions }) => revisions)
    .find((revision) => revision.length > contextRevisionLengthMax);
  if (long !== undefined)
    return [`the revision ${long.slice(0, 40)}… is longer than ${contextRevisionLengthMax} characters`];
  const names = repositories.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined) return [`${JSON.stringify(twice)} is in its list twice; give one entry all revisions`];
  if (query === "") return [];
  try {
    checkContextQuery(query, new Date().getTime());
    return [];
  } catch (error) {
    if (error instanceof QueryError)
      return error
        .printWithCaret()
        .split("\n")
        .filter((line) => line !== "");
    throw error;
  }
}

const providerDefaults = Object.fromEntries(
  Object.entries<OptionRow>(providerTable).map(([name, row]) => [name, row.default]),
);

type ProviderItem = Omit<ProviderConfig, "organizations"> & {
  readonly organizations: Readonly<Record<string, string | null>>;
};

/** The identity providers of the file, with defaults filled in. Adds what is wrong with one to `problems`, with its line. */
function fileProviders(file: ConfigFile, problems: string[]): ProviderConfig[] {
  const items = file.content["identityProviders"];
  if (items === undefined || problems.length > 0 || !Array.isArray(items)) return [];
  const names = new Set<string>();
  const ownerOfOrganization = new Map<string, string>();
  return items.map((item: Partial<ProviderItem>, at) => {
    const { organizations, ...fields } = { ...providerDefaults, ...item } as ProviderItem;
    const config: ProviderConfig = {
      ...fields,
      displayName: fields.displayName === "" ? fields.name : fields.displayName,
      signUpDomains: fields.signUpDomains.map((domain) => domain.toLowerCase()),
      organizations: Object.fromEntries(
        Object.entries(organizations).flatMap(([group, name]) => (name === null ? [] : [[group, name]])),
      ),
    };
    const { name } = config;
    const where = `${file.path}:${findLine(file, ["identityProviders", String(at)])}: identity provider ${name}`;
    if (names.has(name)) problems.push(`${where}: it is defined twice`);
    names.add(name);
    for (const organization of new Set(Object.values(config.organizations))) {
      const owner = ownerOfOrganization.get(organization.toLowerCase()) ?? name;
      if (owner !== name) problems.push(`${where}: the members of ${organization} are decided by ${owner} already`);
      ownerOfOrganization.set(organization.toLowerCase(), owner);
    }
    for (const problem of ownProblems(config)) problems.push(`${where}: ${problem}`);
    return config;
  });
}

function ownProblems(config: ProviderConfig): string[] {
  const problems: string[] = [];
  if (!URL.canParse(config.issuer)) problems.push(`issuer is not valid: ${config.issuer}`);
  else if (config.issuer.startsWith("http:") && !isLoopback(withoutBrackets(new URL(config.issuer).hostname)))
    problems.push("issuer must begin with https://, unless it is on this machine");
  if (!config.scopes.includes("openid")) problems.push("scopes must include openid");
  if (config.signUp === "listed" && config.signUpDomains.length === 0 && config.signUpGroups.length === 0)
    problems.push('signUp is "listed", so it needs signUpDomains or signUpGroups');
  if (config.signUp !== "listed" && config.signUpDomains.length + config.signUpGroups.length > 0)
    problems.push('signUpDomains and signUpGroups have no effect unless signUp is "listed"');
  for (const name of Object.values(config.organizations)) {
    try {
      checkName(name);
    } catch (error) {
      problems.push(`organizations: ${errorMessage(error)}`);
    }
  }
  return problems;
}
