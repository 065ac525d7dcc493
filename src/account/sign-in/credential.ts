/** The credential in a request. */
export type Credential =
  | { readonly kind: "none" }
  | { readonly kind: "token"; readonly token: string }
  /** A site admin's token, and the user to act as. */
  | { readonly kind: "sudo"; readonly token: string; readonly user: string }
  /** One of our schemes, with invalid parameters. */
  | { readonly kind: "malformed" }
  /** A header for someone else, such as a proxy. */
  | { readonly kind: "unrecognised" };

/** The credential in `?token=`, which takes precedence, or in the `Authorization` header. */
export function readCredential(rawQuery: string, authorization: string | undefined): Credential {
  const inQuery = rawQuery.includes("token=") ? new URLSearchParams(rawQuery).get("token") : null;
  if (inQuery !== null && inQuery !== "") return { kind: "token", token: inQuery };
  if (authorization === undefined || authorization === "") return { kind: "none" };
  const space = authorization.indexOf(" ");
  const scheme = space < 0 ? authorization : authorization.slice(0, space);
  const rest = space < 0 ? "" : authorization.slice(space + 1).trim();
  switch (scheme) {
    case "token":
      return readToken(rest);
    case "token-sudo":
      return readSudo(rest);
    case "Bearer":
      return rest === "" ? { kind: "malformed" } : { kind: "token", token: rest };
    case "Basic":
      return readBasic(rest);
    default:
      return { kind: "unrecognised" };
  }
}

/** Whether a browser may send this header by itself, also with a request of a page of another site. */
export function isAddedByBrowser(authorization: string | undefined): boolean {
  return authorization?.startsWith("Basic ") === true;
}

/** The token itself, or `token="…"`. */
function readToken(rest: string): Credential {
  if (rest === "") return { kind: "malformed" };
  const pairs = rest.endsWith("=") ? "none" : readPairs(rest);
  if (pairs === "none") return { kind: "token", token: rest };
  const token = pairs === "repeated" ? undefined : pairs.get("token");
  return token === undefined || token === "" ? { kind: "malformed" } : { kind: "token", token };
}

function readSudo(rest: string): Credential {
  const pairs = readPairs(rest);
  if (typeof pairs === "string") return { kind: "malformed" };
  const token = pairs.get("token") ?? "";
  return token === "" ? { kind: "malformed" } : { kind: "sudo", token, user: pairs.get("user") ?? "" };
}

/** The user name is the token, as in `https://TOKEN@host/`; the password is ignored. */
function readBasic(rest: string): Credential {
  const [token = ""] = Buffer.from(rest, "base64").toString().split(":");
  return token === "" ? { kind: "unrecognised" } : { kind: "token", token };
}

/**
 * Parses `key="value", key=value`, ignoring the case of keys, into a map; "none" if it is not such a list, "repeated"
 * if a key occurs twice.
 */
function readPairs(text: string): ReadonlyMap<string, string> | "none" | "repeated" {
  const pairs = new Map<string, string>();
  let at = 0;
  while (at < text.length) {
    const pair = readPair(text, at);
    if (pair === undefined) return "none";
    if (pairs.has(pair.key)) return "repeated";
    pairs.set(pair.key, pair.value);
    if (pair.end === text.length) return pairs;
    at = pair.end + 1;
  }
  // Nothing, or nothing after a comma.
  return "none";
}

/**
 * Parses `key=value` from this index on, with optional spaces around each part; `end` is the index of the comma or of
 * the end of the text.
 */
function readPair(
  text: string,
  from: number,
): { readonly key: string; readonly value: string; readonly end: number } | undefined {
  const keyFrom = skipBlanks(text, from);
  let keyTo = keyFrom;
  while (keyTo < text.length && /[\w-]/.test(text.charAt(keyTo))) keyTo++;
  const equals = skipBlanks(text, keyTo);
  if (keyTo === keyFrom || text[equals] !== "=") return undefined;
  const valueFrom = skipBlanks(text, equals + 1);
  const value = text[valueFrom] === '"' ? readQuoted(text, valueFrom) : readPlain(text, valueFrom);
  if (value === undefined) return undefined;
  const end = skipBlanks(text, value.end);
  return end === text.length || text[end] === ","
    ? { key: text.slice(keyFrom, keyTo).toLowerCase(), value: value.text, end }
    : undefined;
}

/** Parses text in quotes, in which a backslash escapes the next character; undefined without a closing quote. */
function readQuoted(text: string, from: number): { readonly text: string; readonly end: number } | undefined {
  let value = "";
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === '"') return { text: value, end: at + 1 };
    if (text[at] === "\\") at++;
    value += text.charAt(at);
  }
  return undefined;
}

function readPlain(text: string, from: number): { readonly text: string; readonly end: number } {
  let end = from;
  while (end < text.length && !/[\s",=]/.test(text.charAt(end))) end++;
  return { text: text.slice(from, end), end };
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && /\s/.test(text.charAt(at))) at++;
  return at;
}

/** The cookie of a session. */ /** The cookie of a session. */
export const sessionCookie = "sgs";

/** The text of the session in a `Cookie` header. */
export function readSession(header: string | undefined): string | undefined {
  return readCookie(header, sessionCookie);
}

/** The value of a cookie in a `Cookie` header; undefined if it is missing or empty. */
export function readCookie(header: string | undefined, wanted: string): string | undefined {
  for (const pair of header?.split(";") ?? []) {
    const [name = "", value = ""] = pair.split("=", 2);
    if (name.trim() === wanted && value !== "") return value.trim();
  }
  return undefined;
}
