import { hashOfSecretText } from "./secret-text.js";
import { hashOfToken } from "./token-text.js";
import type { AccessToken } from "./user.js";

/** A token as it is stored: only hashes of its texts. */
export interface StoredToken extends Omit<AccessToken, "lastUsedAt"> {
  readonly hash: string;
  /** Of a token whose text a program replaces from time to time. */
  readonly refresh?: Refresh;
}

/** The other text of such a token, with which its text is replaced; both are replaced together. */
interface Refresh {
  readonly hash: string;
  /** "" before the first replacement. */
  readonly previousHash: string;
  /** RFC 3339. */
  readonly replacedAt: string;
  readonly expiresAt: string;
}

/** The texts of a token that a program refreshes. */
export interface RefreshableTexts {
  readonly token: AccessToken;
  readonly text: string;
  readonly refreshText: string;
}

/** How long such a text can be used, and how long it can be replaced. */
export interface RefreshLifetimes {
  readonly lifetimeMs: number;
  readonly refreshMs: number;
}

/**
 * Two processes of a program may refresh at the same time: the second one is refused. Who uses a replaced text later has
 * copied it, or somebody else has: the token is deleted.
 */
const sameTimeMs = 60_000;

export function newRefresh(refreshText: string, previousHash: string, nowMs: number, refreshMs: number): Refresh {
  return {
    hash: hashOfSecretText(refreshText),
    previousHash,
    replacedAt: new Date(nowMs).toISOString(),
    expiresAt: new Date(nowMs + refreshMs).toISOString(),
  };
}

/** The token with other texts; undefined if the given hash is not that of its current text, or has expired. */
export function refreshed(
  before: StoredToken | undefined,
  given: string,
  { text, refreshText }: { readonly text: string; readonly refreshText: string },
  { lifetimeMs, refreshMs }: RefreshLifetimes,
): StoredToken | undefined {
  const nowMs = new Date().getTime();
  if (before?.refresh?.hash !== given || Date.parse(before.refresh.expiresAt) <= nowMs) return undefined;
  return {
    ...before,
    expiresAt: new Date(nowMs + lifetimeMs).toISOString(),
    hash: hashOfToken(text) ?? "",
    refresh: newRefresh(refreshText, given, nowMs, refreshMs),
  };
}

export function refreshHashes(token: StoredToken | undefined): readonly string[] {
  const { hash = "", previousHash = "" } = token?.refresh ?? {};
  return [hash, previousHash].filter((one) => one !== "");
}

export function isReplayed({ refresh }: StoredToken, given: string, nowMs: number): boolean {
  return refresh?.previousHash === given && nowMs - Date.parse(refresh.replacedAt) > sameTimeMs;
}

/** When it can neither be used nor be refreshed. */
export function endMs(token: StoredToken): number {
  return Math.max(expiryMs(token), token.refresh === undefined ? 0 : Date.parse(token.refresh.expiresAt));
}

export function expiryMs({ expiresAt }: StoredToken): number {
  return expiresAt === "" ? Infinity : Date.parse(expiresAt);
}
