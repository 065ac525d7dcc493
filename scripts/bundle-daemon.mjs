// Bundles the compiled daemon and its worker threads into a few files of dist/bundle, for the tests: they start some
// hundred daemons, and most of the processor time of a start is spent on loading its 605 modules one by one, again in
// each thread. Where a module refers to a file by its own URL, the URL stays that of the module in dist/src.
//
//   node scripts/bundle-daemon.mjs
import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const checkout = fileURLToPath(new URL("..", import.meta.url));
const output = join(checkout, "dist/bundle");
const stamp = join(output, ".built");
const compiled = join(checkout, "dist/src");

/** Entries of threads, by the name of their file, which the daemon starts by URL. */
const threads = {
  "search-worker": "worker",
  "read-worker": "worker",
  "ingest-worker": "worker",
  "options-thread": "daemon",
  "store-probe": "store",
};

/** Native packages, those that find files beside themselves, and those that are loaded by `require` at first use. */
const external = [
  "@node-rs/argon2",
  "highlight.js",
  "jsonc-parser",
  "lmdb",
  "markdown-it",
  "nodegit",
  "pino",
  "pino-pretty",
  "piscina",
  "re2",
  "sanitize-html",
  "uWebSockets.js",
];

const threadUrl = new RegExp(
  `new URL\\("\\.[^"]*/(${Object.keys(threads).join("|")})\\.js", import\\.meta\\.url\\)`,
  "g",
);

const ownUrls = {
  name: "own-urls",
  transform(code, id) {
    if (!id.startsWith(compiled) || !code.includes("import.meta.url")) return undefined;
    return code
      .replace(threadUrl, (_, name) => `new URL(${JSON.stringify(pathToFileURL(join(output, `${name}.mjs`)).href)})`)
      .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(id).href));
  },
};

/** Whether the bundle is that of the last build. */
function isCurrent() {
  const built = join(checkout, "dist/.built");
  return existsSync(stamp) && existsSync(built) && statSync(stamp).mtimeMs > statSync(built).mtimeMs;
}

if (!isCurrent()) {
  const { build } = await import("vite");
  const entries = Object.entries(threads).map(([name, folder]) => [name, join(compiled, folder, `${name}.js`)]);
  await build({
    configFile: false,
    root: checkout,
    logLevel: "warn",
    plugins: [ownUrls],
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
          ...Object.fromEntries(entries),
        },
        external,
        // On a busy machine each plugin would be reported as slow.
        checks: { pluginTimings: false },
        output: { entryFileNames: "[name].mjs", chunkFileNames: "[name]-[hash].mjs" },
      },
    },
  });
  writeFileSync(stamp, "");
}
