import { escapeUrlPath } from "../base/path-text.js";
import { splitOnce, trimEndChars, withoutSuffix } from "../base/text.js";

/** The software of a code host, as named in the GraphQL schema. */
export type CodeHostKind = "GITHUB" | "GITLAB" | "BITBUCKETCLOUD" | "OTHER";

/** The path of a repository's page, at a revision if one was specified. */
export function repositoryUrl(name: string, revision: string | undefined): string {
  return `/${escapeUrlPath(name)}${revision === undefined || revision === "" ? "" : `@${escapeUrlPath(revision)}`}`;
}

/** The location of a repository at a code host, derived from its clone URL. */
export interface CodeHost {
  /** For example `https://github.com/`. */
  readonly url: string;
  readonly kind: CodeHostKind;
  /** The URL of the repository's page at the host. */
  readonly repositoryUrl: string;
}

/** The code host of a clone URL; undefined for a local path. */
export function parseCodeHost(cloneUrl: string): CodeHost | undefined {
  const address = parseCloneUrl(cloneUrl);
  if (address === undefined) return undefined;
  return {
    url: `https://${address.host}/`,
    kind: kinds.get(address.host) ?? "OTHER",
    repositoryUrl: `https://${address.host}/${address.path}`,
  };
}

/** The page of a commit at the host. */
export function hostCommitUrl({ kind, repositoryUrl: url }: CodeHost, oid: string): string {
  return `${url}/${kind === "BITBUCKETCLOUD" ? "commits" : "commit"}/${oid}`;
}

/** The page of a file or a directory at the host. */
export function hostEntryUrl(
  { kind, repositoryUrl: url }: CodeHost,
  entry: "tree" | "blob",
  oid: string,
  path: string,
): string {
  return `${url}/${kind === "BITBUCKETCLOUD" ? "src" : entry}/${oid}/${escapeUrlPath(path)}`;
}

/** The name of a repository with this clone URL: `host/path`, without `.git`. */
export function nameOfCloneUrl(cloneUrl: string): string | undefined {
  const address = parseCloneUrl(cloneUrl);
  return address === undefined ? undefined : `${address.host}/${address.path}`;
}

/** Parses `https://host/path.git`, `ssh://git@host/path` and `git@host:path`. */
function parseCloneUrl(cloneUrl: string): { readonly host: string; readonly path: string } | undefined {
  const address = parseUrlAddress(cloneUrl);
  if (address === undefined || /[\n\r\u2028\u2029]/.test(address.path)) return undefined;
  const path = withoutSuffix(trimEndChars(address.path, "/"), ".git");
  return path === "" ? undefined : { host: address.host.toLowerCase(), path };
}

interface HostAndPath {
  readonly host: string;
  readonly path: string;
}

function parseUrlAddress(cloneUrl: string): HostAndPath | undefined {
  const scheme = /^(?:https?|ssh|git):\/\//.exec(cloneUrl)?.[0];
  if (scheme === undefined) return parseScpAddress(cloneUrl);
  const [authority = "", path = ""] = splitOnce(cloneUrl.slice(scheme.length), "/") ?? [];
  const host = [splitOnce(authority, "@")?.[1], authority].map(hostWithoutPort).find((one) => one !== undefined);
  return host === undefined || path === "" ? undefined : { host, path };
}

function hostWithoutPort(text: string | undefined): string | undefined {
  const [host = "", port] = text === undefined ? [] : (splitOnce(text, ":") ?? [text]);
  return host === "" || (port !== undefined && !/^\d+$/.test(port)) ? undefined : host;
}

/** `user@host.domain:path`; a host without a dot is not accepted. */
function parseScpAddress(cloneUrl: string): HostAndPath | undefined {
  const [userAndHost = "", path = ""] = splitOnce(cloneUrl, ":") ?? [];
  if (path === "" || path.startsWith("/") || userAndHost.includes("/")) return undefined;
  const at = userAndHost.indexOf("@");
  const host = [userAndHost.slice(at > 0 ? at + 1 : 0), userAndHost].find(hasDotInside);
  return host === undefined ? undefined : { host, path };
}

function hasDotInside(host: string): boolean {
  return host.slice(1, -1).includes(".");
}

const kinds: ReadonlyMap<string, CodeHostKind> = new Map([
  ["github.com", "GITHUB"],
  ["gitlab.com", "GITLAB"],
  ["bitbucket.org", "BITBUCKETCLOUD"],
]);
