import { TrawlError } from "../../base/errors.js";
import { parseRemoteUrl, type RemoteUrl } from "../run/remote-url.js";

/** The user name sent to a code host if there is only a token: hosts that accept tokens accept any name. */
const nameOfToken = "git";

/**
 * Splits a URL into the URL without user info, and the user info `user:password`; undefined if there is none, or if it
 * is not http(s).
 */
export function splitSecret(text: string): { readonly url: string; readonly secret: string | undefined } {
  const remote = parseRemoteUrl(text);
  if (remote.kind !== "http" || remote.authorization === null) return { url: text, secret: undefined };
  return {
    url: remote.text,
    secret: Buffer.from(remote.authorization.slice("Basic ".length), "base64").toString("utf8"),
  };
}

/** The URL with the authorization for a secret: `user:password`, or a token alone. */
export function withSecret(remote: RemoteUrl, secret: string): RemoteUrl {
  if (remote.kind !== "http") return remote;
  const credentials = secret.includes(":") ? secret : `${nameOfToken}:${secret}`;
  return { ...remote, authorization: `Basic ${Buffer.from(credentials).toString("base64")}` };
}

/** Throws `bad-config` for a credential that does not apply to a URL. */
export function checkCredential(url: string, credential: string): void {
  const remote = parseRemoteUrl(url);
  if (credential === "") return;
  if (remote.kind !== "http")
    throw new TrawlError(
      "bad-config",
      `credential applies only to http(s): ${remote.kind === "ssh" ? "ssh uses the keys of the daemon's account" : "a local repository needs none"}`,
    );
  if (remote.authorization !== null)
    throw new TrawlError(
      "bad-config",
      "the URL contains a user or password, and credential names another; remove one of them",
    );
}

/** Whether secrets for one URL may be sent to the other. */
export function isSameOrigin(a: string, b: string): boolean {
  const [one, other] = [parseRemoteUrl(a), parseRemoteUrl(b)];
  return one.kind === "http" && other.kind === "http" && one.origin === other.origin;
}
