/**
 * Installs the packages in the lockfile, and compiles those of C++. What the machine lacks is said first, before minutes of
 * work, in one line with its remedy. With `npm_config_offline=true` everything comes from npm's cache.
 *
 *   node scripts/install.mjs
 */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const checkout = fileURLToPath(new URL("..", import.meta.url));
const modules = join(checkout, "node_modules");

/** Records what was installed. bin/trawl reads for which platform. */
const stamp = join(modules, ".trawl-installed");
const platform = join(modules, ".trawl-platform");

/** Changes to these files install again. */
const inputs = ["package-lock.json", "debian-packages.sh", "patch-lmdb.sh", "build-uws.mjs"];

/** A registry that has not answered by then is taken for one that does not. */
const registryMs = 20_000;

/** Time for npm itself to start and end on a busy machine. */
const npmMs = 120_000;

/** Node's headers are a few megabytes. */
const headersMs = 60_000;

/** npm warns of this variable, which is for node-gyp. */
const { npm_config_nodedir: nodeHeaders, ...environment } = process.env;

const hash = createHash("sha256");
for (const name of inputs) hash.update(readFileSync(join(checkout, name.endsWith(".json") ? name : `scripts/${name}`)));
const built = `${process.arch} ${process.versions.modules}`;
const want = `${hash.digest("hex")} ${built}\n`;
const have = readOr(stamp, "");
if (have !== want) install();

function install() {
  if (spawnSync("bash", [join(checkout, "scripts/debian-packages.sh")], { stdio: "inherit" }).status !== 0)
    process.exit(1);
  checkCompiler();
  checkRegistry();
  // `npm ci` begins anew; otherwise what is compiled for this platform stays, and only differences are installed.
  const isSame = have.trimEnd().endsWith(` ${built}`);
  process.stdout.write(
    isSame ? "Installing what has changed of the npm packages\n" : "Installing npm packages: about a minute\n",
  );
  // Files that npm writes in place are removed first, because checkouts may share them by hard links.
  for (const path of [stamp, platform, join(modules, ".package-lock.json")]) rmSync(path, { force: true });
  const way = isSame ? ["install", "--no-save"] : ["ci"];
  // Install scripts would compile, or download what nobody verifies (check-compiled.mjs), and not say how far they are.
  const npm = spawnSync("npm", [...way, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: checkout,
    env: environment,
    stdio: "inherit",
  });
  if (npm.status !== 0) fail("npm could not install the packages in package-lock.json: see its error above");
  checkHeaders();
  const compiled = process.arch === "arm64" ? ["re2", "lmdb", "msgpackr-extract"] : ["re2", "lmdb"];
  for (const args of [["build-uws.mjs"], ["compile-native.mjs", ...compiled], ["check-compiled.mjs"]])
    if (
      spawnSync(process.execPath, [join(checkout, "scripts", args[0]), ...args.slice(1)], { stdio: "inherit" })
        .status !== 0
    )
      process.exit(1);
  writeFileSync(platform, `${built}\n`);
  writeFileSync(stamp, want);
}

/** On other systems than Debian nothing else looks for a compiler; there and on Debian it may be too old. */
function checkCompiler() {
  for (const command of ["python3", "make", "g++"])
    if (spawnSync(command, ["--version"], { stdio: "ignore" }).status !== 0)
      fail(`${command} is not installed or does not start: install it with the packages of this system`);
  for (const header of ["concepts", "libdeflate.h"]) {
    const { status, stderr } = spawnSync("g++", ["-std=c++20", "-fsyntax-only", "-x", "c++", "-"], {
      input: `#include <${header}>\n`,
      encoding: "utf8",
    });
    if (status === 0) continue;
    const error = /error: (.*)/.exec(stderr)?.[1] ?? stderr.split("\n")[0];
    if (header === "libdeflate.h")
      fail(`the header ${header} is missing (${error}): install libdeflate-dev or libdeflate-devel`);
    fail(`g++ does not compile C++20 (${error}): install g++ 11 or later`);
  }
}

/** Asks the registry for one package of the lockfile, since npm itself waits for minutes and tries again. */
function checkRegistry() {
  const quiet = { cwd: checkout, env: environment, stdio: ["ignore", "pipe", "pipe"] };
  const config = (name) => execFileSync("npm", ["config", "get", name], { ...quiet, encoding: "utf8" }).trim();
  if (config("offline") === "true") return;
  const { packages } = JSON.parse(readFileSync(join(checkout, "package-lock.json"), "utf8"));
  const args = ["view", `re2@${packages["node_modules/re2"].version}`, "version"];
  const { status, stderr, error } = spawnSync("npm", [...args, "--fetch-retries=0", `--fetch-timeout=${registryMs}`], {
    ...quiet,
    encoding: "utf8",
    timeout: registryMs + npmMs,
  });
  if (status === 0) return;
  const why = /^npm (?:error|ERR!) (?:code|errno) (.*)$/m.exec(stderr ?? "")?.[1] ?? error?.code ?? "no answer";
  fail(
    `the npm registry ${config("registry")} does not answer (${why}): set another with \`npm config set registry URL\`, a proxy with ` +
      "HTTPS_PROXY, or certificates with NODE_EXTRA_CA_CERTS; npm_config_offline=true installs from npm's cache alone",
  );
}

/** Without headers, node-gyp downloads those of this release. */
function checkHeaders() {
  if (nodeHeaders !== undefined) return;
  const program = join(modules, "node-gyp/bin/node-gyp.js");
  const { status, stderr } = spawnSync(process.execPath, [program, "install", "--ensure", "--loglevel=error"], {
    cwd: checkout,
    encoding: "utf8",
    timeout: headersMs,
  });
  if (status === 0) return;
  const why = /^gyp ERR! stack (?:\w*Error: )?(.*)$/m.exec(stderr ?? "")?.[1] ?? "no answer";
  fail(
    `the headers of Node ${process.versions.node} are neither beside it nor could they be downloaded (${why}): the archives of ` +
      "https://nodejs.org/en/download hold them; for Debian's own nodejs, install libnode-dev",
  );
}

function readOr(path, otherwise) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return otherwise;
  }
}

function fail(message) {
  process.stderr.write(`trawl: ${message}\n`);
  process.exit(1);
}
