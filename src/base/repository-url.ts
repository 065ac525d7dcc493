import { resolve } from "node:path";
import { TrawlError } from "./errors.js";
import { trimEndChars, withoutSuffix } from "./text.js";

/**
 * Returns a URL unchanged; a name of a local directory becomes an absolute path. Throws `bad-config` for a text that would be
 * taken for something else than it was meant for: the name of a host without a scheme, and `~`, which only shells expand.
 */
export function absoluteUrl(url: string, base: string): string {
  const shown = JSON.stringify(url);
  if (isHomePath(url))
    throw new TrawlError("bad-config", `url ${shown}: ~ is not expanded here; write the path in full`);
  if (/^(?:[a-z0-9-]+\.)+(?!git\/)[a-z]{2,63}(?::[0-9]+)?\/[^/]/i.test(url))
    throw new TrawlError("bad-config", `url ${shown} has no scheme: write https://${url}, or for a path ./${url}`);
  if (/^[a-z0-9.-]+:[0-9]{1,5}\//i.test(url))
    throw new TrawlError("bad-config", `url ${shown} has no scheme: write https://${url} or ssh://${url}`);
  const isRemote = /^[a-z][a-z0-9+.-]*:\/\//i.test(url) || /^[^/]+:/.test(url);
  return isRemote ? url : resolve(base, url);
}

/** Whether a shell would replace the beginning of the path by a home directory, which nothing does here. */
export function isHomePath(path: string): boolean {
  return /^~[A-Za-z0-9_-]*(?:\/|$)/.test(path);
}

/** The default name of a repository: `host/path` for a remote URL, the last component of a local path. */
export function nameOfUrl(url: string): string {
  const isLocal = url.startsWith("/") || url.startsWith("file:");
  const name = (isLocal ? undefined : hostAndPath(url)) ?? trimEndChars(url, "/").split("/").at(-1) ?? "";
  return withoutSuffix(trimEndChars(name, "/"), ".git").replace(/[\s@:\\]+/g, "-");
}

/** For `scheme://user@host:port/path` and `user@host:path`. */
function hostAndPath(url: string): string | undefined {
  const addresses = [url.replace(/^[a-z][a-z0-9+.-]*:\/\//i, ""), url];
  return addresses
    .flatMap((address) => [address.replace(/^[^@/]*@/, ""), address])
    .map(splitHost)
    .find((found) => found !== undefined);
}

/** The host at the beginning of `host:port/path` or `host:path`, and the path. */
function splitHost(address: string): string | undefined {
  const host = /^[^/:]+/.exec(address)?.[0] ?? "";
  const rest = address.slice(host.length).replace(/^:[0-9]+(?=\/)/, "");
  return host !== "" && /^[:/]/.test(rest) ? `${host}/${rest.replace(/^[:/]+/, "")}` : undefined;
}
