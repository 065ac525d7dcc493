import { TrawlError } from "../../base/errors.js";

/** Permissions of a token. Every token has `user:all`, which includes everything that its user may do. */
const tokenScopes = ["user:all", "site-admin:sudo"] as const;
export type TokenScope = (typeof tokenScopes)[number];

const nameCharsMax = 255;

/** Words of letters, digits and `_`, with single `-` or `.` between them, and at most one `-` at the end. */
const namePattern = /^\w(?:[.-]?\w)*-?$/;

const emailCharsMax = 320;

/** Some text, an at sign, some text: whether an address exists only shows when mail is sent to it. */
const emailPattern = /^[^\s@\u0000-\u001f\u007f"<>]+@[^\s@\u0000-\u001f\u007f"<>]+$/;

/** In Unicode code points. */
const passwordCharsMin = 12;
const passwordCharsMax = 72;

const noteCharsMax = 1000;

/** The maximum lifetime of a token that expires. */
const lifetimeDaysMax = 36_500;

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

/** Throws `bad-request` for an invalid name of a user or organization. */
export function checkName(name: string): void {
  if (name.length <= nameCharsMax && namePattern.test(name)) return;
  throw new TrawlError(
    "bad-request",
    `${JSON.stringify(name.slice(0, nameCharsMax))} is not a valid name: use at most ${nameCharsMax} letters, digits, ` +
      "and _, with single - and . between them",
  );
}

/** Throws `bad-request` for an invalid e-mail address. */
export function checkEmail(address: string): void {
  if (address.length <= emailCharsMax && emailPattern.test(address)) return;
  throw new TrawlError("bad-request", `${JSON.stringify(address.slice(0, emailCharsMax))} is not an e-mail address`);
}

/** Throws `bad-request` for a password that is too short or too long. */
export function checkPassword(password: string): void {
  const length = [...password.slice(0, 2 * passwordCharsMax + 2)].length;
  if (length < passwordCharsMin)
    throw new TrawlError(
      "bad-request",
      `the password is too short: it must have at least ${passwordCharsMin} characters`,
    );
  if (length > passwordCharsMax)
    throw new TrawlError("bad-request", `the password is too long: it may have at most ${passwordCharsMax} characters`);
}

/**
 * The scopes of a new token. Throws `bad-request` for an invalid combination, or for sudo if `mayHaveSudo` is false.
 */
export function checkScopes(scopes: readonly string[], mayHaveSudo: boolean): readonly TokenScope[] {
  for (const [at, scope] of scopes.entries()) {
    if (!isScope(scope))
      throw new TrawlError(
        "bad-request",
        `unknown access token scope ${JSON.stringify(scope)} (valid scopes: ${tokenScopes.join(", ")})`,
      );
    if (scopes.indexOf(scope) !== at)
      throw new TrawlError("bad-request", `the scope ${JSON.stringify(scope)} is given twice`);
  }
  if (!scopes.includes("user:all")) throw new TrawlError("bad-request", 'all access tokens must have scope "user:all"');
  if (scopes.includes("site-admin:sudo") && !mayHaveSudo) {
    throw new TrawlError("bad-request", 'only a site admin may have a token with scope "site-admin:sudo"');
  }
  return scopes as readonly TokenScope[];
}

function isScope(scope: string): scope is TokenScope {
  return (tokenScopes as readonly string[]).includes(scope);
}

const displayNameCharsMax = 255;

export function checkDisplayName(name: string): void {
  if (name.length > displayNameCharsMax)
    throw new TrawlError("bad-request", `the display name is longer than ${displayNameCharsMax} characters`);
}

export function checkNote(note: string): void {
  if (note.length > noteCharsMax)
    throw new TrawlError("bad-request", `the note is longer than ${noteCharsMax} characters`);
}

/**
 * Converts `90d`, `12h`, `30m` or `4w` to milliseconds; undefined for "", which means the default. Throws `bad-request`
 * for other texts.
 */
export function readLifetime(text: string): number | "never" | undefined {
  if (text === "never") return text;
  if (text === "") return undefined;
  const [, count = "", unit = ""] = /^([1-9][0-9]{0,8})([mhdw])$/.exec(text) ?? [];
  const ms = Number(count) * (unitMs[unit] ?? 0);
  if (ms > 0 && ms <= lifetimeDaysMax * unitMs["d"]) return ms;
  throw new TrawlError(
    "bad-request",
    `${JSON.stringify(text.slice(0, 100))} is not a valid token lifetime: use 90d, 12h, 30m, 4w (at most ${lifetimeDaysMax}d) or never`,
  );
}

/** Throws `overloaded` if the limit on the number of `what` has been reached. */
export function requireRoom(count: number, max: number, what: string): void {
  if (count >= max)
    throw new TrawlError("overloaded", `there are ${count} ${what}, and the limit is ${max}; delete some first`);
}
