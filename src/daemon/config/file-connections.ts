import { isIP } from "node:net";
import type { ProviderConfig } from "../../account/sign-in/provider-config.js";
import { errorMessage } from "../../base/errors.js";
import { apiKinds } from "../../codehost/api-kinds.js";
import { type ApiKindName, type ConnectionConfig, isLocal } from "../../codehost/connection.js";
import { readerSources } from "../../codehost/readers/reader-sources.js";
import { submoduleProblems } from "../../git/mirror/submodule-rules.js";
import { TextPattern } from "../../regexp/match/text-pattern.js";
import { connectionTable } from "./connection-options.js";
import type { OptionRow } from "./options.js";
import { type ConfigFile, findLine } from "./config-file.js";

const defaults = Object.fromEntries(
  Object.entries<OptionRow>(connectionTable).map(([name, row]) => [name, row.default]),
);

type Item = Omit<ConnectionConfig, "intervalSeconds" | "permissionsSeconds" | "workingCopySeconds"> & {
  readonly interval: number;
  readonly permissionsMaxAge: number;
  readonly workingCopyInterval: number;
};

/** The connections of the file, with defaults filled in. Adds what is wrong with one to `problems`, with its line. */
export function fileConnections(file: ConfigFile, problems: string[]): ConnectionConfig[] {
  const items = file.content["connections"];
  if (items === undefined || problems.length > 0 || !Array.isArray(items)) return [];
  const seen = new Set<string>();
  return items.map((item: Partial<Item>, at) => {
    const { interval, permissionsMaxAge, workingCopyInterval, ...fields } = { ...defaults, ...item } as Item;
    const url = fields.kind === "command" ? (fields.command[0] ?? "") : fields.url;
    const config = {
      ...fields,
      url,
      prefix: item.prefix ?? defaultPrefix(fields),
      intervalSeconds: interval,
      permissionsSeconds: permissionsMaxAge,
      workingCopySeconds: workingCopyInterval,
    };
    const where = `${file.path}:${findLine(file, ["connections", String(at)])}`;
    if (seen.has(config.name)) problems.push(`${where}: a connection named "${config.name}" is defined twice`);
    seen.add(config.name);
    for (const problem of findProblems(config)) problems.push(`${where}: connection ${config.name}: ${problem}`);
    return config;
  });
}

/** `github.com/` for `https://api.github.com`. */
function defaultPrefix({ kind, url }: Pick<Item, "kind" | "url">): string {
  if (isLocal({ kind }) || !URL.canParse(url)) return "";
  const { hostname } = new URL(url);
  return `${kind === "github" || kind === "bitbucket-cloud" ? hostname.replace(/^api\./, "") : hostname}/`;
}

function findProblems(config: ConnectionConfig): string[] {
  const problems: string[] = [];
  const isPath = config.url.startsWith("/");
  const isHost = !isLocal(config);
  if (config.kind === "folder" && !isPath) problems.push("url must be an absolute path");
  if (config.kind === "command") problems.push(...commandProblems(config));
  else if (config.command.length > 0) problems.push("command is only for the kind command");
  else if (config.url === "") problems.push("it needs a url");
  if (isHost && isPath) problems.push("url must begin with http:// or https://");
  if (!isPath && config.url !== "" && !URL.canParse(config.url)) problems.push(`url is not valid: ${config.url}`);
  if (isHost && config.owners.length === 0 && apiKinds[config.kind as ApiKindName].ownPath === undefined)
    problems.push(`it needs owners: ${config.kind} lists no repositories of a token`);
  else if (isHost && config.owners.length === 0 && !isAuthorized(config) && config.kind !== "gerrit")
    problems.push("it needs owners, or a credential whose repositories are listed");
  problems.push(...appProblems(config));
  if (config.workingCopies && config.kind !== "folder") problems.push("workingCopies is only for folder");
  problems.push(...permissionProblems(config), ...submoduleProblems(config));
  const isHostName = (host: string): boolean =>
    host === "*" || (URL.canParse(`http://${bracket(host)}/`) && (isIP(host) !== 0 || !/[:/@?#\\*\s]/.test(host)));
  for (const host of config.hosts.filter((host) => !isHostName(host)))
    problems.push(`hosts: ${JSON.stringify(host)} is not the name of a host, such as git.example.org, nor *`);
  for (const source of [...config.include, ...config.exclude]) {
    try {
      new TextPattern(source).test("");
    } catch (error) {
      problems.push(`${JSON.stringify(source)} is not a regular expression: ${errorMessage(error)}`);
    }
  }
  return problems;
}

/** Names in `readers` and the answers of a host never decide about one repository together. */
function permissionProblems(config: ConnectionConfig): string[] {
  const { kind, permissions, readers, userNames, permissionsProvider } = config;
  const isMapped = Object.keys(userNames).length > 0 || permissionsProvider !== "";
  if (permissions === "readers")
    return isMapped ? ["userNames and permissionsProvider are only for permissions of the host"] : [];
  const problems: string[] = [];
  if (readerSources[kind as ApiKindName] === undefined)
    problems.push(`permissions of the host are known for ${Object.keys(readerSources).join(", ")}, not for ${kind}`);
  if (readers.length > 0) problems.push("with permissions of the host, it has no readers of its own");
  if (!isAuthorized(config)) problems.push("permissions of the host need a credential");
  if (!isMapped) problems.push("permissions of the host need userNames or a permissionsProvider");
  if (kind === "github" && permissionsProvider !== "")
    problems.push("permissionsProvider is not for github, which is no identity provider: write userNames");
  return problems;
}

/**
 * The numbers of accounts at one host are those of others at another host, so the provider must be the host itself. Its port may be
 * another one.
 */
export function providerProblems(
  connections: readonly ConnectionConfig[],
  providers: readonly Pick<ProviderConfig, "name" | "issuer">[],
): readonly string[] {
  const issuers = new Map(providers.map(({ name, issuer }) => [name, issuer]));
  return connections.flatMap(({ name, url, permissionsProvider }) => {
    if (permissionsProvider === "") return [];
    const issuer = issuers.get(permissionsProvider);
    if (issuer === undefined) return [`${name}: no identity provider is named ${JSON.stringify(permissionsProvider)}`];
    const [own, other] = [new URL(url).hostname, new URL(issuer).hostname];
    const problem = `${name}: permissionsProvider has to be the host itself, ${own}, but the issuer of ${permissionsProvider} is at ${other}`;
    return own === other ? [] : [problem];
  });
}

function isAuthorized({ credential, app }: ConnectionConfig): boolean {
  return credential !== "" || app !== "";
}

function appProblems({ kind, app, appKey, installation, credential, owners, ssh }: ConnectionConfig): string[] {
  if (app === "") return appKey + installation === "" ? [] : ["appKey and installation need an app"];
  const problems: string[] = [];
  if (kind !== "github") problems.push("app is only for github");
  if (appKey === "") problems.push("app needs appKey, the place of its private key");
  if (credential !== "") problems.push("it has app and credential: remove one of them");
  if (installation !== "" && owners.length > 0)
    problems.push("installation is in the account of one owner: leave out owners, or installation");
  if (ssh) problems.push("app is for fetches by https: leave out ssh");
  return problems;
}

function commandProblems({ command, credential }: ConnectionConfig): string[] {
  const problems: string[] = [];
  if (!command[0]?.startsWith("/")) problems.push("command must begin with the absolute path of a program");
  if (command.some((word) => word.includes("\0"))) problems.push("command must not contain NUL");
  if (credential !== "") problems.push("a command takes no credential: it reads what it needs itself");
  return problems;
}

/** An address of IPv6 as it is written in a URL. */
function bracket(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}
