/** What a request says of who sends it. */
export type Credential =
  | { readonly kind: "none" }
  | { readonly kind: "token"; readonly token: string }
  /** A site admin's token, and the user to act as. */
  | { readonly kind: "sudo"; readonly token: string; readonly user: string }
  /** A scheme of ours, and then not what it takes. */
  | { readonly kind: "malformed" }
  /** A header that is not for us. */
  | { readonly kind: "unrecognised" };

/** The credential in `?token=`, which wins, or in the `Authorization` header. */
export function readCredential(rawQuery: string, authorization: string | undefined): Credential {
  const inQuery = rawQuery.includes("token=") ? new URLSearchParams(rawQuery).get("token") : null;
  if (inQuery !== null && inQuery !== "") return { kind: "token", token: inQuery };
  if (authorization === undefined || authorization === "") return { kind: "none" };
  const space = authorization.indexOf(" ");
  const scheme = space < 0 ? authorization : authorization.slice(0, space);
  const rest = space < 0 ? "" : authorization.slice(space + 1).trim();
  switch (scheme) {
    case "token": return readToken(rest);
    case "token-sudo": return readSudo(rest);
    case "Bearer": return rest === "" ? { kind: "malformed" } : { kind: "token", token: rest };
    case "Basic": return readBasic(rest);
    default: return { kind: "unrecognised" };
  }
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

/** The user name is the token, as in `https://TOKEN@host/`; the password does not count. */
function readBasic(rest: string): Credential {
  const [token = ""] = Buffer.from(rest, "base64").toString().split(":");
  return token === "" ? { kind: "unrecognised" } : { kind: "token", token };
}

/** `key="value", key=value`, with keys in any case, as a map; "none" for what is no such list, "repeated" for a key given twice. */
function readPairs(text: string): ReadonlyMap<string, string> | "none" | "repeated" {
  const pair = /\s*([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",=]*))\s*(,|$)/y;
  const pairs = new Map<string, string>();
  while (pair.lastIndex < text.length) {
    const found = pair.exec(text);
    if (found === null) return "none";
    const [whole, key = "", quoted, plain = "", end] = found;
    if (pairs.has(key.toLowerCase())) return "repeated";
    pairs.set(key.toLowerCase(), quoted === undefined ? plain : quoted.replace(/\\(.)/g, "$1"));
    if (end === "" || whole === "") break;
    // A comma has something after it.
    if (pair.lastIndex === text.length) return "none";
  }
  return pairs.size === 0 ? "none" : pairs;
}

/** The cookie of a session. */
export const sessionCookie = "sgs";

/** The text of the session in a `Cookie` header. */
export function readSession(header: string | undefined): string | undefined {
  for (const pair of header?.split(";") ?? []) {
    const [name = "", value = ""] = pair.split("=", 2);
    if (name.trim() === sessionCookie && value !== "") return value.trim();
  }
  return undefined;
}
