import { hashOfSecretText, newSecretText } from "./secret-text.js";
import { hashOfToken } from "./token-text.js";
import type { AccessToken } from "./user.js";

/** A token as it is stored: only hashes of its texts. */
export interface StoredToken extends Omit<AccessToken, "lastUsedAt"> {
  readonly hash: string;
  /** Of a token whose text a program replaces from time to time. */
  readonly refresh?: Refresh;
}

/**
 * The other text of such a token, with which its text is replaced; both are replaced together. The first half of the text
 * is the same for all that follow one another, the family: so any earlier one is recognized.
 */
interface Refresh {
  readonly hash: string;
  /** Of the first half. Absent in records of older programs, whose texts have no halves. */
  readonly family?: string;
  /** "" before the first replacement. */
  readonly previousHash: string;
  /** RFC 3339. */
  readonly replacedAt: string;
  readonly expiresAt: string;
  /** RFC 3339: when the family ends, however often it was refreshed. Absent in records of older programs. */
  readonly endsAt?: string;
}

/** The texts of a token that a program refreshes. */
export interface RefreshableTexts {
  readonly token: AccessToken;
  readonly text: string;
  readonly refreshText: string;
}

/** How long such a text can be used, how long it can be replaced, and how long after the first one that can go on. */
export interface RefreshLifetimes {
  readonly lifetimeMs: number;
  readonly refreshMs: number;
  readonly familyMs: number;
}

/**
 * Two processes of a program may refresh at the same time: the second one is refused. Who uses a replaced text later has
 * copied it, or somebody else has: the token is deleted.
 */
const sameTimeMs = 60_000;

const separator = ".";

/** A new text of the family of an earlier one, or of a new family. */
export function newRefreshText(earlier = ""): string {
  const family = earlier.includes(separator) ? earlier.slice(0, earlier.indexOf(separator)) : newSecretText();
  return `${family}${separator}${newSecretText()}`;
}

/** The hash by which the family of a text is found; undefined for a text without halves. */
export function familyHash(refreshText: string): string | undefined {
  const at = refreshText.indexOf(separator);
  return at < 0 ? undefined : hashOfSecretText(refreshText.slice(0, at));
}

export function newRefresh(
  refreshText: string,
  previousHash: string,
  nowMs: number,
  refreshMs: number,
  endsAt: string,
): Refresh {
  const family = familyHash(refreshText);
  return {
    hash: hashOfSecretText(refreshText),
    ...(family === undefined ? {} : { family }),
    previousHash,
    replacedAt: new Date(nowMs).toISOString(),
    expiresAt: new Date(Math.min(nowMs + refreshMs, Date.parse(endsAt))).toISOString(),
    endsAt,
  };
}

/** The token with other texts; undefined if the given hash is not that of its current text, or has expired. */
export function refreshed(
  before: StoredToken | undefined,
  given: string,
  { text, refreshText }: { readonly text: string; readonly refreshText: string },
  { lifetimeMs, refreshMs, familyMs }: RefreshLifetimes,
): StoredToken | undefined {
  const nowMs = new Date().getTime();
  if (before?.refresh?.hash !== given || Date.parse(before.refresh.expiresAt) <= nowMs) return undefined;
  const endsAt = before.refresh.endsAt ?? new Date(nowMs + familyMs).toISOString();
  return {
    ...before,
    expiresAt: new Date(Math.min(nowMs + lifetimeMs, Date.parse(endsAt))).toISOString(),
    hash: hashOfToken(text) ?? "",
    refresh: newRefresh(refreshText, given, nowMs, refreshMs, endsAt),
  };
}

/** The hashes by which the token is found from such a text. */
export function refreshHashes(token: StoredToken | undefined): readonly string[] {
  const { hash = "", previousHash = "", family } = token?.refresh ?? {};
  return [...(family === undefined ? [hash] : [family]), previousHash].filter((one) => one !== "");
}

/** Whether a text of the family that is not the current one was used, and not just by a second process of the program. */
export function isReplayed({ refresh }: StoredToken, given: string, nowMs: number): boolean {
  if (refresh === undefined || refresh.hash === given) return false;
  return refresh.previousHash !== given || nowMs - Date.parse(refresh.replacedAt) > sameTimeMs;
}

/** When it can neither be used nor be refreshed. */
export function endMs(token: StoredToken): number {
  return Math.max(expiryMs(token), token.refresh === undefined ? 0 : Date.parse(token.refresh.expiresAt));
}

export function expiryMs({ expiresAt }: StoredToken): number {
  return expiresAt === "" ? Infinity : Date.parse(expiresAt);
}
