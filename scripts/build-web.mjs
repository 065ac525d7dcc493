// `make web`: builds the web pages of src/web into dist/web, with a gzip and a Brotli form beside each file.
//
//   node scripts/build-web.mjs
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { build } from "vite";

const checkout = fileURLToPath(new URL("..", import.meta.url));
const output = join(checkout, "dist/web");

// Files below this size are sent as they are: a packet holds them anyway.
const compressedBytesMin = 512;

await build({
  configFile: false,
  root: join(checkout, "src/web"),
  base: "/.assets/",
  logLevel: "warn",
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
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
  },
});

rmSync(join(output, ".vite"), { recursive: true, force: true });
const compressible = readdirSync(output).filter(
  (name) => /\.(js|css|svg|json|ttf)$/.test(name) && name !== "manifest.json",
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
