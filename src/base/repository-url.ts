import { resolve } from "node:path";
import { trimEndChars, withoutSuffix } from "./text.js";

/** Returns a URL unchanged; a name of a local directory becomes an absolute path. */
export function absoluteUrl(url: string, base: string): string {
  const isRemote = /^[a-z][a-z0-9+.-]*:\/\//i.test(url) || /^[^/]+:/.test(url);
  return isRemote ? url : resolve(base, url);
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
