import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { TrawlError, errorMessage } from "../../base/errors.js";

/** What `trawl login` has stored. */
export interface ClientConfig {
  /** The daemon that commands use unless another is given. */
  readonly endpoint: string | undefined;
  /** Access tokens by endpoint: a token is sent to no other daemon than the one that it was stored for. */
  readonly tokens: Readonly<Record<string, string>>;
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

/** Replaces the file. Only its owner may read it. */
export function writeClientConfig(path: string, config: ClientConfig): void {
  const temporary = `${path}.${process.pid}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(temporary, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600, flag: "wx" });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw new TrawlError("storage", `${path} cannot be written: ${errorMessage(error)}`, { cause: error });
  }
}

function parseClientConfig(text: string, path: string): ClientConfig {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(path, `is not JSON: ${errorMessage(error)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(path, "is not a JSON object");
  const { endpoint, tokens = {} } = value as { endpoint?: unknown; tokens?: unknown };
  if (endpoint !== undefined && typeof endpoint !== "string") throw invalid(path, "has an endpoint that is not text");
  const isTable = typeof tokens === "object" && tokens !== null && !Array.isArray(tokens);
  if (!isTable || !Object.values(tokens).every((token) => typeof token === "string"))
    throw invalid(path, "must have `tokens` as an object of texts");
  return { endpoint, tokens: tokens as Record<string, string> };
}

function invalid(path: string, problem: string): TrawlError {
  return new TrawlError("bad-config", `${path} ${problem}; correct it, or delete it and run \`trawl login\` again`);
}
