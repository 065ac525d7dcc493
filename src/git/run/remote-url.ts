import { TrawlError } from "../../base/errors.js";
import { requireUrlPart } from "../../base/path-text.js";
import { trimEndChars } from "../../base/text.js";

/** The location of a repository, validated and without secrets in `text`. */
export type RemoteUrl = LocalUrl | SshUrl | HttpUrl;

/** A repository or working tree on this machine. `text` is the absolute path, which is passed to git. */
export interface LocalUrl {
  readonly kind: "local";
  readonly text: string;
  readonly path: string;
}

/** `ssh://…` or `user@host:path`. */
export interface SshUrl {
  readonly kind: "ssh";
  readonly text: string;
}

export interface HttpUrl {
  readonly kind: "http";
  readonly scheme: "http" | "https";
  /** The URL without user and password. */
  readonly text: string;
  /** `https://host:port`, without a trailing slash. */
  readonly origin: string;
  /** Value of the Authorization header for user and password of the URL; null if there are none. Secret. */
  readonly authorization: string | null;
}

/**
 * Validates the URL of a repository: an absolute path, `file://`, `http(s)://`, `ssh://` or `user@host:path`.
 *
 * Everything else is rejected, in particular `ext::command` and similar forms, which make git run commands, and texts
 * that git could interpret as an option. The caller must make a relative path absolute, because only the caller knows
 * its base.
 *
 * Throws `bad-config`, with a message that contains no password.
 */
export function parseRemoteUrl(text: string): RemoteUrl {
  if (text === "") throw refused(text, "it is empty");
  if (/[\u0000-\u001f\u007f]/.test(text)) throw refused(text, "it contains a control character");
  if (text.startsWith("-")) throw refused(text, "it starts with a dash");
  if (text.startsWith("/")) return localUrl(text);
  if (/^[a-z][a-z0-9+.-]*::/i.test(text)) throw refused(text, "remote helpers (transport::address) are not allowed");
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase();
  switch (scheme) {
    case "file":
      return fileUrl(text);
    case "http":
    case "https":
      return httpUrl(text, scheme);
    case "ssh":
      return sshUrl(text);
    case undefined:
      return scpAddress(text);
    default:
      throw refused(text, `the scheme "${scheme}" is not allowed; use https, http, ssh, file or an absolute path`);
  }
}

/**
 * The host of a remote as libraries understand it: in lower case, decoded, without brackets and a trailing dot, and numbers such
 * as `0x7f.1` as the address that they stand for.
 */
export function hostOfRemote(remote: SshUrl | HttpUrl): string {
  const host = remote.kind === "http" ? new URL(remote.text).hostname : sshHost(remote.text);
  return plainHost(host);
}

/** The host of an http(s) URL with its port, unless that is the usual one; undefined for others. */
export function hostAndPort(url: string): string | undefined {
  const remote = parseRemoteUrl(url);
  return remote.kind === "http" ? new URL(remote.origin).host : undefined;
}

const redirectEnding = "/info/refs?service=git-upload-pack";

/**
 * The URL of a repository whose host redirects the first request of git to `location`: another path of the same host, or the
 * same host by https. Undefined if it leads elsewhere.
 */
export function redirectedUrl(remote: HttpUrl, location: string): HttpUrl | undefined {
  const asked = trimEndChars(remote.text, "/") + redirectEnding;
  if (!URL.canParse(location, asked)) return undefined;
  const { href, origin, username, password } = new URL(location, asked);
  if (username !== "" || password !== "" || !href.endsWith(redirectEnding)) return undefined;
  if (origin !== remote.origin && origin !== remote.origin.replace(/^http:/, "https:")) return undefined;
  const target = parseRemoteUrl(href.slice(0, -redirectEnding.length));
  return target.kind === "http" ? { ...target, authorization: remote.authorization } : undefined;
}

/** See `hostOfRemote`; the text itself if it cannot be the host of a URL. */
export function plainHost(host: string): string {
  const inUrl = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
  const url = `http://${inUrl}/`;
  const found = URL.canParse(url) ? new URL(url).hostname : host.toLowerCase();
  return trimEndChars(found.startsWith("[") ? found.slice(1, -1) : found, ".");
}

/** As it is written in `ssh://…` or `user@host:path`. */
export function sshHost(text: string): string {
  if (text.startsWith("ssh://")) return decoded(text, new URL(text).hostname);
  const isBracketed = text.startsWith("[") || text.includes("@[");
  const address = text.slice(0, isBracketed ? text.indexOf("]") + 1 : text.indexOf(":"));
  return address.slice(address.indexOf("@") + 1);
}

/**
 * Replaces the user and password of every URL in a text by `***`, for logs and messages. Also accepts text that is not
 * a URL, such as git's standard error.
 */
export function redactUrl(text: string): string {
  return redactUserInfo(text).replace(/\b(Authorization:\s*)(Basic|Bearer)\s+\S+/gi, "$1***");
}

/**
 * Redacts the part between `://` and `@`. What precedes it does not matter: a URL with an invalid scheme may still
 * contain a password.
 */
function redactUserInfo(text: string): string {
  const words = text.split(/([\s'"]+)/);
  return words.map((word, at) => redactWord(word, at === words.length - 1)).join("");
}

function redactWord(word: string, endsText: boolean): string {
  const last = word.lastIndexOf("@");
  let redacted = "";
  let copiedTo = 0;
  for (let at = word.indexOf("://"); at >= 0 && at < last; at = word.indexOf("://", Math.max(at + 1, copiedTo))) {
    const from = at + "://".length;
    const end = endOfUserInfo(word, from, last, endsText);
    if (end === from) continue;
    redacted += `${word.slice(copiedTo, from)}***@`;
    copiedTo = end;
  }
  return redacted + word.slice(copiedTo);
}

/**
 * The index after the `@` that ends user and password: the last one before a slash or, if a colon is not followed by a
 * port, the last one of all, because a password may contain any character. `from` if there is none.
 */
function endOfUserInfo(word: string, from: number, last: number, endsText: boolean): number {
  const slash = /[/?#]/g;
  slash.lastIndex = from;
  for (let at = Math.min(last, slash.exec(word)?.index ?? last); at >= from; at--) {
    if (word[at] === "@") return at + 1;
    if (word[at] === ":" && !isPortAt(word, at + 1, endsText)) return last + 1;
  }
  return from;
}

/** Whether there are digits up to a slash, or up to the end. */
function isPortAt(text: string, from: number, endsText: boolean): boolean {
  let end = from;
  while (/\d/.test(text.charAt(end))) end++;
  return text[end] === "/" || (endsText && end === text.length);
}

function localUrl(path: string): LocalUrl {
  const trimmed = path.length > 1 ? trimEndChars(path, "/") : path;
  if (trimmed === "") throw refused(path, "it does not name a repository");
  return { kind: "local", text: trimmed, path: trimmed };
}

function fileUrl(text: string): LocalUrl {
  const url = parsed(text);
  if (url.host !== "" && url.host !== "localhost") throw refused(text, "a file URL cannot name another host");
  const path = decoded(text, url.pathname);
  if (/[\u0000-\u001f\u007f]/.test(path)) throw refused(text, "it contains a control character");
  return localUrl(path);
}

function httpUrl(text: string, scheme: "http" | "https"): HttpUrl {
  const url = parsed(text);
  if (url.hash !== "") throw refused(text, "it contains a fragment (#)");
  const authorization = basicAuthorization(text, url);
  url.username = "";
  url.password = "";
  // A trailing dot would make git look up another name than the one whose addresses are checked.
  url.hostname = trimEndChars(url.hostname, ".");
  return { kind: "http", scheme, text: url.href, origin: url.origin, authorization };
}

function basicAuthorization(text: string, url: URL): string | null {
  if (url.username === "" && url.password === "") return null;
  const credentials = `${decoded(text, url.username)}:${decoded(text, url.password)}`;
  return `Basic ${Buffer.from(credentials).toString("base64")}`;
}

function sshUrl(text: string): SshUrl {
  const url = parsed(text);
  if (url.password !== "") throw refused(text, "ssh does not support a password in the URL; use a key");
  if (url.hostname === "") throw refused(text, "it does not name a host");
  checkSshNames(text, decoded(text, url.username), decoded(text, url.hostname));
  if (url.pathname.length < 2) throw refused(text, "it does not name a repository");
  return { kind: "ssh", text };
}

/** `[user@]host:path`, as git parses it: the colon comes before any slash. */
function scpAddress(text: string): SshUrl {
  const parts = /^(?:([^@:/\s]+)@)?(\[[0-9a-f:.]+\]|[^@:/\s]+):(.+)$/i.exec(text);
  if (parts === null) {
    throw refused(text, "it is neither a URL, nor user@host:path, nor an absolute path");
  }
  checkSshNames(text, parts[1] ?? "", parts[2] ?? "");
  return { kind: "ssh", text };
}

/** ssh would interpret a name that starts with a dash as an option. */
function checkSshNames(text: string, user: string, host: string): void {
  if (user.startsWith("-") || host.startsWith("-")) throw refused(text, "user and host cannot start with a dash");
  if (/[\s\u0000-\u001f\u007f]/.test(user + host))
    throw refused(text, "user and host cannot contain spaces and control characters");
}

function parsed(text: string): URL {
  try {
    return new URL(text);
  } catch {
    throw refused(text, "it is not a valid URL");
  }
}

function decoded(text: string, part: string): string {
  return requireUrlPart(part, () => refused(text, "its percent-encoding is invalid"));
}

function refused(text: string, reason: string): TrawlError {
  return new TrawlError("bad-config", `unusable repository URL ${JSON.stringify(redactUrl(text))}: ${reason}`);
}
