import type { ExternalServiceKind } from "./schema-types.js";

/** The path of a repository's page, at a revision when one was typed. */
export function repositoryUrl(name: string, revision: string | undefined): string {
  return `/${escapePath(name)}${revision === undefined || revision === "" ? "" : `@${escapePath(revision)}`}`;
}

/** Escapes what a path must not hold, and leaves slashes. */
export function escapePath(path: string): string {
  // Nearly all paths.
  if (/^[\w./@:+-]*$/.test(path)) return path;
  return encodeURIComponent(path).replace(/%(2F|40|3A|2B|24|26|3D|2C|3B)/g, (escaped) => decodeURIComponent(escaped));
}

/** Where a repository lives, as far as its clone URL tells. */
export interface CodeHost {
  /** As in `https://github.com/`. */
  readonly url: string;
  readonly kind: ExternalServiceKind;
  /** The repository's page there. */
  readonly repositoryUrl: string;
}

/** The code host behind a clone URL; undefined for a local path. */
export function codeHostOf(cloneUrl: string): CodeHost | undefined {
  const place = placeOf(cloneUrl);
  if (place === undefined) return undefined;
  return { url: `https://${place.host}/`, kind: kinds[place.host] ?? "OTHER", repositoryUrl: `https://${place.host}/${place.path}` };
}

/** Names that a repository with this clone URL may have: `host/path`, without `.git`. */
export function nameOfCloneUrl(cloneUrl: string): string | undefined {
  const place = placeOf(cloneUrl);
  return place === undefined ? undefined : `${place.host}/${place.path}`;
}

/** Reads `https://host/path.git`, `ssh://git@host/path` and `git@host:path`. */
function placeOf(cloneUrl: string): { readonly host: string; readonly path: string } | undefined {
  const found = /^(?:https?|ssh|git):\/\/(?:[^@/]*@)?([^/:]+)(?::\d+)?\/(.+)$/.exec(cloneUrl) ?? /^(?:[^@/:]+@)?([^/:]+\.[^/:]+):(?!\/)(.+)$/.exec(cloneUrl);
  if (found === null) return undefined;
  const path = found[2].replace(/\/+$/, "").replace(/\.git$/, "");
  return path === "" ? undefined : { host: found[1].toLowerCase(), path };
}

const kinds: Readonly<Record<string, ExternalServiceKind>> = { "github.com": "GITHUB", "gitlab.com": "GITLAB", "bitbucket.org": "BITBUCKETCLOUD" };
