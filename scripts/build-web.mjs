// `make web`: builds the web pages of src/web into dist/web, with a gzip and a Brotli form beside each file.
//
//   node scripts/build-web.mjs
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { build } from "vite";
import { describeFilters } from "./query-help.mjs";
import { describeSchema } from "./schema-overview.mjs";

const checkout = fileURLToPath(new URL("..", import.meta.url));
const output = join(checkout, "dist/web");

// Files below this size are sent as they are: a packet holds them anyway.
const compressedBytesMin = 512;

// The entry, and small modules that nearly every page needs: one file instead of a request for each.
const mainModules =
  /\/src\/(base\/errors|web\/(main|index|pages|api\/(api-error|event-stream|graphql|use-graphql)|route\/[a-z-]+|ui\/(delay|element|keys|numbers|parse-html|states|text-range)))\.tsx?$/;

/** Modules that are made from other files of the checkout: the name, and what it exports. */
const madeModules = {
  "virtual:schema": () => ({
    schemaTypes: describeSchema(readFileSync(join(checkout, "src/graphql/schema.graphql"), "utf8")),
  }),
  "virtual:query-help": () => ({
    filterHelp: describeFilters(readFileSync(join(checkout, "docs/query-syntax.md"), "utf8")),
  }),
  "virtual:configuration-schema": () => ({
    configurationSchema: JSON.parse(readFileSync(join(checkout, "config/trawl.schema.json"), "utf8")),
  }),
};

const moduleMaker = {
  name: "trawl-modules",
  resolveId: (id) => (Object.hasOwn(madeModules, id) ? `\0${id}` : undefined),
  load: (id) => {
    const make = id.startsWith("\0") ? madeModules[id.slice(1)] : undefined;
    if (make === undefined) return undefined;
    const toExport = ([name, value]) => `export const ${name} = JSON.parse(${JSON.stringify(JSON.stringify(value))});`;
    return Object.entries(make()).map(toExport).join("\n");
  },
};

await build({
  configFile: false,
  root: join(checkout, "src/web"),
  base: "/.assets/",
  logLevel: "warn",
  plugins: [moduleMaker],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: output,
    emptyOutDir: true,
    assetsDir: "",
    // A strict Content-Security-Policy allows no data: URLs.
    assetsInlineLimit: 0,
    manifest: "manifest.json",
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The console with its editor, which only its page loads.
    chunkSizeWarningLimit: 800,
    rolldownOptions: {
      // On a busy machine each plugin would be reported as slow.
      checks: { pluginTimings: false },
      output: { codeSplitting: { groups: [{ name: "main", test: mainModules, minSize: 0 }] } },
    },
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
  },
});

rmSync(join(output, ".vite"), { recursive: true, force: true });
const compressible = readdirSync(output).filter(
  (name) => /\.(js|css|json|ttf)$/.test(name) && name !== "manifest.json",
);
await Promise.all(
  compressible.map(async (name) => {
    const bytes = readFileSync(join(output, name));
    if (bytes.length < compressedBytesMin) return;
    const options = { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } };
    writeFileSync(join(output, `${name}.gz`), await promisify(gzip)(bytes, { level: 9 }));
    writeFileSync(join(output, `${name}.br`), await promisify(brotliCompress)(bytes, options));
  }),
);
