// Runs compiled test files as subtests of one tap program, several processes at once, and prints TAP.
//
//   node scripts/run-tests.mjs [FILE...]        without arguments all files below dist/test except those of `make faults`
//   node scripts/run-tests.mjs --fast           only those of dist/test/unit that start no daemon and take a few seconds
//
// Files share a process (test-folder.mjs) as long as they take a few seconds together, since loading tap and the modules under
// test takes longer than most of them; those of a folder that share a daemon (test/support/shared.ts) always do. A file that starts
// threads, changes what the others find, or measures the memory of its process has one of its own. `JOBS=N` sets how many
// processes run at once. tap's own command only shows the results, for two reasons. It passes its module hooks in NODE_OPTIONS to
// each process that a test starts, which doubles the processor time of daemons; here, NODE_OPTIONS is removed. And it runs the
// files in alphabetical order. A failure names the line of the compiled test: reading source maps takes a tenth of a second in
// each process, and more in those with many assertions.
//
// The processor time of each file, with that of the processes it has started, is written to .tap/times.json. What took
// longest starts first in the next run, so that it does not run alone at the end; test/times.json is what a fresh
// checkout starts with. A file that exceeds its budget of processor time fails: a slow test belongs to `make faults`, or
// needs smaller counts here.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
  existsSync,
} from "node:fs";
import { availableParallelism } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";

const timeoutSeconds = 900;

/** Of the time in test/times.json, as the machine is at this time: Node 24 is slower than Node 20, in some more than in others. */
const budgetFactor = 3;
const budgetSecondsMin = 20;

/** So many files tell how fast the machine is. */
const paceFilesMin = 100;

/** What takes longer is not run by `make test-fast`. */
const fastSecondsMax = 3;

/** Files that share a process take about this long together. */
const sharedSecondsMax = 40;

/** By its URL, since processes that a test forks elsewhere load it too. */
const timer = new URL("test-time.mjs", import.meta.url).href;
const errors = new URL("test-errors.mjs", import.meta.url).href;

const timesFolder = ".tap/times";
const measuredFile = ".tap/times.json";
const shippedFile = "test/times.json";

/** Where temporary folders are in memory, if the system has it, and how much must be free there and in memory. */
const memoryFolder = "/dev/shm";
const memoryBytesMin = 4 * 2 ** 30;

const [first] = process.argv.slice(2);
const isFast = first === "--fast";
const shipped = readTimes(shippedFile);
// A file that is named twice would run beside itself, with the same fixtures.
const files = first === undefined || isFast ? findFiles() : [...new Set(process.argv.slice(2))];
const times = { ...shipped, ...readTimes(measuredFile) };
rmSync(timesFolder, { recursive: true, force: true });
mkdirSync(timesFolder, { recursive: true });

// Each file has its own limit.
t.setTimeout(0);
// More than there are processors, because most files wait for something during part of their time: six processes left a twentieth
// of the time of two processors unused.
t.jobs = Number(process.env.JOBS) || availableParallelism() + 4;
const temporary = temporaryFolder();
const folderRunner = fileURLToPath(new URL("test-folder.mjs", import.meta.url));
const runs = groupFiles(files).map(({ name, files: those }) => {
  const program = those.length === 1 ? those[0] : folderRunner;
  return t.spawn("env", ["-u", "NODE_OPTIONS", process.execPath, "--import", timer, "--import", errors, program], {
    name,
    buffered: true,
    timeout: timeoutSeconds * 1000 * those.length,
    env: {
      ...process.env,
      ...temporary,
      // That of the whole process, too.
      TAP_TIMEOUT: String(timeoutSeconds * those.length),
      TEST_TIMES: timesFolder,
      TEST_FILES: those.join(" "),
    },
    // Otherwise the report of a failed file would show the source of this call.
    at: null,
    stack: "",
  });
});
await Promise.all(runs);
const measured = Object.fromEntries(
  readdirSync(timesFolder).map((name) => [name, Number(readFileSync(join(timesFolder, name), "utf8"))]),
);
writeFileSync(measuredFile, `${JSON.stringify({ ...times, ...measured }, undefined, 1)}\n`);
t.test("each file stays within its budget of processor time", async (t) => {
  const pace = findPace();
  for (const [name, seconds] of Object.entries(measured)) {
    const budgetSeconds = Math.max(budgetSecondsMin, budgetFactor * pace * (shipped[name] ?? 0));
    if (seconds > budgetSeconds)
      t.fail(`${name} took ${seconds} s on a processor, more than ${Math.round(budgetSeconds)}: see test/times.json`);
  }
  t.pass("all files");
});

/**
 * How much more processor time all files need than in test/times.json, at least 1: beside a load, where processors share a core or a
 * cache, half as much again was seen, and a file that exceeds its budget only with all the others says nothing about itself.
 */
function findPace() {
  const known = Object.keys(measured).filter((name) => shipped[name] !== undefined);
  if (known.length < paceFilesMin) return 1;
  const sum = (those) => known.reduce((all, name) => all + those[name], 0);
  return Math.max(1, sum(measured) / sum(shipped));
}

/**
 * TMPDIR for the tests, unless it is set: a folder in memory, where writing, syncing and deleting the thousands of repositories and
 * stores of daemons takes a tenth less processor time of the whole run than on a disk, and waits for nothing. It is removed at the
 * end. Empty where memory is short, or nothing may be executed there. `make faults` uses the disk.
 */
function temporaryFolder() {
  if (process.env.TMPDIR !== undefined) return {};
  let folder;
  try {
    const { bavail, bsize } = statfsSync(memoryFolder);
    const [, availableKib] = /^MemAvailable: *(\d+)/m.exec(readFileSync("/proc/meminfo", "latin1"));
    if (Math.min(bavail * bsize, availableKib * 1024) < memoryBytesMin) return {};
    folder = mkdtempSync(join(memoryFolder, "trawl-"));
    // As /tmp: some daemons run as another user.
    chmodSync(folder, 0o1777);
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    const script = join(folder, "true");
    writeFileSync(script, "#!/bin/sh\n", { mode: 0o700 });
    execFileSync(script);
    return { TMPDIR: folder };
  } catch {
    return {};
  }
}

/**
 * The tests in faults/ verify what only time and bad luck break, but for three that have named cases. One case of each
 * kind is here in any event: kills in daemon-crash, damage in daemon-damage, power loss in catalog-power-loss.
 */
function findFiles() {
  const isHere = (path) => !path.startsWith("faults/") || /\/(faults-page|fault-layer|fault-disk)\./.test(path);
  return readdirSync("dist/test", { recursive: true })
    .filter((path) => path.endsWith(".test.js") && isHere(path) && (!isFast || path.startsWith("unit/")))
    .map((path) => join("dist/test", path))
    .filter(
      (path) =>
        !isFast ||
        (["pure", "measuring"].includes(kindOf(path)) && !(shipped[basename(path, ".test.js")] > fastSecondsMax)),
    );
}

/** What each process runs: one file, or several of one kind. Those that take longest come first. */
function groupFiles(files) {
  // What stays together: all files of a folder that share a daemon, and otherwise each file.
  const units = new Map();
  for (const file of [...files].sort()) {
    const kind = kindOf(file);
    const key = kind === "sharing" ? `${kind} ${dirname(file)}` : file;
    if (!units.has(key)) units.set(key, { kind, files: [] });
    units.get(key).files.push(file);
  }
  const programs = [];
  const open = new Map();
  for (const unit of units.values()) {
    const seconds = unit.files.reduce((sum, file) => sum + timeOf(file), 0);
    const key = ["alone", "measuring"].includes(unit.kind) ? unit.files[0] : `${unit.kind} ${topFolder(unit.files[0])}`;
    let program = open.get(key);
    if (program === undefined || program.seconds + seconds > sharedSecondsMax) {
      program = { files: [], seconds: 0 };
      programs.push(program);
      open.set(key, program);
    }
    program.files.push(...unit.files);
    program.seconds += seconds;
  }
  return programs.sort((a, b) => b.seconds - a.seconds).map(({ files }) => ({ files, name: nameFiles(files) }));
}

/** Such as `dist/test/unit`. */
function topFolder(file) {
  return file.split("/").slice(0, 3).join("/");
}

function nameFiles(files) {
  if (files.length === 1) return files[0];
  const isOneFolder = new Set(files.map((file) => dirname(file))).size === 1;
  return `${files.length} files of ${isOneFolder ? dirname(files[0]) : topFolder(files[0])}`;
}

/**
 * How the file may share a process: "sharing" if it, or a module of the tests that it imports, uses shared fixtures
 * (support/shared.ts); "alone" if it starts threads, or changes which program is started; "starting" if one of them starts
 * processes other than git; "measuring" if it measures the memory of its process, in which others leave some of theirs;
 * otherwise "pure".
 */
function kindOf(file) {
  const seen = new Set();
  let kind = "pure";
  const read = (path) => {
    if (seen.has(path)) return;
    seen.add(path);
    if (/\/support\/(shared-daemon|browser)\.js$/.test(path)) kind = "sharing";
    const text = readFileSync(path, "utf8");
    const imported = [...text.matchAll(/(?:from|import\() ?"([^"]+)"/g)].map(([, name]) => name);
    const isStarting =
      (path === file && imported.includes("node:child_process")) ||
      /\/support\/(daemon|fault-layer|store-process|client-process|notify-socket|runner)\.js$/.test(path);
    if (isStarting && kind === "pure") kind = "starting";
    if (path === file && (imported.includes("node:worker_threads") || text.includes('env["TRAWL_BUNDLE"]')))
      kind = "alone";
    if (path === file && kind === "pure" && text.includes("memoryUsage(")) kind = "measuring";
    for (const name of imported.filter((name) => name.startsWith("."))) {
      const module = join(dirname(path), name);
      // A test may have imports in its texts.
      if (module.startsWith("dist/test/") && existsSync(module)) read(module);
    }
  };
  read(file);
  return kind;
}

/** Files without a known time come first. */
function timeOf(file) {
  return times[basename(file, ".test.js")] ?? Infinity;
}

function readTimes(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return {};
  }
}
