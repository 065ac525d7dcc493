import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { TrawlError, errorMessage } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";
import { folderProblem, makeFolder } from "../../base/make-folder.js";

/** What `trawl login` has stored. */
export interface ClientConfig {
  /** The daemon that commands use unless another is given. */
  readonly endpoint: string | undefined;
  /** Access tokens by endpoint: a token is sent to no other daemon than the one that it was stored for. */
  readonly tokens: Readonly<Record<string, string>>;
  /** What renews those of the tokens that were obtained in a browser, by endpoint. */
  readonly refreshTokens?: Readonly<Record<string, string>>;
}

/** A token of one endpoint. */
export interface StoredToken {
  readonly token: string;
  /** Undefined if the token cannot be renewed. */
  readonly refreshToken: string | undefined;
}

const configBytesMax = 1024 * 1024;

export function clientConfigPath(environment: NodeJS.ProcessEnv = process.env): string {
  const base = environment["XDG_CONFIG_HOME"] || join(environment["HOME"] || homedir(), ".config");
  return join(base, "trawl", "client.json");
}

/** Reads the file. A file that does not exist is an empty configuration; an invalid one is an error that names it. */
export function readClientConfig(path: string): ClientConfig {
  let text: string;
  try {
    if (statSync(path).size > configBytesMax) throw invalid(path, `is larger than ${configBytesMax} bytes`);
    text = readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return { endpoint: undefined, tokens: {} };
    throw error instanceof TrawlError ? error : invalid(path, `cannot be read: ${errorMessage(error)}`);
  }
  return parseClientConfig(text, path);
}

/**
 * Stores the token of an endpoint with what renews it, or deletes both. The default endpoint becomes that of `change`, if
 * that is given.
 */
export function storeToken(
  path: string,
  endpoint: string,
  stored: StoredToken | undefined,
  change: Pick<ClientConfig, "endpoint"> | undefined = undefined,
): void {
  const config = readClientConfig(path);
  const without = (table: Readonly<Record<string, string>> = {}): Record<string, string> =>
    Object.fromEntries(Object.entries(table).filter(([other]) => other !== endpoint));
  const { token, refreshToken } = stored ?? {};
  writeClientConfig(path, {
    endpoint: (change ?? config).endpoint,
    tokens: { ...without(config.tokens), ...(token !== undefined && { [endpoint]: token }) },
    refreshTokens: {
      ...without(config.refreshTokens),
      ...(refreshToken !== undefined && { [endpoint]: refreshToken }),
    },
  });
}

/** What is stored for an endpoint. */
export function ofEndpoint(table: Readonly<Record<string, string>>, endpoint: string): string | undefined {
  return Object.hasOwn(table, endpoint) ? table[endpoint] : undefined;
}

/** Replaces the file. Only its owner may read it. */
export function writeClientConfig(path: string, config: ClientConfig): void {
  const temporary = `${path}.${process.pid}`;
  try {
    makeFolder(dirname(path));
    try {
      writeFileSync(temporary, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600, flag: "wx" });
      renameSync(temporary, path);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
  } catch (error) {
    throw new TrawlError("storage", `${path} cannot be written: ${folderProblem(error)}`, { cause: error });
  }
}

function parseClientConfig(text: string, path: string): ClientConfig {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(path, `is not JSON: ${errorMessage(error)}`);
  }
  if (!isObject(value)) throw invalid(path, "is not a JSON object");
  const { endpoint, tokens = {}, refreshTokens = {} } = value;
  if (endpoint !== undefined && typeof endpoint !== "string") throw invalid(path, "has an endpoint that is not text");
  if (!isTextTable(tokens)) throw invalid(path, "must have `tokens` as an object of texts");
  if (!isTextTable(refreshTokens)) throw invalid(path, "must have `refreshTokens` as an object of texts");
  return { endpoint, tokens, refreshTokens };
}

function isTextTable(value: unknown): value is Record<string, string> {
  return isObject(value) && Object.values(value).every((text) => typeof text === "string");
}

function invalid(path: string, problem: string): TrawlError {
  return new TrawlError("bad-config", `${path} ${problem}; correct it, or delete it and run \`trawl login\` again`);
}
