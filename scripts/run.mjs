// `make run`: starts the daemon, shows how its repositories come along, and says how to search once they are there.
//
//   node scripts/run.mjs [arguments of `trawl serve`]
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const trawl = fileURLToPath(new URL("../bin/trawl", import.meta.url));
const daemon = spawn(process.execPath, [trawl, "serve", ...process.argv.slice(2)], { stdio: ["ignore", "pipe", "inherit"] });
let running = true;

// Ctrl-C reaches the daemon by itself, which is in the same process group; here it only must not end this process.
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

/** Asks until every repository is searchable or has failed; prints a line whenever something has changed. */
async function watch(address) {
  const shown = new Map();
  while (running) {
    const { ready, repositories } = await readiness(address);
    for (const { name, state, activity, error } of repositories) {
      const text = [state, activity, error].filter(Boolean).join(", ");
      if (shown.get(name) !== text) console.log(`  ${name}: ${text}`);
      shown.set(name, text);
    }
    if (ready) return printHints(address, repositories);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

async function readiness(address) {
  try {
    const response = await fetch(`${address}/readyz`);
    return { ready: response.ok, repositories: (await response.json()).repositories ?? [] };
  } catch {
    return { ready: false, repositories: [] };
  }
}

function printHints(address, repositories) {
  const endpoint = address === "http://127.0.0.1:7080" ? "" : ` --endpoint ${address}`;
  const word = repositories.some(({ name }) => name === "trawl") ? "searcher" : "TODO";
  console.log([
    "",
    `Ready at ${address}. Try in another terminal:`,
    "",
    `  bin/trawl search${endpoint} ${word}`,
    `  curl -N '${address}/.api/search/stream?q=${word}'`,
    "",
    "Ctrl-C stops it.",
  ].join("\n"));
}
