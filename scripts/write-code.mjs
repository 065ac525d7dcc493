/**
 * Writes the code that V8 compiles from a bundle into its folder `code` (compiled-code.cjs), by starting a daemon several times.
 *
 * V8 takes code only from the same release of Node on the same kind of processor: the code has the checksum of the snapshot that this Node
 * starts from. With Node 24 the header of code made on x64 and on arm64 differs in that alone, also the name of its file is the same, and each
 * refuses the other's. So that of a package for another processor is written by Node for that processor, under emulation.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";

/**
 * How often a daemon is started: in each pass, threads add what the others of their kind have compiled in those before. `writesMs` is how often
 * threads write their compiled code (compiled-code.cjs). A thread that has not written for `endedMs` has ended, and one that has not
 * written twice after `threadsMsMax` is a fault; on a busy machine it starts late.
 */
export const paces = {
  native: { passes: 3, writesMs: 500, endedMs: 10_000, threadsMsMax: 120_000 },
  // Writing takes seconds there, in which the other threads do little.
  emulated: { passes: 2, writesMs: 10_000, endedMs: 60_000, threadsMsMax: 900_000 },
};

/**
 * Starts a daemon several times and lets it do what most tests ask for, so that the code of it is written. `bundle` is the folder of the bundle,
 * and `node` the command that starts Node.
 */
export async function writeCode(bundle, node = [process.execPath], pace = paces.native) {
  const code = join(bundle, "code");
  const variables = { PATH: process.env.PATH, HOME: "/nonexistent", TRAWL_WRITE_CODE: String(pace.writesMs) };
  const program = { bundle, code, node, variables, pace };
  const folder = mkdtempSync(join(tmpdir(), "trawl-bundle-"));
  try {
    const repository = join(folder, "repository");
    mkdirSync(repository);
    writeFileSync(join(repository, "main.ts"), "export function first(): number {\n  return 1;\n}\n");
    const git = (...args) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: repository });
    git("init", "--quiet");
    git("add", ".");
    git("commit", "--quiet", "--message=one");
    const data = join(folder, "data");
    const config = join(folder, "trawl.jsonc");
    writeFileSync(config, JSON.stringify({ repositories: [{ name: "listed", url: repository }] }));
    for (let pass = 0; pass < pace.passes; pass++)
      await serveOnce(program, ["--data", data, "--config", config], `pass-${pass}`, repository);
    // The daemon starts it without flags and variables.
    for (const store of ["catalog", "shards"]) {
      const kind = store === "catalog" ? "records" : "shards";
      const args = [join(bundle, "store-probe.start.cjs"), String(process.pid), kind, join(data, store), "look"];
      execFileSync(node[0], [...node.slice(1), ...args], { stdio: "ignore", env: variables });
    }
    // Marks, and what a thread was writing when it was ended.
    for (const name of readdirSync(code).filter((name) => /-\d+$/.test(name))) rmSync(join(code, name));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function serveOnce(program, place, name, repository) {
  const [, data] = place;
  const serve = ["serve", ...place, "--listen", "127.0.0.1:0", "--set", "search.warmPercent=0"];
  const daemon = start(program, [...serve, "--set", "workers=1", "--set", "index.workers=1"]);
  try {
    const url = await listening(daemon);
    await ended(start(program, ["repo", "add", name, repository, "--data", data]));
    await ended(start(program, ["search", "first", "--data", data]));
    for (const query of ["q=first", "q=type:commit+one", "q=count:all+type:diff+first"])
      await (await fetch(`${url}/.api/search/stream?${query}`)).text();
    const body = JSON.stringify({
      query: `{ repository(name: "${name}") { commit(rev: "HEAD") { blob(path: "main.ts") { content highlight(disableTimeout: true) { html } symbols { nodes { name } } } } } }`,
    });
    const headers = { "content-type": "application/json" };
    await (await fetch(`${url}/.api/graphql`, { method: "POST", headers, body })).text();
    await untilThreadsHaveWritten(program, daemon.pid);
    // Its thread writes when it ends, and the daemon answers before that.
    await ended(start(program, ["reload", "--data", data]));
    await untilWritten(program, "+options-thread.cjs.");
  } finally {
    daemon.kill("SIGTERM");
    await ended(daemon);
  }
}

/** Waits until the code of a file is there of which the name has this part. */
async function untilWritten({ code, pace }, part) {
  const since = Date.now();
  while (!readdirSync(code).some((name) => name.includes(part) && !/-\d+$/.test(name))) {
    if (Date.now() > since + pace.threadsMsMax) throw new Error(`the code of ${part} has not been written`);
    await sleep(10);
  }
}

/**
 * Waits until each thread that the requests have started has written what it compiled for them: for the second mark of each
 * (compiled-code.cjs), since it may be writing already. A thread that has ended writes none.
 */
async function untilThreadsHaveWritten({ code, pace }, pid) {
  const since = Date.now();
  const marks = new Map();
  for (;;) {
    if (Date.now() > since + pace.threadsMsMax)
      throw new Error(`threads have not written their compiled code: ${[...marks.keys()].join(", ")}`);
    await sleep(10);
    for (const name of readdirSync(code).filter((name) => name.includes(`.written-${pid}-`))) {
      const { mtimeMs } = statSync(join(code, name));
      const mark = marks.get(name) ?? { count: 0, mtimeMs: since };
      if (mtimeMs > mark.mtimeMs) marks.set(name, { count: mark.count + 1, mtimeMs });
    }
    const isDone = ({ count, mtimeMs }) => count >= 2 || Date.now() > mtimeMs + pace.endedMs;
    const names = [...marks].filter(([, mark]) => isDone(mark)).map(([name]) => name);
    const isEach = ["search", "read", "ingest"].every((kind) =>
      names.some((name) => name.includes(`+${kind}-worker.`)),
    );
    if (isEach && names.length === marks.size) return;
  }
}

/** Without flags of V8, like bin/trawl, since V8 uses compiled code only with the same ones. */
function start({ bundle, node, variables }, args) {
  const program = `const { run } = await import(${JSON.stringify(pathToFileURL(join(bundle, "cli.mjs")).href)});
process.exitCode = await run(["node", "trawl", ...process.argv.slice(1)]);
if (process.argv[1] === "serve") process.exit();`;
  return spawn(node[0], [...node.slice(1), "--input-type=module", "-e", program, "--", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: variables,
  });
}

function ended(child) {
  child.stdout.resume();
  child.stderr.resume();
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve(undefined);
    else child.on("exit", resolve);
  });
}

function listening(child) {
  return new Promise((resolve, reject) => {
    let text = "";
    let errors = "";
    child.stderr.on("data", (bytes) => {
      errors += bytes;
    });
    child.stdout.on("data", (bytes) => {
      text += bytes;
      const url = /^trawld: listening on (.*)\n/m.exec(text)?.[1];
      if (url !== undefined) resolve(url);
    });
    child.on("exit", (code) => reject(new Error(`the bundled daemon ended with ${code}: ${errors}`)));
  });
}
