// Bundles the compiled command line, daemon and worker threads into a few files of dist/bundle, from which bin/trawl starts
// them: most of the processor time of a start would be spent on loading their hundreds of modules one by one, again in each
// thread. The bundle is of CommonJS modules, whose compiled code V8 can keep in files (compiled-code.cjs), which are then
// written (write-code.mjs). Where a module refers to a file by its own URL, the URL stays that of the module, relative
// to the bundle: the checkout or package may be moved.
//
//   node scripts/bundle.mjs
import { copyFileSync, existsSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { writeCode } from "./write-code.mjs";

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

/**
 * The validators of the configuration as the code that Ajv makes of their schemas, and without Ajv: making them took a quarter of a
 * second of processor time in each start with a configuration file and in each reload, and a part of that in any other start.
 */
const madeValidators = {
  name: "made-validators",
  async transform(_code, id) {
    if (!id.endsWith("/daemon/config/validators.js")) return undefined;
    const [{ Ajv2020 }, { default: standalone }, { validatorOptions }, schemas, { optionTable }] = await Promise.all([
      import("ajv/dist/2020.js"),
      import("ajv/dist/standalone/index.js"),
      ...["validators", "config-schema", "options"].map((name) => import(join(compiled, `daemon/config/${name}.js`))),
    ]);
    const ajv = new Ajv2020({ ...validatorOptions, code: { ...validatorOptions.code, source: true, esm: true } });
    const options = Object.keys(optionTable).map((key, at) => [key, `option${at}`]);
    const made = {
      config: schemas.configSchema(),
      repository: schemas.repositorySchema(),
      attributes: schemas.attributesSchema(),
      ...Object.fromEntries(options.map(([key, name]) => [name, schemas.optionSchema(key)])),
    };
    for (const [name, schema] of Object.entries(made)) ajv.addSchema(schema, name);
    return `${standalone.default(ajv, Object.fromEntries(Object.keys(made).map((name) => [name, name])))}
const options = new Map([${options.map(([key, name]) => `[${JSON.stringify(key)}, ${name}]`).join(", ")}]);
export const configValidation = () => config;
export const repositoryValidation = () => repository;
export const attributesValidation = () => attributes;
export const optionValidation = (key) => options.get(key);`;
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
 * other character would make that of a whole file of megabytes twice as large. An escape means the same as the character everywhere but
 * in `String.raw`, and bundled code has no such character there.
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
    "scripts/write-code.mjs",
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
    plugins: [parsedSchema, madeValidators, ownUrls],
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

if (!isCurrent()) {
  process.stdout.write("Bundling the program\n");
  await bundle();
  await writeCode(output);
  writeFileSync(stamp, "");
}
