import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import type { Command } from "commander";
import { TrawlError } from "../base/errors.js";
import { print } from "./terminal/command-options.js";
import { readInput } from "./terminal/input.js";
import {
  clientConfigPath,
  ofEndpoint,
  readClientConfig,
  storeToken,
  type StoredToken,
} from "./connection/client-config.js";
import { checkedEndpoint, checkedToken, resolveConnection } from "./connection/connection.js";

const tokenBytesMax = 4096;

/** Adds `trawl login` and `trawl logout`. */
export function addLogin(program: Command): void {
  program
    .command("login")
    .argument("[endpoint]", "address of the daemon; the default is the one that other commands use")
    .description(
      "Sign in, and store the access token for later commands. On a terminal, print an address at which to authorize this program in a browser; else read an access token from standard input.",
    )
    .option("--token", "ask for an access token instead", false)
    .action(async (endpoint: string | undefined, { token }: { token: boolean }) => {
      const chosen = endpoint === undefined ? resolveConnection({}).endpoint : checkedEndpoint(endpoint);
      await login(chosen, token);
    });
  program
    .command("logout")
    .argument("[endpoint]", "address of the daemon; the default is the one that other commands use")
    .description(
      "Delete the stored access token. One that was obtained in a browser is revoked; another one stays valid until `trawl token delete` revokes it.",
    )
    .action((endpoint: string | undefined) =>
      logout(endpoint === undefined ? resolveConnection({}).endpoint : checkedEndpoint(endpoint)),
    );
}

async function login(endpoint: string, asksForToken: boolean): Promise<void> {
  const path = clientConfigPath();
  // An invalid file is an error before anything is asked.
  readClientConfig(path);
  const authorized = process.stdin.isTTY && !asksForToken ? await authorize(endpoint) : undefined;
  const stored = authorized ?? { token: await readToken(endpoint), refreshToken: undefined };
  const { token } = stored;
  const { queryData } = await import("./api/run-api.js");
  const { currentUser } = await queryData<{ currentUser: { username: string } | null }>(
    { endpoint, token, tokenVariable: undefined },
    { query: "{ currentUser { username } }", variables: {} },
  );
  if (currentUser === null)
    throw new TrawlError("forbidden", `${endpoint} does not know this token; \`trawl token create\` creates one`);
  storeToken(path, endpoint, stored, { endpoint });
  print(`signed in to ${endpoint} as ${currentUser.username}; the token is in ${path}`);
  if (isReadableOnTheWay(endpoint)) print("this address is not encrypted: others on the network can read the token");
}

/** In a browser; undefined if the daemon does not offer that. */
async function authorize(endpoint: string): Promise<StoredToken | undefined> {
  const { authorizeDevice } = await import("./connection/device-login.js");
  return await authorizeDevice(endpoint, ({ address, code }) =>
    process.stderr.write(`To authorize this program, open ${address}\nand compare the code: ${code}\n`),
  );
}

async function readToken(endpoint: string): Promise<string> {
  const text = process.stdin.isTTY ? await askToken(endpoint) : await readInput(process.stdin, tokenBytesMax);
  return checkedToken(text, "the input");
}

/** Only the token that `trawl login` itself has obtained is revoked: others may be in use elsewhere. */
async function logout(endpoint: string): Promise<void> {
  const path = clientConfigPath();
  const { endpoint: preferred, tokens, refreshTokens = {} } = readClientConfig(path);
  if (!Object.hasOwn(tokens, endpoint)) throw new TrawlError("not-found", `no token is stored for ${endpoint}`);
  storeToken(path, endpoint, undefined, { endpoint: preferred === endpoint ? undefined : preferred });
  print(`the token for ${endpoint} was deleted from ${path}`);
  const refreshToken = ofEndpoint(refreshTokens, endpoint);
  if (refreshToken === undefined) return;
  const { revokeToken } = await import("./connection/device-login.js");
  if (await revokeToken(endpoint, refreshToken)) print("it was revoked");
  else
    process.stderr.write(
      `trawl: ${endpoint} did not confirm that the token is revoked; delete it at ${endpoint}/user/settings/tokens or with \`trawl token delete\`\n`,
    );
}

function isReadableOnTheWay(endpoint: string): boolean {
  const { protocol, hostname } = new URL(endpoint);
  return protocol === "http:" && !/^(localhost|127\.[0-9.]+|\[::1\])$/.test(hostname);
}

/** Asks on the terminal without showing what is typed. */
async function askToken(endpoint: string): Promise<string> {
  process.stderr.write(
    `Access token for ${endpoint}, from ${endpoint}/user/settings/tokens or \`trawl token create\`: `,
  );
  const silent = new Writable({ write: (_bytes, _encoding, callback) => callback() });
  const prompt = createInterface({ input: process.stdin, output: silent, terminal: true });
  prompt.on("SIGINT", () => {
    prompt.close();
    process.kill(process.pid, "SIGINT");
  });
  const token = await prompt.question("");
  prompt.close();
  process.stderr.write("\n");
  return token.trim();
}
