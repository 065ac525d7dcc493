import { TrawlError } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";

/** A program that asks for access in a browser, as it describes itself: nobody has verified that. */
export interface OAuthClient {
  /** Its `client_id`. */
  readonly id: string;
  /** What it calls itself; "" if nothing. */
  readonly name: string;
  /** Where its users may be sent with a code. */
  readonly redirectUris: readonly string[];
}

/** What is wrong with a description of a program. */
export class ClientProblem extends TrawlError {
  /** As in RFC 7591. */
  readonly error: "invalid_redirect_uri" | "invalid_client_metadata";

  constructor(error: ClientProblem["error"], message: string) {
    super("bad-request", message);
    this.error = error;
  }
}

const redirectUrisMax = 10;
const redirectUriCharsMax = 500;
/** Of all redirect URIs of a registered program, whose id contains them. */
const registeredCharsMax = 2_000;
const nameCharsMax = 80;

/** Schemes with a meaning of their own in browsers; with any other one, the system starts the program that has claimed it. */
const closedSchemes: ReadonlySet<string> = new Set(
  "about blob chrome chrome-extension data file filesystem ftp intent jar javascript mailto resource tel vbscript view-source ws wss"
    .split(" ")
    .map((name) => `${name}:`),
);

const loopbackHosts: ReadonlySet<string> = new Set(["127.0.0.1", "[::1]", "localhost"]);

/**
 * Checks the description of a program: a client metadata document, or what it registers. Members that have no effect here are
 * ignored, so their depth does not matter. Throws a `ClientProblem`.
 */
export function readClientMetadata(value: unknown): Omit<OAuthClient, "id"> {
  if (!isObject(value)) throw new ClientProblem("invalid_client_metadata", "the description must be a JSON object");
  const { client_name: name, redirect_uris: uris, grant_types: grants, response_types: responses } = value;
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > redirectUrisMax)
    throw new ClientProblem("invalid_redirect_uri", `redirect_uris must be a list of 1 to ${redirectUrisMax} URIs`);
  const redirectUris = uris.map((uri: unknown) => checkRedirectUri(uri));
  if (name !== undefined && typeof name !== "string")
    throw new ClientProblem("invalid_client_metadata", "client_name must be a string");
  requireMember("grant_types", grants, "authorization_code");
  requireMember("response_types", responses, "code");
  return { name: shownName(name ?? ""), redirectUris };
}

function requireMember(member: string, list: unknown, wanted: string): void {
  if (list === undefined || (Array.isArray(list) && list.includes(wanted))) return;
  throw new ClientProblem(
    "invalid_client_metadata",
    `${member} must be a list with ${wanted}, the only one served here`,
  );
}

/** One line, without characters that hide or turn around others. */
function shownName(name: string): string {
  const line = name.slice(0, 4 * nameCharsMax).replace(/[\p{C}\p{Z}]+/gu, " ");
  return [...line].slice(0, nameCharsMax).join("").trim();
}

/**
 * HTTPS, HTTP to the user's own computer, or a scheme that a program has claimed there (RFC 8252). Throws a `ClientProblem`.
 */
function checkRedirectUri(uri: unknown): string {
  const fail = (message: string): never => {
    const shown = typeof uri === "string" ? JSON.stringify(uri.slice(0, 100)) : "a redirect URI";
    throw new ClientProblem("invalid_redirect_uri", `${shown} ${message}`);
  };
  if (typeof uri !== "string") return fail("must be a string");
  if (uri.length > redirectUriCharsMax) return fail(`is longer than ${redirectUriCharsMax} characters`);
  // What URLs are parsed from without these is not what was written.
  if (!/^[\x21-\x7e]+$/.test(uri) || uri.includes("\\") || !URL.canParse(uri)) return fail("is not an absolute URI");
  const { protocol, hostname, username, password } = new URL(uri);
  if (uri.includes("#")) return fail("has a fragment");
  if (username !== "" || password !== "") return fail("has a user or a password");
  if (closedSchemes.has(protocol)) return fail(`has the scheme ${protocol}, which leads to no program`);
  if (protocol === "http:" && !loopbackHosts.has(hostname))
    return fail("must begin with https:// unless it leads to 127.0.0.1, [::1] or localhost");
  return uri;
}

/**
 * Whether a program may have its users sent there: the URI must be one of its own, character by character, but for the port of one on
 * the user's computer, where a program takes one that is free (RFC 8252, section 7.3).
 */
export function mayRedirectTo({ redirectUris }: OAuthClient, uri: string): boolean {
  if (redirectUris.includes(uri)) return true;
  const given = withoutLoopbackPort(uri);
  return given !== undefined && redirectUris.some((own) => withoutLoopbackPort(own) === given);
}

/** Undefined if it does not lead to the user's computer by HTTP. */
function withoutLoopbackPort(uri: string): string | undefined {
  const [, origin = "", rest = ""] =
    /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::[0-9]{1,5})?((?:[/?][\x21-\x7e]*)?)$/.exec(uri) ?? [];
  return origin === "" || uri.length > redirectUriCharsMax || !URL.canParse(uri) ? undefined : origin + rest;
}

/** Whether a redirect URI leads to the user's own computer. */
export function isLoopback(uri: string): boolean {
  return withoutLoopbackPort(uri) !== undefined;
}

const registeredMark = "reg_";

/**
 * The id of a program that registers. It is the description itself, and nothing is stored: nobody can fill the disk with registrations,
 * they survive restarts, and there is nothing to clean up. It needs no signature: whatever somebody could make up, anybody may register,
 * and each use checks the description again. Throws a `ClientProblem`.
 */
export function registeredId({ name, redirectUris }: Omit<OAuthClient, "id">): string {
  if (redirectUris.join("").length > registeredCharsMax)
    throw new ClientProblem(
      "invalid_redirect_uri",
      `the redirect URIs are longer than ${registeredCharsMax} characters together`,
    );
  return registeredMark + Buffer.from(JSON.stringify([name, ...redirectUris])).toString("base64url");
}

/** The program with such an id; undefined if it is none. */
export function registeredClient(id: string): OAuthClient | undefined {
  if (!id.startsWith(registeredMark) || id.length > 2 * registeredCharsMax) return undefined;
  try {
    const [name, ...uris] = JSON.parse(
      Buffer.from(id.slice(registeredMark.length), "base64url").toString(),
    ) as unknown[];
    const client = readClientMetadata({ client_name: name, redirect_uris: uris });
    return registeredId(client) === id ? { id, ...client } : undefined;
  } catch {
    return undefined;
  }
}
