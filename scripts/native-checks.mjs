/**
 * Builds of the native addon that find faults, each in a copy of the checkout below build/:
 *
 * `native-checks.mjs asan SECONDS` builds it with the address and undefined-behaviour sanitizers, runs the tests of native code
 * with it, and then its fuzz targets for that many seconds in total.
 *
 * `native-checks.mjs mutate [FILTER]` builds it with each check of a bound behind a switch, and calls `findBoundFaults` of
 * test/support/native-bounds.ts once for each check with this check switched off: one that goes unnoticed is printed. What the
 * ordinary build does not notice is tried with the sanitizers, too. FILTER is a part of a file name, or a number.
 */
import { execFileSync, spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join, relative } from "node:path";

const addon = "src/native/build/Release/trawl_kernel.node";

/** The first one tests each bound; the others are only run if it does not notice. */
const tests = [
  "unit/native/kernel-bounds",
  "unit/git/git-hostile-packs",
  "unit/native/kernel-scan",
  "unit/native/kernel-postings",
  "unit/native/kernel-documents",
  "unit/native/kernel-digest",
  "unit/native/kernel-patterns",
  "unit/native/kernel-symbols",
  "unit/native/kernel-encode",
  "unit/native/kernel-memory",
  "unit/native/kernel-datagram",
  "unit/git/git-packs",
  "unit/git/git-change-filter",
];

/** So many processes try checks at the same time: most of the time of one is that of its start after another has ended. */
const lanesMax = 3;

/** A process that says nothing for so long is in an endless loop. */
const silenceMs = 15_000;

/** Checks without which the next check, or the code after it, does the same. [file, code] */
const equivalents = [];

const sanitizers =
  "-fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all -fno-omit-frame-pointer -O1";

/** Hard links, except for what is compiled. */
function copyTree(from, to) {
  mkdirSync(to, { recursive: true });
  for (const name of ["package.json", "dist", "src"]) {
    if (name === "src")
      for (const path of sourcesOf(join(from, name))) copyIfChanged(path, join(to, relative(from, path)));
    else execFileSync("cp", ["-al", "--force", join(from, name), to]);
  }
}

function copyIfChanged(from, to) {
  writeIfChanged(to, readFileSync(from, "utf8"));
}

/** What is unchanged is not compiled again. */
function writeIfChanged(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  if (!existsSync(path) || readFileSync(path, "utf8") !== text) writeFileSync(path, text);
}

/** A copy of the checkout with an addon of its own: by hard links, except for the native sources. */
function copyCheckout(name, change) {
  const root = join("build", name);
  mkdirSync(root, { recursive: true });
  cpSync("package.json", join(root, "package.json"));
  rmSync(join(root, "dist"), { recursive: true, force: true });
  execFileSync("cp", ["-al", "dist", join(root, "dist")]);
  // Some modules read data from the sources.
  for (const folder of readdirSync("src").filter((name) => name !== "native" && name !== "web")) {
    rmSync(join(root, "src", folder), { recursive: true, force: true });
    mkdirSync(join(root, "src"), { recursive: true });
    execFileSync("cp", ["-al", join("src", folder), join(root, "src", folder)]);
  }
  for (const path of sourcesOf("src/native")) {
    writeIfChanged(join(root, path), change(path, readFileSync(path, "utf8")));
  }
  return root;
}

function sourcesOf(folder) {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return name === "build" ? [] : sourcesOf(path);
    return /\.(cc|h|gyp)$/.test(name) ? [path] : [];
  });
}

function buildAddon(root, compilerFlags, linkerFlags) {
  const environment = {
    ...process.env,
    CXXFLAGS: compilerFlags,
    LDFLAGS: linkerFlags,
    JOBS: String(availableParallelism()),
    CXX: process.env.CXX ?? (isInstalled("ccache") ? "ccache g++" : "g++"),
  };
  const native = join(root, "src/native");
  const command = existsSync(join(native, "build/Makefile")) ? "build" : "rebuild";
  execFileSync("node_modules/.bin/node-gyp", [command, "--directory", native, "--loglevel=error"], {
    env: environment,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (!existsSync(join(root, addon))) throw new Error("the addon was not built");
}

function isInstalled(program) {
  try {
    execFileSync("sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Node itself leaks; its allocator must not abort where the system has no memory. */
function sanitized() {
  const libraries = ["libasan.so", "libubsan.so"].map((name) =>
    execFileSync("g++", [`-print-file-name=${name}`], { encoding: "utf8" }).trim(),
  );
  return {
    LD_PRELOAD: libraries.join(":"),
    ASAN_OPTIONS: "detect_leaks=0:allocator_may_return_null=1:handle_sigbus=0:abort_on_error=1:disable_coredump=1",
    UBSAN_OPTIONS: "print_stacktrace=1:abort_on_error=1",
    // It limits the address space of a process, of which the sanitizers need much.
    TAP_GREP: "/out of memory/",
    TAP_INVERT: "1",
  };
}

/** Runs a compiled program of the copy; resolves with whether it succeeded, and what it printed. */
function run(root, file, environment, secondsMax) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [join(root, "dist", file)], {
      env: { ...process.env, TAP_TIMEOUT: "600", TAP_BAIL: "1", ...environment },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    let text = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (piece) => (text = (text + piece).slice(-200_000)));
    // A bound that is missing can make a loop endless.
    const timer = setTimeout(() => process.kill(-child.pid, "SIGKILL"), secondsMax * 1000);
    child.on("close", (code) => {
      clearTimeout(timer);
      resolve({ isGood: code === 0, text });
    });
  });
}

async function checkWithSanitizers(seconds) {
  const root = copyCheckout("asan", (_, text) => text);
  console.log("Compiling the kernel with sanitizers");
  buildAddon(root, sanitizers, "-fsanitize=address,undefined");
  const environment = sanitized();
  let isGood = true;
  for (const test of tests) {
    const outcome = await run(root, `test/${test}.test.js`, environment, 600);
    console.log(`${outcome.isGood ? "good" : "BAD "} ${test}`);
    if (!outcome.isGood) console.log(outcome.text.slice(-6000));
    isGood &&= outcome.isGood;
  }
  const targets = ["pack", "pack-index", "pack-objects", "pack-real", "shard", "posting-list", "native-real"];
  for (const target of targets) {
    const given = {
      ...environment,
      TARGET: target,
      SECONDS: String(Math.max(1, Math.floor(seconds / targets.length))),
    };
    const outcome = await run(root, "test/fuzz/main.js", given, seconds + 300);
    console.log(outcome.isGood ? outcome.text.trim() : `BAD  fuzz target ${target}\n${outcome.text.slice(-6000)}`);
    isGood &&= outcome.isGood;
  }
  process.exitCode = isGood ? 0 : 1;
}

/** Replaces comments and texts in quotes by blanks of the same length, so that only code is searched. */
function blanked(text) {
  return text.replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+'/g, (part) =>
    part.replace(/[^\n]/g, " "),
  );
}

/** The end of what begins with the parenthesis at `open`. */
function closing(code, open) {
  for (let at = open, depth = 0; at < code.length; at++) {
    if ("([{".includes(code[at])) depth++;
    if (")]}".includes(code[at]) && --depth === 0) return at;
  }
  throw new Error("a parenthesis is not closed");
}

/** The operands of an operator in [from, to), outside of parentheses. */
function operands(code, from, to, operator) {
  const parts = [];
  let start = from;
  for (let at = from, depth = 0; at < to; at++) {
    if ("([{".includes(code[at])) depth++;
    if (")]}".includes(code[at])) depth--;
    if (depth > 0 || code.slice(at, at + operator.length) !== operator) continue;
    parts.push([start, at]);
    start = at + operator.length;
    at = start - 1;
  }
  return [...parts, [start, to]];
}

const refusal =
  /^(return\s*(false|0|noRoom|noContents|nullptr|SIZE_MAX|-1|\{\}|E[A-Z]+|\w+::(misuse|no|tooLarge|failed|tooMany|yes|unknown)|(this->)?misused\(\)|(misuse|damaged|noTables)\([^;]*\)|)|break|continue)\s*;/;

/** Checks as [from, to, value]: ranges of the code, and the value at which the check refuses nothing. */
function checksOf(text) {
  const code = blanked(text);
  const found = [];
  const addAll = (from, to, operator, value) => {
    for (const [a, b] of operands(code, from, to, operator)) found.push([a, b, value]);
  };
  for (const match of code.matchAll(/\bneed\(/g)) {
    const open = match.index + match[0].length - 1;
    if (code.slice(open, open + 6) === "(bool ") continue;
    addAll(open + 1, closing(code, open), "&&", true);
  }
  for (const match of code.matchAll(/\bif (\()/g)) {
    const open = match.index + match[0].length - 1;
    const close = closing(code, open);
    const after = code
      .slice(close + 1, close + 200)
      .trimStart()
      .replace(/^\{\s*/, "");
    if (!refusal.test(after) || /[^=!<>]=[^=]/.test(code.slice(open, close))) continue;
    addAll(open + 1, close, "||", false);
  }
  for (const match of code.matchAll(/\breturn\b/g)) {
    const from = match.index + match[0].length;
    const to = code.indexOf(";", from);
    const parts = operands(code, from, to, "&&");
    const expression = code.slice(from, to);
    if (
      /\?|\|\|/.test(expression) ||
      (parts.length === 1 && !/[^<-]<[^<]|[^>-]>[^>]/.test(expression)) ||
      /_cast<|<\w+>|["[{]/.test(expression)
    )
      continue;
    addAll(from, to, "&&", true);
  }
  for (const match of code.matchAll(/\bwhile (\()/g)) {
    const open = match.index + match[0].length - 1;
    const close = closing(code, open);
    if (operands(code, open + 1, close, "&&").length > 1) addAll(open + 1, close, "&&", true);
  }
  for (const match of code.matchAll(/\bfor (\()/g)) {
    const open = match.index + match[0].length - 1;
    const close = closing(code, open);
    const [, condition] = operands(code, open + 1, close, ";");
    if (condition === undefined || operands(code, ...condition, "&&").length === 1) continue;
    addAll(...condition, "&&", true);
  }
  return found.sort(([a], [b]) => a - b);
}

const notMutated = /simd-|loops|needle|answers\.h|\/process\/(process|heap)|digest\.h|socket\.cc/;

function withSwitches(text, checks, first) {
  let out = "";
  let at = 0;
  checks.forEach(([from, to, value], i) => {
    const code = text.slice(from, to).trim();
    const isSwitched = value
      ? `(bool(${code}) || trawlBound == ${first + i})`
      : `(bool(${code}) && trawlBound != ${first + i})`;
    out += `${text.slice(at, from)} ${isSwitched} `;
    at = to;
  });
  return out + text.slice(at);
}

/** Of the parts of `findBoundFaults`, those that a check can matter for. */
function partsOf(path) {
  if (/\/kernel\//.test(path)) return ["kernel"];
  if (/\/packs\//.test(path)) return ["packs", "system"];
  return ["kernel", "system", "packs"];
}

/** The tests of what is in a file, which also notice a check that concerns results rather than bounds. */
function testsOf(path) {
  if (path.includes("/packs/"))
    return ["unit/git/git-packs", "unit/git/git-hostile-packs", "unit/git/git-change-filter"];
  if (path.includes("/process/")) return ["daemon/daemon-truncation", "unit/git/git-packs"];
  for (const [part, name] of [
    [/posting|pages/, "postings"],
    [/document/, "documents"],
    [/digest/, "digest"],
    [/pattern|windows/, "patterns"],
    [/symbol/, "symbols"],
    [/scan|bytes/, "scan"],
  ])
    if (part.test(path)) return [`unit/native/kernel-${name}`];
  return ["unit/native/kernel-encode", "unit/native/kernel-scan"];
}

/** Those of the checks that the tests of their files do not notice either. */
async function untested(root, checks) {
  const missed = [];
  const queue = [...checks];
  const work = async () => {
    for (let check = queue.shift(); check !== undefined; check = queue.shift()) {
      let isGood = true;
      for (const test of testsOf(check.path))
        isGood &&= (await run(root, `test/${test}.test.js`, { TRAWL_BOUND: String(check.number) }, 300)).isGood;
      if (isGood) missed.push(check);
    }
  };
  await Promise.all(Array.from({ length: lanesMax }, work));
  return missed;
}

/** The part of the work that is done in a process of its own, which a missing check may end. Prints a line for each number. */
async function tryNumbers(root, numbers) {
  const { loadAddon } = await import(join(process.cwd(), root, "dist/src/native/addon.js"));
  const { findBoundFaults } = await import(join(process.cwd(), root, "dist/test/support/native-bounds.js"));
  // The other kernels are the same code with longer vectors.
  const { kernels, ...others } = loadAddon();
  const native = { ...others, kernels: { swar: kernels.swar } };
  Error.stackTraceLimit = 0;
  for (const { number, parts } of numbers) {
    writeSync(1, `${number} begins\n`);
    process.env.TRAWL_BOUND = String(number);
    const faults = findBoundFaults(native, parts);
    process.env.TRAWL_BOUND = "0";
    writeSync(1, `${number} ${faults.length === 0 ? "unnoticed" : "noticed"}\n`);
  }
}

/** Which of the checks nothing notices when it is off. A process that ends, or is silent for long, has noticed it. */
async function unnoticed(root, environment, checks) {
  const lanes = Array.from({ length: lanesMax }, (_, lane) => checks.filter((_, i) => i % lanesMax === lane));
  return (await Promise.all(lanes.map((lane) => unnoticedInTurn(root, environment, lane)))).flat();
}

async function unnoticedInTurn(root, environment, checks) {
  const missed = [];
  let left = checks;
  while (left.length > 0) {
    const [first] = left;
    const said = await new Promise((resolve) => {
      const child = spawn(process.execPath, [process.argv[1], "try", root, JSON.stringify(left)], {
        env: { ...process.env, ...environment, TRAWL_BOUND: "0" },
        stdio: ["ignore", "pipe", "ignore"],
      });
      let text = "";
      let timer = setTimeout(() => child.kill("SIGKILL"), 20 * silenceMs);
      child.stdout.on("data", (piece) => {
        text += piece;
        if (process.env.VERBOSE) process.stdout.write(piece);
        clearTimeout(timer);
        timer = setTimeout(() => child.kill("SIGKILL"), silenceMs);
      });
      child.on("close", () => {
        clearTimeout(timer);
        resolve(text);
      });
    });
    const words = said
      .trim()
      .split("\n")
      .map((line) => line.split(" "));
    for (const [number, outcome] of words) if (outcome === "unnoticed") missed.push(Number(number));
    const [number, outcome] = words.at(-1);
    if (outcome === undefined) throw new Error(`the addon in ${root} cannot be loaded`);
    const at = left.findIndex((check) => check.number === Number(number));
    // What ends the process may be what an earlier one has destroyed: it is tried again at the beginning of another.
    left = left.slice(outcome === "begins" && left[at] !== first ? at : at + 1);
  }
  return missed;
}

async function mutate(filter) {
  const all = [];
  const root = copyCheckout("mutants", (path, text) => {
    if (notMutated.test(path) || path.endsWith(".gyp")) return text;
    const checks = checksOf(text);
    const first = all.length + 1;
    for (const [from, to] of checks)
      all.push({
        number: all.length + 1,
        path,
        line: text.slice(0, from).split("\n").length,
        code: text.slice(from, to).replace(/\s+/g, " ").trim(),
        parts: partsOf(path),
      });
    const switched = withSwitches(text, checks, first);
    // The number is read again at each call from JavaScript.
    return path.endsWith("arguments.h")
      ? switched.replace("size_t count = countMax;", "trawlReadBound(); $&")
      : switched;
  });
  const header = join(process.cwd(), root, "bound.h");
  writeIfChanged(
    header,
    `#pragma once
#include <cstdlib>
inline int trawlBound = 0;
inline void trawlReadBound() { const char* text = getenv("TRAWL_BOUND"); trawlBound = text != nullptr ? atoi(text) : 0; }
`,
  );
  console.log(`${all.length} checks; compiling the kernel with switches`);
  buildAddon(root, `-include ${header} -w`, "");
  const chosen = all.filter(({ path, number }) => filter === "" || path.includes(filter) || String(number) === filter);
  const open = await unnoticed(root, {}, chosen);
  const isEquivalent = ({ path, code }) => equivalents.some(([file, text]) => path.endsWith(file) && text === code);
  const remaining = chosen.filter((check) => open.includes(check.number) && !isEquivalent(check));
  console.log(`${remaining.length} are not noticed by hostile values; running the tests of their files`);
  const rest = await untested(root, remaining);
  let missed = rest;
  if (rest.length > 0) {
    const asan = `${root}-asan`;
    rmSync(join(asan, "dist"), { recursive: true, force: true });
    copyTree(root, asan);
    console.log(`${rest.length} are not noticed without sanitizers; compiling with them`);
    buildAddon(asan, `-include ${header} -w ${sanitizers}`, "-fsanitize=address,undefined");
    const silent = await unnoticed(asan, sanitized(), rest);
    missed = rest.filter(({ number }) => silent.includes(number));
  }
  for (const check of rest)
    console.log(
      `${missed.includes(check) ? "MISSED " : "sanitizers only "} ${check.number} ${check.path}:${check.line}: ${check.code}`,
    );
  const same = open.length - remaining.length;
  console.log(
    `${chosen.length} checks: a test fails without ${chosen.length - same - rest.length}, sanitizers notice ${rest.length - missed.length} more, ${same} change nothing, ${missed.length} are missed`,
  );
  process.exitCode = missed.length === 0 ? 0 : 1;
}

const [, , kind, argument, more] = process.argv;
if (kind === "asan") await checkWithSanitizers(Number(argument || 180));
else if (kind === "try") await tryNumbers(argument, JSON.parse(more));
else await mutate(argument ?? "");
