// Bundles the compiled command line, daemon and worker threads into a few files of dist/bundle, from which bin/trawl starts
// them: most of the processor time of a start would be spent on loading their hundreds of modules one by one, again in each
// thread. The bundle is of CommonJS modules, whose compiled code V8 can keep in files (compiled-code.cjs): a daemon
// is started three times to write them. Where a module refers to a file by its own URL, the URL stays that of the module, relative
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
      .replace(entryUrl, (_, name) => `new URL(urlBesideBundle("${name}.start.cjs"))`)
      .replaceAll("import.meta.url", `urlBesideBundle(${JSON.stringify(relative(output, id))})`);
  },
};

/**
 * Code in ASCII only. V8 keeps a text of one byte a character in half of the memory, and Node reads it several times as fast: one
 * other character would make that of a whole file of megabytes twice as large. Bundled code has such characters only where
 * an escape means the same, which is not in `String.raw`.
 */
function escaped(code) {
  return code.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

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
  for (const { fileName, code } of chunks) writeFileSync(join(output, fileName), escaped(code));
  copyFileSync(new URL("compiled-code.cjs", import.meta.url), join(output, "compiled-code.cjs"));
  const { schemaDocument } = await import(new URL("../dist/src/graphql/execution/schema-document.js", import.meta.url));
  writeFileSync(join(output, schemaFile), JSON.stringify(schemaDocument()));
  for (const { name, fileName, exports } of chunks.filter(({ isEntry }) => isEntry)) {
    // Threads and processes get by without the loader of ES modules, which takes a tenth of their start.
    if (name in entries) {
      const lines = [
        'Object.defineProperty(exports, "__esModule", { value: true });',
        'require("./compiled-code.cjs");',
        `Object.assign(exports, require("./${fileName}"));`,
      ];
      writeFileSync(join(output, `${name}.start.cjs`), `${lines.join("\n")}\n`);
      continue;
    }
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

/** A thread that has not written for so long has ended. */
const endedMs = 20 * writesMs;

/** In each, threads add what the others of their kind have compiled in those before. */
const passes = 3;

const code = join(output, "code");

const codeVariables = { PATH: process.env.PATH, HOME: "/nonexistent", TRAWL_WRITE_CODE: String(writesMs) };

/** Starts a daemon several times and lets it do what most tests ask for, so that the code of it is written. */
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
    for (let pass = 0; pass < passes; pass++) await serveOnce(data, `pass-${pass}`, repository);
    // The daemon starts it without flags and variables.
    for (const store of ["catalog", "shards"]) {
      const kind = store === "catalog" ? "records" : "shards";
      const args = [join(output, "store-probe.start.cjs"), String(process.pid), kind, join(data, store), "look"];
      execFileSync(process.execPath, args, { stdio: "ignore", env: codeVariables });
    }
    // Marks, and what a thread was writing when it was ended.
    for (const name of readdirSync(code).filter((name) => /-\d+$/.test(name))) rmSync(join(code, name));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function serveOnce(data, name, repository) {
  const serve = ["serve", "--data", data, "--listen", "127.0.0.1:0", "--set", "search.warmPercent=0"];
  const daemon = start([...serve, "--set", "workers=1", "--set", "index.workers=1"]);
  try {
    const url = await listening(daemon);
    await ended(start(["repo", "add", name, repository, "--data", data]));
    await ended(start(["search", "first", "--data", data]));
    for (const query of ["q=first", "q=type:commit+one", "q=count:all+type:diff+first"])
      await (await fetch(`${url}/.api/search/stream?${query}`)).text();
    const body = JSON.stringify({
      query: `{ repository(name: "${name}") { commit(rev: "HEAD") { blob(path: "main.ts") { content highlight(disableTimeout: true) { html } symbols { nodes { name } } } } } }`,
    });
    const headers = { "content-type": "application/json" };
    await (await fetch(`${url}/.api/graphql`, { method: "POST", headers, body })).text();
    await untilThreadsHaveWritten(daemon.pid);
  } finally {
    daemon.kill("SIGTERM");
    await ended(daemon);
  }
}

/**
 * Waits until each thread that the requests have started has written what it compiled for them: for the second mark of each
 * (compiled-code.cjs), since it may be writing already. A thread that has ended writes none.
 */
async function untilThreadsHaveWritten(pid) {
  const since = Date.now();
  const marks = new Map();
  for (;;) {
    if (Date.now() > since + threadsMsMax)
      throw new Error(`threads have not written their compiled code: ${[...marks.keys()].join(", ")}`);
    await sleep(10);
    for (const name of readdirSync(code).filter((name) => name.includes(`.written-${pid}-`))) {
      const { mtimeMs } = statSync(join(code, name));
      const mark = marks.get(name) ?? { count: 0, mtimeMs: since };
      if (mtimeMs > mark.mtimeMs) marks.set(name, { count: mark.count + 1, mtimeMs });
    }
    const isDone = ({ count, mtimeMs }) => count >= 2 || Date.now() > mtimeMs + endedMs;
    const names = [...marks].filter(([, mark]) => isDone(mark)).map(([name]) => name);
    const isEach = ["search", "read", "ingest"].every((kind) =>
      names.some((name) => name.includes(`+${kind}-worker.`)),
    );
    if (isEach && names.length === marks.size) return;
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
