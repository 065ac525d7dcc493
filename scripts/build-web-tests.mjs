// Compiles the unit tests of the web pages, with the modules of src/web that they import: those are written for a bundler.
//
//   node scripts/build-web-tests.mjs
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const checkout = fileURLToPath(new URL("..", import.meta.url));
const folder = "test/unit/web";
const tests = readdirSync(join(checkout, folder)).filter((name) => name.endsWith(".test.ts"));

await build({
  configFile: false,
  root: checkout,
  logLevel: "warn",
  build: {
    ssr: true,
    outDir: join(checkout, "dist", folder),
    emptyOutDir: true,
    sourcemap: true,
    target: "node20",
    rolldownOptions: {
      checks: { pluginTimings: false },
      input: Object.fromEntries(tests.map((name) => [name.replace(/\.ts$/, ""), join(checkout, folder, name)])),
      output: { entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].mjs" },
    },
  },
});
