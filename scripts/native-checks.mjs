/**
 * Builds of the native addon that find faults, each in a copy of the checkout below build/:
 *
 * `native-checks.mjs asan SECONDS` builds it with the address and undefined-behaviour sanitizers, runs the tests of native code
 * with it, and then its fuzz targets for that many seconds in total.
 *
 * `native-checks.mjs mutate [FILTER]` builds it with each check of a bound behind a switch, and calls `findBoundFaults` of
 * test/support/native-bounds.ts once for each check with this check switched off: one that goes unnoticed is printed. What the
 * ordinary build does not notice is tried with the sanitizers, and then with the tests of its file. FILTER is a part of a file name, or
 * a number, or several of them, separated by commas.
 */
import { execFileSync, spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { createInterface } from "node:readline";

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
  "unit/eval/ranking",
  "unit/regexp/automaton",
  "unit/git/git-packs",
  "unit/git/git-change-filter",
];

/** So many processes try checks at the same time: most of the time of one is that of its start after another has ended. */
const lanesMax = 2;

/** A process that takes so much processor time for one check is in an endless loop; with sanitizers, six times as much. */
const trialMsMax = 6000;

/** A process that has not answered after so many looks waits for something that never comes: five minutes. */
const lookMs = 250;
const looksMax = 1200;

/** Without a check, a process may allocate as much as a number says. */
const memoryKibMax = 4 << 20;

/**
 * Checks that change nothing when they are off, by the reason. Each is [the end of the path, a part of the line, the check]; without
 * the third, every check of the line.
 */
const equivalents = {
  "only the system can fail here, when it has no memory or no descriptors": [
    ["http/input-filter.cc", "mprotect(page, pageBytes, PROT_READ | PROT_WRITE)"],
    ["http/input-filter.cc", "!replace(library, entry, function.ours)"],
    ["kernel/postings-binding.cc", "return noTables(env)", "!builder.gather(text, units.data, unitCount)"],
    ["kernel/postings-binding.cc", "if (!made) return noTables"],
    ["kernel/postings.cc", "return hasLists && trigrams_.reserve(room)"],
    ["kernel/postings.cc", "marks == nullptr"],
    ["packs/inflate.h", "decompressor_ != nullptr", "decompressor_ != nullptr"],
    ["packs/inflate.h", "if (!begin(from)) return"],
    ["packs/inflate.h", "inflateReset(&stream_) != Z_OK"],
    ["pages.h", "mapped == MAP_FAILED"],
    ["process/file-guard.cc", "if (!replacePage("],
    ["process/file-guard.cc", "maps == nullptr"],
    ["process/process.cc", "getrlimit(resource, &now) != 0"],
    ["socket/socket.cc", "if (open == nullptr) return"],
    ["socket/socket.cc", "return found && all", "all"],
    ["socket/socket.cc", "if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF"],
    ["socket/socket.cc", "givenPort == 0 ||", "fcntl(given, F_SETFL, flags | O_NONBLOCK) != 0"],
    ["socket/socket.cc", "givenPort == 0 ||", "dup3(given, old, O_CLOEXEC) < 0"],
  ],
  "the system writes each line in this form": [["process/file-guard.cc", "< 3 || pathAt == 0"]],
  "the values are those of arrays that only the call itself has": [
    ["kernel/ranking.cc", "require(count != noRoom)"],
    ["kernel/ranking.cc", "require(outcome != Outcome::misuse)"],
  ],
  "it needs more memory than a test has": [
    ["kernel/ranking.cc", "std::min(readsMax * bytes, doubledBytesMax)"],
    ["kernel/ranking.cc", "cursor[3] <= workBytesMax("],
    ["kernel/ranking.cc", "rowWords_ <= 2 * rowsMax"],
    ["kernel/postings-binding.cc", "return noTables(env)", "builder.byteCount() > UINT32_MAX"],
    ["packs/inflate.h", "input_.length < inputBytesMax ?", "always input_.length < inputBytesMax"],
  ],
  "no name is so long": [["kernel/answers.h", "at + 1 < sizeof message", "at + 1 < sizeof message"]],
  "the loader of the system has prepared the tables, and the library has no other entries of these names": [
    ["http/input-filter.cc", "symbols < base || strings < base"],
    ["http/input-filter.cc", "tables[table] < base"],
    ["http/input-filter.cc", "type != jumpSlot && type != globalData"],
    ["http/input-filter.cc", "symbol.st_shndx != SHN_UNDEF"],
    ["http/input-filter.cc", "info->dlpi_name == nullptr ||", "info->dlpi_name == nullptr"],
  ],
  "what follows ends the loop, or is another byte: a line ends with CRLF, and a version follows a target": [
    ["http/request-filter.cc", "while (at < end && (isDigit(bytes[at])", "at < end"],
    ["http/request-filter.cc", "if (at == from + 1 || at == end", "at == end"],
    ["http/request-filter.cc", "targetEnd_ - from < scheme.size()", "targetEnd_ - from < scheme.size()"],
    ["http/request-filter.cc", "while (from < end && isSpace(bytes[from]))", "from < end"],
  ],
  "it only saves time": [
    ["arguments.h", "i <= StopFlags::countMax", "i < count"],
    ["bytes.h", "while (from < to && text.length - from", "from < to"],
    ["http/request-filter.cc", "if (searched_ < start_) searched_ = start_", "always searched_ < start_"],
    ["process/file-guard.cc", "while (size > largest &&", "!file.sizeMax.compare_exchange_weak(largest, size)"],
    ["kernel/automaton.cc", "if (left == 0 || pieces_.size() >= piecesMax) break"],
    ["kernel/automaton.cc", "while (active < chainCount && take(", "take(chains[active])"],
    ["kernel/automaton.cc", "if (chain.to - chain.at >= blockBytes) continue"],
    ["kernel/automaton.cc", "if (state[k] != match_) continue"],
    ["bytes.h", "while (from < to && to >= V::width)", "from < to"],
    ["kernel/chunk-matches.h", "i < row && !json.full", "!json.full"],
    ["kernel/elements.h", "label < job.labelCount && !json.full", "!json.full"],
    ["kernel/json-writer.h", "      while (from < to && !full)", "!full"],
    ["kernel/lines.h", "__builtin_prefetch(text.data + at)"],
    ["kernel/lines.h", "const size_t first = boundary < position"],
    ["kernel/needle.cc", "commonness[bytes[i]] < commonness[bytes[best]]"],
    ["kernel/needle.cc", "dependence(i < first"],
    ["kernel/needle.cc", "if (cost > bestCost) continue"],
    ["kernel/utf8.h", "back <= 3 &&", "back <= 3"],
    ["kernel/windows.h", "job.passed[i] - job.from < stride", "job.passed[i] - job.from < stride"],
    ["kernel/documents.cc", "i < job.contents.length && row < job.rowCount", "row < job.rowCount"],
    ["kernel/patterns.cc", "at > 0 && moves > 0", "moves > 0"],
    ["kernel/patterns.cc", "entry < job_.group.entries.length ?", "never entry < job_.group.entries.length"],
    ["kernel/posting-lists.cc", "std::min(next + step, contentCount + 1)", "without next + step"],
    ["kernel/postings.cc", "if (++round != 0) return"],
    ["kernel/postings.cc", "at + 2 < to && distinct <= limit", "distinct <= limit"],
    ["kernel/postings.cc", "while (isSparse && deltas.skipBelow", "isSparse"],
    ["kernel/postings.cc", "while (unit < units[i] && delta < 0x80)", "delta < 0x80"],
    ["kernel/ranking.cc", "if (more.empty()) return"],
    ["kernel/ranking.cc", "if (hasWorst_ && comesBefore(worst_, kept)) return"],
    ["kernel/ranking.cc", "sortedAt_ = documents_.size() + std::max"],
    ["kernel/ranking.cc", "if (work_ < workBetweenChecks) return"],
    ["kernel/ranking.cc", "if ((shard_.pathTrigrams[bit / 32]"],
    ["kernel/ranking.cc", "if (!mayBeInPaths("],
    ["kernel/ranking.cc", "return a->contents.size() < b->contents.size()"],
    ["kernel/ranking.cc", "at - first < countMax && bytes < blockBytesMax", "at - first < countMax"],
    ["kernel/ranking.cc", "at - first < countMax && bytes < blockBytesMax", "bytes < blockBytesMax"],
    ["kernel/ranking.cc", "if (isBound(maySymbol)) return"],
    ["kernel/ranking.cc", "document.placeCount == 0 && isBound(false)"],
    ["kernel/ranking.cc", "std::max(arenaWordsMin, 2 * arena_.size())"],
    ["kernel/symbol-records.h", "record.data[at] < 0x80 ?", "never at < record.length"],
    ["kernel/symbol-records.h", "record.data[at] < 0x80 ?", "never record.data[at] < 0x80"],
    ["kernel/symbol-results.h", "at < result.pathTo && !json.full", "!json.full"],
    [
      "kernel/symbol-results.h",
      "offset - result.textFrom > columnBytesMax ?",
      "never offset - result.textFrom > columnBytesMax",
    ],
    ["packs/change-filter.cc", "if (text.length == 0) return false"],
    [
      "packs/change-filter.cc",
      "if (patchBytes > filePatchBytesMax",
      "always patchBytes > filePatchBytesMax / (headerBytesPerLine + 1)",
    ],
    ["packs/packs.cc", "if (done < lookAt) continue"],
    ["packs/packs.cc", "if (!file.isOpen()) return"],
    ["packs/packs.cc", "if (cost > cachedBytesMax_ / 4) return"],
    ["packs/tree-diff.cc", "if (isSame || !isDirectory) continue", "isSame"],
    ["packs/loose-files.cc", "if (descriptor_ < 0) return"],
    ["packs/loose-files.cc", "if (!file.isOpen() ||", "!file.isOpen()"],
    ["packs/loose-files.h", "descriptor_ >= 0"],
    ["packs/pack-file.cc", "if (descriptor < 0) return"],
    ["packs/pack-file.cc", "if (data == nullptr) return"],
  ],
  "only how soon a call ends depends on it, because each object begins with a look at the flags": [
    ["packs/inflate.h", "if (stop.areSet()) return false"],
    ["packs/inflate.h", "length - done < stepBytes ?", "always length - done < stepBytes"],
    ["packs/packs.cc", "    if (stop.areSet()) return false"],
  ],
  "a zero byte follows the bytes of an object": [
    [
      "packs/change-filter.cc",
      "static_cast<size_t>(end - at) <= 2 * oidBytes",
      "static_cast<size_t>(end - at) <= 2 * oidBytes",
    ],
    ["packs/tree-diff.cc", "for (; at < tree->length && data[at] != ' '; at++)", "at < tree->length"],
  ],
  "a later check refuses it, too": [
    ["kernel/line-matches.h", "if (outcome == Outcome::misuse) return this->misused()"],
    ["kernel/ranking-binding.cc", "given.sound() && isSound(", "given.sound()"],
    ["kernel/ranking-binding.cc", "given_.sound(); i++)", "given_.sound()"],
    ["kernel/ranking.cc", "textEnd_ <= from && from <= to", "from <= to"],
    ["kernel/ranking.cc", "textEnd_ <= from && from <= to", "to <= shard_.content.length"],
    ["kernel/ranking.cc", "require(rangeFrom <= rangeTo)"],
    ["kernel/windows.h", "if (last + stride > job.until ||", "last + stride > job.until"],
    ["process/file-guard.cc", "realpath(path, real) == nullptr", "realpath(path, real) == nullptr"],
    ["kernel/symbols-binding.cc", "job.rowTo - job.rowFrom <= out.length", "job.rowFrom <= job.rowTo"],
    ["packs/inflate.h", "if (outcome != Z_OK && outcome != Z_BUF_ERROR)"],
    ["packs/inflate.h", "stream_.avail_out = static_cast<uInt>(step > 0", "always step > 0"],
    ["packs/loose-files.cc", "if (end == nullptr) return"],
    ["packs/loose-files.cc", "start[at] < '0'", "start[at] < '0'"],
    ["packs/packs.cc", "if (!pack.head("],
    ["packs/packs.cc", "head.base == 0", "head.base == 0"],
    ["packs/packs.cc", "if (head.size != size)"],
    ["packs/packs.cc", "if (!kindOf(position, &found) ||", "!kindOf(position, &found)"],
    ["packs/packs.cc", "if (!sizeOf(pack, head, &size)) return"],
    ["packs/tree-diff.cc", "if (end == nullptr) return"],
    ["kernel/postings-binding.cc", "to - from <= left", "from <= to"],
    ["kernel/symbol-results.h", "if (!walk.start(place)) return"],
    ["kernel/symbol-results.h", "while (!json.full && count < symbolsOfObjectMax", "!json.full"],
    ["kernel/symbol-results.h", "if (json.full) return;"],
    ["kernel/symbols.cc", "if (job.rowFrom == job.rowTo || !walk.start({})) return 0", "!walk.start({})"],
    ["process/process.cc", "if (file < 0) return"],
    ["socket/socket.cc", "SO_ACCEPTCONN", "getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) == 0"],
    ["socket/socket.cc", "if (getsockname(fd"],
    ["socket/socket.cc", "old == given ||", "old == given"],
    ["socket/socket.cc", "old == given ||", "flags < 0"],
    ["packs/pack-file.cc", "if (static_cast<size_t>(end - *at) < oidBytes_) return 0"],
    ["packs/pack-file.cc", "if (*at == end || back > end_) return 0", "*at == end"],
    // A chain of deltas that does not end, or a base outside the pack.
    ["packs/pack-file.cc", "return back > 0 && back < offset", "back > 0"],
    ["packs/pack-file.cc", "return back > 0 && back < offset", "back < offset"],
  ],
  "any unused place is as good": [["process/file-guard.cc", "unused = i", "always unused < 0"]],
  "the first descriptor is no connection": [["socket/socket.cc", "entry->d_name[0] == '.'"]],
  "a file or a process would have to change between two system calls": [
    ["process/process.cc", "getppid() != command.parent"],
    ["process/file-guard.cc", "stat(real, &status) != 0", "stat(real, &status) != 0"],
    ["packs/loose-files.cc", "!file.isOpen() || !file.read(start, length)", "!file.read(start, length)"],
    ["packs/loose-files.cc", "if (got <= 0) return false"],
    ["packs/packs.cc", "!file.read(packed->data, text.length)", "!file.read(packed->data, text.length)"],
  ],
};

const sanitizers =
  "-fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all -fno-omit-frame-pointer -O1";

/** Copies a checkout that `copyCheckout` has made. */
function copyTree(from, to) {
  mkdirSync(to, { recursive: true });
  for (const name of ["package.json", "dist", "src"]) {
    if (name === "src")
      for (const path of sourcesOf(join(from, name))) copyIfChanged(path, join(to, relative(from, path)));
    else execFileSync("cp", ["-a", join(from, name), to]);
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

/** A copy of the checkout with an addon of its own. */
function copyCheckout(name, change) {
  const root = join("build", name);
  mkdirSync(root, { recursive: true });
  cpSync("package.json", join(root, "package.json"));
  rmSync(join(root, "dist"), { recursive: true, force: true });
  execFileSync("cp", ["-a", "dist", join(root, "dist")]);
  // Some modules read data from the sources.
  for (const folder of readdirSync("src").filter((name) => name !== "native" && name !== "web")) {
    rmSync(join(root, "src", folder), { recursive: true, force: true });
    mkdirSync(join(root, "src"), { recursive: true });
    execFileSync("cp", ["-a", join("src", folder), join(root, "src", folder)]);
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
    ASAN_OPTIONS:
      "detect_leaks=0:allocator_may_return_null=1:handle_sigbus=0:max_allocation_size_mb=1024:abort_on_error=1:disable_coredump=1",
    UBSAN_OPTIONS: "print_stacktrace=1:abort_on_error=1",
    // Tests that limit the address space of a process, of which the sanitizers need much, or look at the allocator, which is theirs.
    TAP_GREP: "/out of memory|given back to the system/",
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
  const targets = [
    "pack",
    "pack-index",
    "pack-objects",
    "pack-real",
    "shard",
    "posting-list",
    "native-real",
    "ranking",
  ];
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
  /^(return\s*(false|0|noRoom|noContents|nullptr|SIZE_MAX|-1|\{\}|E[A-Z]+|\w+::(misuse|no|tooLarge|failed|tooMany|yes|unknown)|(this->)?misused\(\)|(misuse|damaged|noTables)\([^;]*\)|)|break|continue|full = true|sound = false|next = Mode::broken)\s*;/;

/** What changes a value, which is the first group. */
const assignment = /^([\w.]+)( ?[-+]?= |\+\+;)/;

/** What makes the functions and values of the addon fails only if the system has no memory. */
const registration = /\b(add[A-Z]\w*|napi_(create|set|add)_\w+)\(/;

/** Whether an order is asked for; templates, shifts and arrows only look like one. */
function compares(expression) {
  return /[<>]/.test(expression.replace(/<[\w:]+>|<<|>>|->/g, ""));
}

/** Where the condition begins whose question mark is at `end`. */
function conditionStart(code, end) {
  for (let at = end, depth = 0; ; at--) {
    if (")]}".includes(code[at - 1])) depth++;
    if ("([{".includes(code[at - 1]) && --depth < 0) return at;
    if (depth > 0 || "=:".includes(code[at])) continue;
    if (/([,;?]|\breturn|[^:]:|[^=!<>]=)$/.test(code.slice(at - 7, at))) return at;
  }
}

/**
 * Checks as [from, to, form, word]: ranges of the code, how it is switched, and what is said before the code where this does not follow
 * from the code alone.
 */
function checksOf(text) {
  const code = blanked(text);
  const found = [];
  const addAll = (from, to, operator, form) => {
    for (const [a, b] of operands(code, from, to, operator))
      if (!registration.test(code.slice(a, b))) found.push([a, b, form]);
  };
  const addBothWays = (from, to) => {
    for (const [a, b] of operands(code, from, to, "&&"))
      if (compares(code.slice(a, b))) found.push([a, b, "always", "always"], [a, b, "never", "never"]);
  };
  for (const match of code.matchAll(/\b(?:need|require)\(/g)) {
    const open = match.index + match[0].length - 1;
    if (code.slice(open, open + 6) === "(bool ") continue;
    addAll(open + 1, closing(code, open), "&&", "always");
  }
  for (const match of code.matchAll(/\bif (\()/g)) {
    const open = match.index + match[0].length - 1;
    const close = closing(code, open);
    const after = code
      .slice(close + 1, close + 200)
      .trimStart()
      .replace(/^\{\s*/, "");
    const condition = code.slice(open, close);
    if (/[^=!<>]=[^=]/.test(condition)) continue;
    const [, changed] = assignment.exec(after) ?? [];
    if (refusal.test(after)) addAll(open + 1, close, "||", "never");
    // Such as `if (a > b) a = b`.
    else if (changed !== undefined && condition.includes(changed)) addBothWays(open + 1, close);
  }
  for (const match of code.matchAll(/\breturn\b/g)) {
    const from = match.index + match[0].length;
    const to = code.indexOf(";", from);
    const [condition, ...outcomes] = operands(code, from, to, "?");
    if (outcomes.length === 1 && operands(code, ...condition, "&&").length > 1) {
      addAll(...condition, "&&", "always");
      continue;
    }
    const parts = operands(code, from, to, "&&");
    const expression = code.slice(from, to);
    if (
      /\?|\|\|/.test(expression) ||
      (parts.length === 1 && (!/[^<-]<[^<]|[^>-]>[^>]/.test(expression) || expression.includes(" + "))) ||
      /_cast<|<\w+>|["[{]/.test(expression)
    )
      continue;
    addAll(from, to, "&&", "always");
  }
  for (const match of code.matchAll(/\bwhile (\()/g)) {
    const open = match.index + match[0].length - 1;
    const close = closing(code, open);
    if (operands(code, open + 1, close, "&&").length > 1) addAll(open + 1, close, "&&", "always");
  }
  for (const match of code.matchAll(/\bfor (\()/g)) {
    const open = match.index + match[0].length - 1;
    const close = closing(code, open);
    const [, condition] = operands(code, open + 1, close, ";");
    if (condition === undefined || operands(code, ...condition, "&&").length === 1) continue;
    addAll(...condition, "&&", "always");
  }
  // A bound that is a minimum: each operand in turn limits nothing.
  for (const { index, 0: call, 1: name, 2: type } of code.matchAll(/\bstd::(min|max)(<\w+>)?\(/g)) {
    const open = index + call.length - 1;
    const form = `${name === "min" ? "trawlMost" : "trawlLeast"}${type ?? ""}`;
    for (const [a, b] of operands(code, open + 1, closing(code, open), ",")) found.push([a, b, form, "without"]);
  }
  // The same in the form `a < b ? a : b`, or an element if there is one.
  for (const { index } of code.matchAll(/\?/g)) addBothWays(conditionStart(code, index), index);
  const isFirst = ([from, , form], i) => i === found.findIndex((other) => other[0] === from && other[2] === form);
  return found.filter(isFirst).sort(([a], [b]) => a - b);
}

/** What precedes and follows the code of a check that is off if `trawlBound` is the number; other forms are functions in `header`. */
function switchOf(form, number) {
  if (form === "always") return ["(bool(", `) || trawlBound == ${number})`];
  if (form === "never") return ["(bool(", `) && trawlBound != ${number})`];
  return [`${form}(${number}, `, ")"];
}

/** A check may be within another. */
function withSwitches(text, checks, first) {
  const before = new Map();
  const after = new Map();
  for (const [i, [from, to, form]] of [...checks.entries()].sort(([, a], [, b]) => a[0] - b[0] || b[1] - a[1])) {
    const [start, end] = switchOf(form, first + i);
    before.set(from, `${before.get(from) ?? " "}${start}`);
    after.set(to, `${end}${after.get(to) ?? " "}`);
  }
  const places = [...new Set([...before.keys(), ...after.keys()])].sort((a, b) => a - b);
  const pieces = places.map((at, i) => (after.get(at) ?? "") + (before.get(at) ?? "") + text.slice(at, places[i + 1]));
  return text.slice(0, places[0]) + pieces.join("");
}

/** Of the parts of `findBoundFaults`, those that a check can matter for. */
function partsOf(path) {
  if (/\/kernel\//.test(path)) return ["kernel"];
  if (/\/(process|socket)\//.test(path)) return ["system"];
  if (/\/packs\//.test(path)) return ["packs", "system"];
  if (/\/http\//.test(path)) return ["http", "system"];
  return ["kernel", "system", "packs", "http"];
}

/** The tests of what is in a file, which also notice a check that concerns results rather than bounds. */
function testsOf(path) {
  if (path.includes("/packs/"))
    return ["unit/git/git-packs", "unit/git/git-hostile-packs", "unit/git/git-change-filter"];
  if (path.includes("/http/")) return ["unit/native/kernel-socket", "unit/http/http-server"];
  if (path.includes("/process/process")) return ["unit/native/kernel-process"];
  if (path.includes("/process/")) return ["daemon/daemon-truncation", "unit/git/git-packs"];
  if (path.includes("/automaton")) return ["unit/regexp/automaton"];
  if (/\/(ranking|score|file-weight)/.test(path)) return ["unit/eval/ranking"];
  if (path.includes("/socket/")) return ["unit/native/kernel-socket", "unit/native/kernel-datagram"];
  for (const [part, name] of [
    [/posting|pages/, "postings"],
    [/document/, "documents"],
    [/digest/, "digest"],
    [/pattern|windows/, "patterns"],
    [/symbol/, "symbols"],
    [/scan|bytes|needle/, "scan"],
  ])
    if (part.test(path)) return [`unit/native/kernel-${name}`];
  return ["unit/native/kernel-encode", "unit/native/kernel-scan"];
}

/** The tests of other kernels test the same code with longer vectors, or none of it. */
const oneKernel = { TAP_GREP: "/^(native swar: |(?!native|ts: ))/" };

/** Those of the checks that the tests of their files do not notice either. */
async function untested(root, checks) {
  const missed = [];
  const queue = [...checks];
  const work = async () => {
    for (let check = queue.shift(); check !== undefined; check = queue.shift()) {
      let isGood = true;
      for (const test of testsOf(check.path))
        isGood &&= (await run(root, `test/${test}.test.js`, { TRAWL_BOUND: String(check.number), ...oneKernel }, 120))
          .isGood;
      if (isGood) missed.push(check);
    }
  };
  await Promise.all(Array.from({ length: lanesMax }, work));
  return missed;
}

/** The part of the work that is done in a process of its own, which a missing check may end. Answers each line of the input. */
async function tryNumbers(root) {
  const { loadAddon } = await import(join(process.cwd(), root, "dist/src/native/kernel/addon.js"));
  const { findBoundFaults } = await import(join(process.cwd(), root, "dist/test/support/native-bounds.js"));
  const native = loadAddon();
  Error.stackTraceLimit = 0;
  for await (const line of createInterface({ input: process.stdin })) {
    const { number, parts } = JSON.parse(line);
    process.env.TRAWL_BOUND = String(number);
    const [fault] = findBoundFaults(native, parts, 1);
    process.env.TRAWL_BOUND = "0";
    writeSync(1, `${JSON.stringify({ number, fault })}\n`);
  }
}

/** Which of the checks nothing notices when it is off. A process that ends, or takes long, has noticed it. */
async function unnoticed(root, environment, checks) {
  const queue = [...checks];
  const missed = new Set();
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next ??= queue.shift())
      next = await tryInOneProcess(root, environment, next, queue, missed);
  };
  await Promise.all(Array.from({ length: lanesMax }, work));
  return checks.filter(({ number }) => missed.has(number));
}

/** Nothing may be wrong while all checks are on. */
async function mustBeSound(root, environment) {
  const [sound] = await unnoticed(root, environment, [{ number: 0, parts: partsOf("") }]);
  if (sound === undefined) throw new Error(`the addon in ${root} does not work`);
}

/**
 * Tries the check, and then those of the queue until the process ends. Resolves with the last one if it must be tried again at
 * the beginning of another process: what ends this one may be what an earlier one has destroyed.
 */
function tryInOneProcess(root, environment, first, queue, missed) {
  const isSanitized = environment.LD_PRELOAD !== undefined;
  const command = `ulimit -v ${isSanitized ? "unlimited" : memoryKibMax}; exec "$@"`;
  const child = spawn("sh", ["-c", command, "sh", process.execPath, process.argv[1], "try", root], {
    env: { ...process.env, ...environment, TRAWL_BOUND: "0" },
    stdio: ["pipe", "pipe", "ignore"],
  });
  child.stdin.on("error", () => {});
  const msMax = isSanitized ? 6 * trialMsMax : trialMsMax;
  let current = first;
  let count = 0;
  let usedMs = 0;
  let looks = 0;
  const send = () => child.stdin.write(`${JSON.stringify({ number: current.number, parts: current.parts })}\n`);
  const timer = setInterval(() => {
    if (++looks > looksMax || processorMs(child.pid) - usedMs > msMax) child.kill("SIGKILL");
  }, lookMs);
  createInterface({ input: child.stdout }).on("line", (line) => {
    const { number, fault } = JSON.parse(line);
    if (number === 0 && fault !== undefined) throw new Error(`with all checks: ${fault}`);
    if (process.env.VERBOSE) console.log(`${number} ${fault ?? "unnoticed"}`);
    if (fault === undefined) missed.add(number);
    count++;
    usedMs = processorMs(child.pid);
    looks = 0;
    current = queue.shift();
    if (current === undefined) child.stdin.end();
    else send();
  });
  send();
  return new Promise((resolve) => {
    child.on("close", () => {
      clearInterval(timer);
      if (process.env.VERBOSE && current !== undefined) console.log(`${current.number} ended the process ${count}`);
      resolve(count > 0 ? current : undefined);
    });
  });
}

/** The processor time of a process. */
function processorMs(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
    return 10 * (Number(fields[11]) + Number(fields[12]));
  } catch {
    return 0;
  }
}

async function mutate(filter) {
  const all = [];
  let fileCount = 0;
  const root = copyCheckout("mutants", (path, text) => {
    // Those for AVX-512 are the same code with longer vectors.
    if (path.endsWith("/loops-avx512.cc")) return text.replaceAll("#if defined(__x86_64__)", "#if 0");
    if (path.endsWith(".gyp")) return text;
    const checks = checksOf(text);
    // A check that comes or goes does not change the other files.
    const first = 1000 * ++fileCount;
    for (const [i, [from, to, , word]] of checks.entries())
      all.push({
        number: first + i,
        path,
        line: text.slice(0, from).split("\n").length,
        source: text.slice(text.lastIndexOf("\n", from) + 1, text.indexOf("\n", from)),
        code: `${word ?? ""} ${text.slice(from, to)}`.replace(/\s+/g, " ").trim(),
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
#include <limits>
inline int trawlBound = 0;
template <class T> T trawlMost(int number, T value) { return trawlBound == number ? std::numeric_limits<T>::max() : value; }
template <class T> T trawlLeast(int number, T value) { return trawlBound == number ? std::numeric_limits<T>::lowest() : value; }
inline void trawlReadBound() { const char* text = getenv("TRAWL_BOUND"); trawlBound = text != nullptr ? atoi(text) : 0; }
`,
  );
  const wanted = filter.split(",");
  const chosen = all.filter(({ path, number }) =>
    wanted.some((part) => path.includes(part) || part === String(number)),
  );
  // A process that is ended leaves its files there.
  process.env.TMPDIR = mkdtempSync(join(tmpdir(), "trawl-mutants-"));
  process.on("exit", () => rmSync(process.env.TMPDIR, { recursive: true, force: true }));
  const isEquivalent = ({ path, source, code }) =>
    Object.values(equivalents)
      .flat()
      .some(([file, part, check]) => path.endsWith(file) && source.includes(part) && (check ?? code) === code);
  const judged = chosen.filter((check) => !isEquivalent(check));
  const stale = Object.values(equivalents)
    .flat()
    .filter(
      ([file, part, check]) =>
        !all.some(({ path, source, code }) => path.endsWith(file) && source.includes(part) && (check ?? code) === code),
    );
  if (stale.length > 0) throw new Error(`no check is meant by ${JSON.stringify(stale)}, of those that change nothing`);
  console.log(`${all.length} checks; compiling the kernel with switches`);
  buildAddon(root, `-include ${header} -w -O1`, "");
  await mustBeSound(root, {});
  let open = await unnoticed(root, {}, judged);
  const byValues = judged.length - open.length;
  console.log(`${open.length} are not noticed by hostile values; compiling with sanitizers`);
  if (open.length > 0) {
    const asan = `${root}-asan`;
    rmSync(join(asan, "dist"), { recursive: true, force: true });
    copyTree(root, asan);
    buildAddon(asan, `-include ${header} -w ${sanitizers}`, "-fsanitize=address,undefined");
    await mustBeSound(asan, sanitized());
    open = await unnoticed(asan, sanitized(), open);
  }
  const bySanitizers = judged.length - byValues - open.length;
  console.log(`${open.length} are not noticed by sanitizers either; running the tests of their files`);
  const missed = process.env.VALUES_ONLY ? open : await untested(root, open);
  for (const check of missed) console.log(`MISSED ${check.number} ${check.path}:${check.line}: ${check.code}`);
  console.log(
    `${chosen.length} checks: hostile values notice ${byValues}, with sanitizers ${bySanitizers} more, other tests ${open.length - missed.length} more; ` +
      `${chosen.length - judged.length} change nothing, ${missed.length} are missed`,
  );
  process.exitCode = missed.length === 0 ? 0 : 1;
}

const [, , kind, argument] = process.argv;
if (kind === "asan") await checkWithSanitizers(Number(argument || 180));
else if (kind === "try") await tryNumbers(argument);
else await mutate(argument ?? "");
