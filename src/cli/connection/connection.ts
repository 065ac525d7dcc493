import { TrawlError } from "../../base/errors.js";
import { type ClientConfig, clientConfigPath, ofEndpoint, readClientConfig } from "./client-config.js";

/** A daemon, and how to sign in there. */
export interface Connection {
  /** `http://HOST:PORT`, without a slash at the end. */
  readonly endpoint: string;
  /** Undefined for an anonymous request. */
  readonly token: string | undefined;
  /** Where the token is from: the name of an environment variable, or undefined. */
  readonly tokenVariable: string | undefined;
  /** Whether it is the token that `trawl login` has stored, which may be renewed when it has expired. */
  readonly isStored?: boolean;
}

export interface TypedConnection {
  readonly endpoint?: string;
  readonly token?: string;
}

const defaultEndpoint = "http://127.0.0.1:7080";

/**
 * The daemon and the token that a command uses: those of its options, else of the environment, else of the file that
 * `trawl login` writes.
 *
 * Contract: a stored token is sent only to the endpoint that it was stored for, and `SRC_ACCESS_TOKEN` only to
 * `SRC_ENDPOINT` if that is set, so that choosing another daemon never reveals the token of the first.
 */
export function resolveConnection(
  typed: TypedConnection,
  environment: NodeJS.ProcessEnv = process.env,
  readConfig: () => ClientConfig = () => readClientConfig(clientConfigPath(environment)),
): Connection {
  const named = typed.endpoint || environment["TRAWL_ENDPOINT"] || environment["SRC_ENDPOINT"];
  const direct = typed.token || environment["TRAWL_TOKEN"];
  const config = named && direct ? { endpoint: undefined, tokens: {} } : readConfig();
  const endpoint = checkedEndpoint(named || config.endpoint || defaultEndpoint);
  if (typed.token) return { endpoint, token: checkedToken(typed.token, "--token"), tokenVariable: undefined };
  for (const name of ["TRAWL_TOKEN", "SRC_ACCESS_TOKEN"] as const) {
    const token = environment[name];
    if (!token || (name === "SRC_ACCESS_TOKEN" && !isForEndpoint(environment["SRC_ENDPOINT"], endpoint))) continue;
    return { endpoint, token: checkedToken(token, name), tokenVariable: name };
  }
  const stored = ofEndpoint(config.tokens, endpoint);
  const token = stored === undefined ? undefined : checkedToken(stored, "client.json");
  return { endpoint, token, tokenVariable: undefined, isStored: token !== undefined };
}

/** Whether a header may contain the text, and a terminal may show it. */
export function isHeaderText(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

/** Refuses a token that a header cannot contain; `origin` says where it is from. */
export function checkedToken(token: string, origin: string): string {
  if (isHeaderText(token)) return token;
  throw new TrawlError(
    "bad-request",
    `the access token from ${origin} is none: it has spaces, line ends or other special characters`,
  );
}

/** The endpoint in the one form that is stored and compared. */
export function checkedEndpoint(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new TrawlError("bad-request", `the endpoint "${text}" is not a URL; write it as ${defaultEndpoint}`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new TrawlError("bad-request", `the endpoint "${text}" must begin with http:// or https://`);
  if (url.username !== "" || url.password !== "")
    throw new TrawlError("bad-request", "the endpoint must not contain a token: use TRAWL_TOKEN or `trawl login`");
  return `${url.origin}${url.pathname}`.replace(/\/$/, "");
}

function isForEndpoint(owner: string | undefined, endpoint: string): boolean {
  return !owner || checkedEndpoint(owner) === endpoint;
}
