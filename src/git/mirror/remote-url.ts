import { TrawlError } from "../../base/errors.js";
import { trimEndChars } from "../../base/text.js";

/** Where a repository comes from, checked and without secrets in `text`. */
export type RemoteUrl = LocalUrl | SshUrl | HttpUrl;

/** A repository or working tree on this machine. `text` is the absolute path, which is what git is given. */
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
  /** `https://host:port`, without a slash at its end. */
  readonly origin: string;
  /** Value of the Authorization header for user and password of the URL; null without them. Secret. */
  readonly authorization: string | null;
}

/**
 * Checks the URL of a repository: an absolute path, `file://`, `http(s)://`, `ssh://` or `user@host:path`.
 *
 * All else is refused, above all `ext::command` and its like, which make git run commands, and what git could take
 * for an option. A relative path is made absolute by the caller, who knows relative to what.
 *
 * Throws `bad-config`, with a message that shows no password.
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
 * The text with the user and password of every URL in it replaced by `***`, fit for logs and messages. Also takes
 * text that is no URL, such as what git wrote to standard error.
 */
export function redactUrl(text: string): string {
  return redactUserInfo(text).replace(/\b(Authorization:\s*)(Basic|Bearer)\s+\S+/gi, "$1***");
}

/**
 * Of each `://…@` what stands between. What comes before does not matter: a URL with a broken scheme may still hold a
 * password.
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
 * The index behind the `@` that ends user and password: the last one before a slash, or, where a colon is not followed
 * by a port, the last one of all, since a password may hold anything. `from` without one.
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

/** Digits up to a slash, or up to the end of all. */
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

/** `[user@]host:path`, as git reads it: the colon comes before any slash. */
function scpAddress(text: string): SshUrl {
  const parts = /^(?:([^@:/\s]+)@)?(\[[0-9a-f:.]+\]|[^@:/\s]+):(.+)$/i.exec(text);
  if (parts === null) {
    throw refused(text, "it is neither a URL, nor user@host:path, nor an absolute path");
  }
  checkSshNames(text, parts[1] ?? "", parts[2] ?? "");
  return { kind: "ssh", text };
}

/** ssh would take a name that starts with a dash for an option. */
function checkSshNames(text: string, user: string, host: string): void {
  if (user.startsWith("-") || host.startsWith("-")) throw refused(text, "user and host cannot start with a dash");
  if (/\s/.test(user + host)) throw refused(text, "user and host cannot contain spaces");
}

function parsed(text: string): URL {
  try {
    return new URL(text);
  } catch {
    throw refused(text, "it is not a valid URL");
  }
}

function decoded(text: string, part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw refused(text, "its percent-encoding is invalid");
  }
}

function refused(text: string, reason: string): TrawlError {
  return new TrawlError("bad-config", `unusable repository URL ${JSON.stringify(redactUrl(text))}: ${reason}`);
}
