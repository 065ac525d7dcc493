import { TrawlError } from "../../base/errors.js";

/**
 * Permissions of a token. `user:all` includes everything that its user may do. A token without it is narrow: it only reads, by
 * the interfaces that it names, and only the repositories that it names, if it names any.
 */
const plainScopes = ["user:all", "site-admin:sudo", "search", "mcp"] as const;
type PlainScope = (typeof plainScopes)[number];
export type TokenScope = PlainScope | `repository:${string}`;

/** An interface that a narrow token can be for: searching and reading over HTTP, or the tools for assistants. */
export type NarrowScope = "search" | "mcp";

const repositoryScope = "repository:";
const namedRepositoriesMax = 100;
const repositoryNameCharsMax = 500;

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
  if (scopes.length > plainScopes.length + namedRepositoriesMax)
    throw new TrawlError("bad-request", `an access token names at most ${namedRepositoriesMax} repositories`);
  for (const [at, scope] of scopes.entries()) {
    if (!isScope(scope))
      throw new TrawlError(
        "bad-request",
        `unknown access token scope ${JSON.stringify(scope.slice(0, 100))} (valid scopes: ${plainScopes.join(", ")}, ${repositoryScope}NAME)`,
      );
    if (scopes.indexOf(scope) !== at)
      throw new TrawlError("bad-request", `the scope ${JSON.stringify(scope)} is given twice`);
  }
  const narrow = scopes.filter((scope) => scope !== "user:all" && scope !== "site-admin:sudo");
  if (scopes.includes("user:all") && narrow.length > 0)
    throw new TrawlError(
      "bad-request",
      `the scope "user:all" includes everything, so ${JSON.stringify(narrow[0])} would not narrow it: leave one of them out`,
    );
  if (!scopes.includes("user:all") && !scopes.includes("search") && !scopes.includes("mcp"))
    throw new TrawlError("bad-request", 'an access token must have scope "user:all", "search" or "mcp"');
  if (narrow.length > 0 && scopes.includes("site-admin:sudo"))
    throw new TrawlError("bad-request", 'the scope "site-admin:sudo" needs the scope "user:all"');
  if (scopes.includes("site-admin:sudo") && !mayHaveSudo) {
    throw new TrawlError("bad-request", 'only a site admin may have a token with scope "site-admin:sudo"');
  }
  return scopes as readonly TokenScope[];
}

function isScope(scope: string): scope is TokenScope {
  if (!scope.startsWith(repositoryScope)) return (plainScopes as readonly string[]).includes(scope);
  const length = scope.length - repositoryScope.length;
  return length > 0 && length <= repositoryNameCharsMax && !/\s/.test(scope);
}

/** Whether a token with these scopes is for a part of what its user may do. */
export function areNarrow(scopes: readonly TokenScope[]): boolean {
  return !scopes.includes("user:all");
}

/** The repositories to which the scopes are limited, sorted; undefined if they are to none. */
export function repositoriesIn(scopes: readonly TokenScope[]): readonly string[] | undefined {
  const names = scopes.flatMap((scope) =>
    scope.startsWith(repositoryScope) ? [scope.slice(repositoryScope.length)] : [],
  );
  return names.length === 0 ? undefined : names.sort();
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
