import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import type { Command } from "commander";
import { TrawlError } from "../../base/errors.js";
import { print } from "../command-options.js";
import { readInput } from "../input.js";
import { clientConfigPath, readClientConfig, writeClientConfig } from "./client-config.js";
import { checkedEndpoint, checkedToken, resolveConnection } from "./connection.js";

const tokenBytesMax = 4096;

/** Adds `trawl login` and `trawl logout`. */
export function addLogin(program: Command): void {
  program
    .command("login")
    .argument("[endpoint]", "address of the daemon; the default is the one that other commands use")
    .description(
      "Check an access token, and store it for later commands. It is asked for, or read from standard input if that is not a terminal.",
    )
    .action(async (endpoint: string | undefined) => {
      const chosen = endpoint === undefined ? resolveConnection({}).endpoint : checkedEndpoint(endpoint);
      await login(chosen);
    });
  program
    .command("logout")
    .argument("[endpoint]", "address of the daemon; the default is the one that other commands use")
    .description("Delete the stored access token. The token itself stays valid: `trawl token delete` revokes it.")
    .action((endpoint: string | undefined) =>
      logout(endpoint === undefined ? resolveConnection({}).endpoint : checkedEndpoint(endpoint)),
    );
}

async function login(endpoint: string): Promise<void> {
  const path = clientConfigPath();
  const config = readClientConfig(path);
  const token = checkedToken(
    process.stdin.isTTY ? await askToken(endpoint) : await readInput(process.stdin, tokenBytesMax),
    "the input",
  );
  const { queryData } = await import("../api/run-api.js");
  const { currentUser } = await queryData<{ currentUser: { username: string } | null }>(
    { endpoint, token, tokenVariable: undefined },
    { query: "{ currentUser { username } }", variables: {} },
  );
  if (currentUser === null)
    throw new TrawlError("forbidden", `${endpoint} does not know this token; \`trawl token create\` creates one`);
  writeClientConfig(path, { endpoint, tokens: { ...config.tokens, [endpoint]: token } });
  print(`signed in to ${endpoint} as ${currentUser.username}; the token is in ${path}`);
  if (isReadableOnTheWay(endpoint)) print("this address is not encrypted: others on the network can read the token");
}

function logout(endpoint: string): void {
  const path = clientConfigPath();
  const { endpoint: preferred, tokens } = readClientConfig(path);
  if (!Object.hasOwn(tokens, endpoint)) throw new TrawlError("not-found", `no token is stored for ${endpoint}`);
  const others = Object.fromEntries(Object.entries(tokens).filter(([other]) => other !== endpoint));
  writeClientConfig(path, { endpoint: preferred === endpoint ? undefined : preferred, tokens: others });
  print(`the token for ${endpoint} was deleted from ${path}`);
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
