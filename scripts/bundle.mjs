// Bundles the compiled command line, daemon and worker threads into a few files of dist/bundle, from which bin/trawl starts
// them: most of the processor time of a start would be spent on loading their hundreds of modules one by one, again in each
// thread. The bundle is of CommonJS modules, whose compiled code V8 can keep in files (compiled-code.cjs): a daemon
// is started twice to write them. Where a module refers to a file by its own URL, the URL stays that of the module, relative
// to the bundle: the checkout or package may be moved.
//
//   node scripts/bundle.mjs
import { execFileSync, spawn } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";

const checkout = fileURLToPath(new URL("..", import.meta.url));
const output = join(checkout, "dist/bundle");
const stamp = join(output, ".built");
const compiled = join(checkout, "dist/src");

/** Entries of threads and processes, by the name of their file, which the daemon starts by URL. */
const entries = {
  "search-worker": "worker",
  "read-worker": "worker",
  "ingest-worker": "worker",
  "options-thread": "daemon/config",
  "store-probe": "store",
};

/** Native packages, those that find files beside themselves, and those that are loaded by `require` at first use. */
const external = [
  "@node-rs/argon2",
  "highlight.js",
  "jsonc-parser",
  "markdown-it",
  "nodegit",
  // It makes functions from text that names its own variables.
  "ordered-binary",
  "pino",
  "pino-pretty",
  "piscina",
  "re2",
  "sanitize-html",
  "uWebSockets.js",
];

const entryUrl = new RegExp(
  `new URL\\("\\.[^"]*/(${Object.keys(entries).join("|")})\\.js", import\\.meta\\.url\\)`,
  "g",
);

/** Begins each file of the bundle: the URL of a path that is relative to its folder. */
const urlBesideBundle = `const urlBesideBundle = (path) =>
  require("node:url").pathToFileURL(require("node:path").join(__dirname, path)).href;`;

/** The file of the bundle that has the GraphQL schema as parsed, instead of a module. */
const schemaFile = "schema-document.json";

const parsedSchema = {
  name: "parsed-schema",
  transform(_code, id) {
    if (!id.endsWith("/graphql/execution/schema-document.js")) return undefined;
    return `import { readFileSync } from "node:fs";
export const schemaDocument = () => JSON.parse(readFileSync(new URL(urlBesideBundle("${schemaFile}")), "utf8"));`;
  },
};

const ownUrls = {
  name: "own-urls",
  transform(code, id) {
    if (!code.includes("import.meta.url")) return undefined;
    return code
      .replace(entryUrl, (_, name) => `new URL(urlBesideBundle("${name}.mjs"))`)
      .replaceAll("import.meta.url", `urlBesideBundle(${JSON.stringify(relative(output, id))})`);
  },
};

/** Whether the bundle is that of the last build. */
function isCurrent() {
  const sources = [
    "dist/.built",
    "package-lock.json",
    "scripts/bundle.mjs",
    "scripts/compiled-code.cjs",
    "src/graphql/schema.graphql",
  ].map((path) => join(checkout, path));
  return (
    existsSync(stamp) && sources.every((path) => existsSync(path) && statSync(stamp).mtimeMs > statSync(path).mtimeMs)
  );
}

/** Bundles the program. Each entry is started through a module that first makes `require` use compiled code. */
async function bundle() {
  const { build } = await import("vite");
  const threads = Object.entries(entries).map(([name, folder]) => [name, join(compiled, folder, `${name}.js`)]);
  const { output: chunks } = await build({
    configFile: false,
    root: checkout,
    logLevel: "warn",
    plugins: [parsedSchema, ownUrls],
    ssr: { noExternal: true },
    build: {
      ssr: true,
      outDir: output,
      emptyOutDir: true,
      minify: false,
      target: "node20",
      rolldownOptions: {
        input: {
          cli: join(compiled, "cli/main.js"),
          daemon: join(compiled, "daemon/main.js"),
          ...Object.fromEntries(threads),
        },
        external,
        // On a busy machine each plugin would be reported as slow.
        checks: { pluginTimings: false },
        output: {
          format: "cjs",
          exports: "named",
          banner: urlBesideBundle,
          entryFileNames: "[name].cjs",
          chunkFileNames: "[name]-[hash].cjs",
        },
      },
    },
  });
  copyFileSync(new URL("compiled-code.cjs", import.meta.url), join(output, "compiled-code.cjs"));
  const { schemaDocument } = await import(new URL("../dist/src/graphql/execution/schema-document.js", import.meta.url));
  writeFileSync(join(output, schemaFile), JSON.stringify(schemaDocument()));
  for (const { name, fileName, exports } of chunks.filter(({ isEntry }) => isEntry)) {
    const lines = [
      'import { createRequire } from "node:module";',
      "const require = createRequire(import.meta.url);",
      'require("./compiled-code.cjs");',
      `const entry = require("./${fileName}");`,
      ...exports.map((one) =>
        one === "default" ? "export default entry.default;" : `export const ${one} = entry.${one};`,
      ),
    ];
    writeFileSync(join(output, `${name}.mjs`), `${lines.join("\n")}\n`);
  }
}

/** How often threads write their compiled code (compiled-code.cjs). */
const writesMs = 500;

/** A thread writes after half a second; on a busy machine it starts late. */
const threadsMsMax = 120_000;

const codeVariables = { PATH: process.env.PATH, HOME: "/nonexistent", TRAWL_WRITE_CODE: String(writesMs) };

/** Starts a daemon twice and lets it do what most tests ask for, so that the code of it is written. */
async function writeCode() {
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
    for (const isFirst of [true, false]) await serveOnce(data, isFirst ? repository : undefined);
    // The daemon starts it without flags and variables.
    for (const store of ["catalog", "shards"]) {
      const kind = store === "catalog" ? "records" : "shards";
      const args = [join(output, "store-probe.mjs"), String(process.pid), kind, join(data, store), "look"];
      execFileSync(process.execPath, args, { stdio: "ignore", env: codeVariables });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function serveOnce(data, repository) {
  const serve = ["serve", "--data", data, "--listen", "127.0.0.1:0", "--set", "search.warmPercent=0"];
  const daemon = start([...serve, "--set", "workers=1", "--set", "index.workers=1"]);
  try {
    const url = await listening(daemon);
    if (repository !== undefined) await ended(start(["repo", "add", "one", repository, "--data", data]));
    await ended(start(["search", "first", "--data", data]));
    for (const query of ["q=first", "q=type:commit+one", "q=count:all+type:diff+first"])
      await (await fetch(`${url}/.api/search/stream?${query}`)).text();
    const body = JSON.stringify({
      query: `{ repository(name: "one") { commit(rev: "HEAD") { blob(path: "main.ts") { content highlight(disableTimeout: true) { html } symbols { nodes { name } } } } } }`,
    });
    const headers = { "content-type": "application/json" };
    await (await fetch(`${url}/.api/graphql`, { method: "POST", headers, body })).text();
    await untilThreadsHaveWritten();
  } finally {
    daemon.kill("SIGTERM");
    await ended(daemon);
  }
}

/**
 * Waits until each kind of thread that the requests have used has written what it compiled for them. A thread writes all of
 * its files at once, and the entry first: it has written them when it begins to write them again.
 */
async function untilThreadsHaveWritten() {
  const code = join(output, "code");
  const endMs = Date.now() + threadsMsMax;
  for (const thread of ["search-worker", "read-worker", "ingest-worker"]) {
    const sinceMs = Date.now();
    let lastMs = 0;
    for (let writes = 0; writes < 2; ) {
      if (Date.now() > endMs) throw new Error(`the thread ${thread} has not written its compiled code`);
      await sleep(10);
      const times = existsSync(code)
        ? readdirSync(code)
            .filter((name) => name.includes(`+${thread}.cjs.`) && !/-\d+$/.test(name))
            .map((name) => statSync(join(code, name)).mtimeMs)
        : [];
      const newestMs = Math.max(0, ...times);
      if (newestMs <= sinceMs || newestMs === lastMs) continue;
      lastMs = newestMs;
      writes++;
    }
  }
}

/** Without flags of V8, like bin/trawl, since V8 uses compiled code only with the same ones. */
function start(args) {
  const program = `const { run } = await import(${JSON.stringify(pathToFileURL(join(output, "cli.mjs")).href)});
process.exitCode = await run(["node", "trawl", ...process.argv.slice(1)]);
if (process.argv[1] === "serve") process.exit();`;
  return spawn(process.execPath, ["--input-type=module", "-e", program, "--", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: codeVariables,
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

if (!isCurrent()) {
  process.stdout.write("Bundling the program\n");
  await bundle();
  await writeCode();
  writeFileSync(stamp, "");
}
