/**
 * Compiles native packages and the kernel for the running Node, or for Node on another processor (target.mjs), and says how far
 * it is. What is compiled already is left as it is.
 *
 *   node scripts/compile-native.mjs [--arch=NAME] NAME...
 */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { isInstalled, takeTarget } from "./target.mjs";

const checkout = fileURLToPath(new URL("..", import.meta.url));

/**
 * Folder, name of the binary, and the processor time in seconds that compiling took with gcc 12 and no ccache, on a machine
 * with other work. Patches are made before. Nothing depends on an optional one.
 */
const targets = {
  re2: { folder: "node_modules/re2", binary: "re2", seconds: 280 },
  lmdb: { folder: "node_modules/lmdb", binary: "lmdb", seconds: 60, patch: "scripts/patch-lmdb.sh" },
  nodegit: { folder: "node_modules/nodegit", binary: "nodegit", seconds: 400, isOptional: true },
  // The npm package with its binary for arm64 has one for musl only.
  "msgpackr-extract": { folder: "node_modules/msgpackr-extract", binary: "extract", seconds: 5 },
  kernel: { folder: "src/native", binary: "trawl_kernel", seconds: 50 },
};

/** How often a line says how far it is where lines cannot be overwritten. */
const reportMs = 15_000;

const { args: names, target: platform } = takeTarget(process.argv.slice(2));
const wanted = names.map((name) => ({ name, ...targets[name] })).filter((target) => !isCurrent(target));

async function compileAll() {
  const seconds = wanted.reduce((sum, target) => sum + target.seconds, 0) / processors();
  process.stdout.write(
    `Compiling ${wanted.map(({ name }) => name).join(", ")}${platform.isHost ? "" : ` for ${platform.debian}`}: ${duration(seconds)}${isInstalled("ccache") ? ", or a fraction of that if ccache knows the files" : ""}\n`,
  );
  for (const [index, target] of wanted.entries()) {
    const title = `  ${target.name} (${index + 1} of ${wanted.length})`;
    const began = process.hrtime.bigint();
    try {
      await compile(target, title);
    } catch (error) {
      if (!(error instanceof CompileFault)) throw error;
      if (!target.isOptional) {
        process.stderr.write(`${error.output}\n${target.name} could not be compiled: see above\n`);
        process.exitCode = 1;
        return;
      }
      process.stdout.write(
        `${title}: it does not compile with Node ${process.versions.node}; it is optional and left out (${error.reason})\n`,
      );
      continue;
    }
    process.stdout.write(`${title}: done in ${Math.round(Number(process.hrtime.bigint() - began) / 1e9)} s\n`);
  }
}

/** Where the record of what a binary was compiled from is. */
function recordPath({ folder }) {
  return join(platform.tree, folder, "build/Release/.trawl-compiled");
}

function isCurrent(target) {
  // An optional package may not be there.
  if (target.isOptional && !existsSync(join(platform.tree, target.folder))) return true;
  // Make knows when the kernel of the checkout is older than its sources.
  if (target.folder === "src/native" && platform.isHost) return false;
  const record = recordPath(target);
  return existsSync(record) && readFileSync(record, "utf8") === source(target);
}

/** What a binary is compiled from, for which architecture and ABI. */
function source({ folder, patch }) {
  const manifest = join(platform.tree, folder, "package.json");
  // The tree's sources of the kernel are copied anew, without what was compiled, when one changes (cross-build.mjs).
  const version = folder === "src/native" ? "kernel" : JSON.parse(readFileSync(manifest, "utf8")).version;
  const patched =
    patch === undefined
      ? ""
      : createHash("sha256")
          .update(readFileSync(join(checkout, patch)))
          .digest("hex");
  return `${version} ${platform.arch} ${platform.abi} ${patched}\n`;
}

class CompileFault extends Error {
  constructor(output) {
    super("the compiler failed");
    this.output = output;
    this.reason = /\berror: (.*)/i.exec(output)?.[1] ?? output.trim().split("\n").at(-1);
  }
}

async function compile(target, title) {
  const folder = join(platform.tree, target.folder);
  if (target.patch !== undefined)
    execFileSync("bash", [join(checkout, target.patch), platform.tree], { stdio: "inherit" });
  await gyp(folder, ["clean"]);
  await gyp(folder, ["configure"]);
  const count = objects(join(folder, "build"));
  const progress = showProgress(title, count);
  try {
    await gyp(folder, ["build"], progress.line);
  } finally {
    progress.end();
  }
  if (target.folder !== "src/native" || !platform.isHost) writeFileSync(recordPath(target), source(target));
}

/** How many files the makefiles that gyp has written compile. */
function objects(build) {
  const makefiles = readdirSync(build, { recursive: true }).filter((name) => name.endsWith(".target.mk"));
  return makefiles
    .map((name) => readFileSync(join(build, name), "utf8").match(/^\s*\$\(obj\)\.target\/\S+\.o\b/gm)?.length ?? 0)
    .reduce((sum, one) => sum + one, 0);
}

function gyp(folder, args, onLine = () => {}) {
  const program = join(checkout, "node_modules/node-gyp/bin/node-gyp.js");
  const options = ["--directory", relative(checkout, folder), "--loglevel=error"];
  if (!platform.isHost) options.push(`--arch=${platform.arch}`);
  const child = spawn(process.execPath, [program, ...args, ...options], {
    cwd: checkout,
    env: { ...process.env, ...compilers() },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const take = (bytes) => {
    output = (output + bytes).slice(-20_000);
  };
  child.stderr.on("data", take);
  let rest = "";
  child.stdout.on("data", (bytes) => {
    const lines = (rest + bytes).split("\n");
    rest = lines.pop();
    for (const line of lines) onLine(line);
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => (code === 0 ? resolve() : reject(new CompileFault(output))));
  });
}

/** For another processor libdeflate is not among the system's libraries. */
function compilers() {
  const { tools, libraries, gnu } = platform;
  const launcher = isInstalled("ccache") ? "ccache " : "";
  if (platform.isHost) return launcher === "" ? {} : { CC: "ccache gcc", CXX: "ccache g++" };
  return {
    CC: `${launcher}${tools.cc}`,
    CXX: `${launcher}${tools.cxx}`,
    AR: tools.ar,
    CPLUS_INCLUDE_PATH: join(libraries, "usr/include"),
    LDFLAGS: `-L${join(libraries, "usr/lib", gnu)}`,
    // The variable that make sets for the running Node is stronger than an argument.
    npm_config_nodedir: join(platform.tree, "node"),
  };
}

/** Counts compiled files on one line of a terminal, and otherwise in a line every 15 s. */
function showProgress(title, count) {
  const isTerminal = process.stdout.isTTY === true;
  let compiled = 0;
  let printedMs = Date.now();
  const print = () => {
    const text = `${title}: ${compiled} of ${count} files`;
    process.stdout.write(isTerminal ? `\r${text}` : `${text}\n`);
  };
  if (isTerminal) print();
  return {
    line(text) {
      if (!/^\s*(CC|CXX)\(target\)/.test(text)) return;
      compiled++;
      if (!isTerminal && Date.now() - printedMs < reportMs) return;
      printedMs = Date.now();
      print();
    },
    end() {
      if (isTerminal) process.stdout.write("\r\x1b[K");
    },
  };
}

/** `JOBS` is how many files node-gyp compiles at once. */
function processors() {
  const jobs = Number(process.env.JOBS ?? 1);
  return process.env.JOBS === "max" ? availableParallelism() : jobs > 0 ? jobs : 1;
}

function duration(seconds) {
  return seconds < 90 ? `about ${Math.ceil(seconds / 10) * 10} seconds` : `about ${Math.round(seconds / 60)} minutes`;
}

if (wanted.length > 0) await compileAll();
