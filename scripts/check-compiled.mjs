/**
 * Fails unless the native packages in the folder given, or in this checkout, were compiled there: what their install scripts
 * could download instead is not in the lockfile, and nobody verifies it. Also fails if a package has an install script that
 * is not listed here.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** What the install script of each package does, and the name of the binary. */
const known = {
  // Downloads build/Release/re2.node from its releases, unless DEVELOPMENT_SKIP_GETTING_ASSET is set; then node-gyp compiles.
  re2: "re2",
  // Downloads nodegit.node from a bucket, unless BUILD_ONLY is set; then node-gyp compiles. The package is optional.
  nodegit: "nodegit",
  // Downloads nothing: takes @lmdb/lmdb-PLATFORM, or compiles. scripts/patch-lmdb.sh compiles in any case.
  lmdb: "lmdb",
  // Downloads nothing: takes @msgpackr-extract/msgpackr-extract-PLATFORM, of which the lockfile has the hash, or compiles, as is
  // done for arm64.
  "msgpackr-extract": "extract",
};

const root = process.argv[2] ?? fileURLToPath(new URL("..", import.meta.url));
const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
const faults = [];
for (const [path, { hasInstallScript }] of Object.entries(packages)) {
  if (!hasInstallScript) continue;
  const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
  if (known[name] === undefined) {
    faults.push(`${path} has an install script: see what it does, and list it in scripts/check-compiled.mjs`);
    continue;
  }
  const release = join(root, path, "build/Release");
  const binary = join(release, `${known[name]}.node`);
  if (!existsSync(binary)) continue;
  // make writes this file after it has linked; a download leaves none, or an older one.
  const record = join(release, `.deps/Release/${known[name]}.node.d`);
  if (existsSync(record) && statSync(record).mtimeMs >= statSync(binary).mtimeMs) continue;
  faults.push(`${binary} was not compiled here: remove ${join(root, path)} and run make build`);
}
for (const fault of faults) console.error(fault);
process.exit(faults.length === 0 ? 0 : 1);
