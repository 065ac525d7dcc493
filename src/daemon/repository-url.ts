import { resolve } from "node:path";

/** A URL as it is, or an absolute path when it names a directory of this host. */
export function absoluteUrl(url: string, base: string): string {
  const isRemote = /^[a-z][a-z0-9+.-]*:\/\//i.test(url) || /^[^/]+:/.test(url);
  return isRemote ? url : resolve(base, url);
}

/** The name for a repository of which only the URL is given: `host/path` of a remote one, the last part of a path. */
export function nameOfUrl(url: string): string {
  const remote = /^(?:[a-z][a-z0-9+.-]*:\/\/)?(?:[^@/]*@)?([^/:]+)(?::[0-9]+(?=\/))?[:/]+(.*)$/i.exec(url);
  const isLocal = url.startsWith("/") || url.startsWith("file:");
  const name = remote === null || isLocal ? url.replace(/\/+$/, "").split("/").at(-1) ?? "" : `${remote[1]}/${remote[2]}`;
  return name.replace(/\/+$/, "").replace(/\.git$/, "").replace(/[\s@:\\]+/g, "-");
}
