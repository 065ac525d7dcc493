// `make run`: starts the daemon, prints the progress of its repositories, and how to search when they are ready.
//
//   node scripts/run.mjs [arguments of `trawl serve`]
import { execFile, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";

const trawl = fileURLToPath(new URL("../bin/trawl", import.meta.url));
const daemon = spawn(process.execPath, [trawl, "serve", ...process.argv.slice(2)], {
  stdio: ["ignore", "pipe", "inherit"],
});
let running = true;

// The daemon is in the same process group and receives Ctrl-C itself; this process must only ignore it.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => daemon.kill(signal));
daemon.on("exit", (code) => {
  running = false;
  process.exitCode = code ?? 1;
});

for await (const line of createInterface({ input: daemon.stdout })) {
  console.log(line);
  const address = /^trawld: listening on (\S+)$/.exec(line)?.[1];
  if (address) void watch(address);
}

/**
 * Creates a token of the site admin that the first start creates. Returns undefined if there is no such user, or if
 * tokens are disabled.
 */
async function createToken() {
  const { values } = parseArgs({ strict: false, options: { data: { type: "string" } } });
  const data = values.data === undefined ? [] : ["--data", values.data];
  const args = [trawl, "token", "create", "admin", "--expires", "7d", "--note", "make run", ...data];
  try {
    return (await promisify(execFile)(process.execPath, args)).stdout.trim();
  } catch (error) {
    console.log(`  no access token: ${error.stderr?.trim() || error.message}`);
    return undefined;
  }
}

/** Polls until every repository is searchable or has failed, and prints a line for each change of state. */
async function watch(address) {
  const shown = new Map();
  const token = await createToken();
  while (running) {
    const { ready, repositories } = await readiness(address, token);
    for (const { name, state, activity, error } of repositories) {
      const text = [state, activity, error].filter(Boolean).join(", ");
      if (shown.get(name) !== text) console.log(`  ${name}: ${text}`);
      shown.set(name, text);
    }
    if (ready) return printHints(address, repositories, token);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

async function readiness(address, token) {
  try {
    const response = await fetch(
      `${address}/readyz`,
      token === undefined ? {} : { headers: { Authorization: `token ${token}` } },
    );
    return { ready: response.ok, repositories: (await response.json()).repositories ?? [] };
  } catch {
    return { ready: false, repositories: [] };
  }
}

function printHints(address, repositories, token) {
  if (repositories.length > 0 && !repositories.some(({ state }) => state === "searchable")) {
    console.log(
      "\nNothing can be searched: see the errors above. The daemon retries at intervals; press Ctrl-C to stop it.",
    );
    return;
  }
  const endpoint = address === "http://127.0.0.1:7080" ? "" : ` --endpoint ${address}`;
  const word = repositories.some(({ name }) => name === "trawl") ? "searcher" : "TODO";
  console.log(
    [
      "",
      `Ready: open ${address} in a browser. Or, in another terminal:`,
      "",
      `  bin/trawl search${endpoint} ${word}`,
      `  curl -N '${address}/.api/search/stream?q=${word}'`,
      "",
      ...(token === undefined
        ? []
        : [
            "The site admin's access token, which can see everything and is valid for a week:",
            "",
            `  export TRAWL_TOKEN=${token}`,
            `  curl -H "Authorization: token $TRAWL_TOKEN" -d '{"query": "{ site { productVersion } }"}' ${address}/.api/graphql`,
            "",
          ]),
      "Press Ctrl-C to stop the daemon.",
    ].join("\n"),
  );
}
