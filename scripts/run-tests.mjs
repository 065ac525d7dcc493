// Runs compiled test files, each in a process of its own and several at once, and prints each failed assertion on a line of
// its own, then the totals: `N passed, N failed`.
//
//   node scripts/run-tests.mjs [FILE...]        all files below dist/test without arguments
//
// `JOBS=N` sets how many run at once. The output of all files is in .tap/out.tap, the totals are in .tap/summary too. The
// files are plain programs that print TAP. The runner of tap itself is not used: it loads hooks for modules into each test and
// into each process and thread that a test starts, which doubles the processor time of the daemons, and it runs the files
// in alphabetical order.
import { spawn } from "node:child_process";
import { appendFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";

const namedMax = 20;
const detailLinesMax = 60;
const outputBytesMax = 32 * 1024 * 1024;
/** A file's tests report a timeout themselves after this time; a file that does not is killed a little later. */
const timeoutSeconds = 900;
const graceSeconds = 60;
/** Folders with files that take long. They are started first, so that no long file runs alone at the end. */
const slowFolders = ["faults", "daemon", "attack", "web", "cases", "house"];
/** One more than there are processors, because most files wait for something during part of their time. */
const jobs = Number(process.env.JOBS) || availableParallelism() + 1;

const running = new Set();
const folder = ".tap";
const outputFile = join(folder, "out.tap");
const results = [];

mkdirSync(folder, { recursive: true });
writeFileSync(outputFile, "TAP version 14\n");
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => stop(signal));
const waiting = (process.argv.length > 2 ? process.argv.slice(2) : allFiles()).sort(byRank);
const total = waiting.length;
await Promise.all(Array.from({ length: jobs }, runFiles));
report();

async function runFiles() {
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
    const result = await run(file);
    results.push(result);
    record(result);
  }
}

function allFiles() {
  return readdirSync("dist/test", { recursive: true })
    .filter((path) => path.endsWith(".test.js"))
    .map((path) => join("dist/test", path));
}

function byRank(a, b) {
  return rankOf(a) - rankOf(b) || (a < b ? -1 : 1);
}

function rankOf(file) {
  const rank = slowFolders.indexOf(file.split("/")[2]);
  return rank < 0 ? slowFolders.length : rank;
}

/** Runs one file. Resolves with its lines of TAP, how many assertions passed and failed, and how long it took. */
function run(file) {
  const startedMs = performance.now();
  const chunks = [];
  let bytes = 0;
  const child = spawn(process.execPath, ["--enable-source-maps", file], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, TAP_TIMEOUT: String(timeoutSeconds) },
  });
  running.add(child);
  const timer = setTimeout(() => child.kill("SIGKILL"), (timeoutSeconds + graceSeconds) * 1000);
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      bytes += chunk.length;
      if (bytes <= outputBytesMax) chunks.push(chunk);
    });
  return new Promise((resolve) => {
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      running.delete(child);
      const lines = Buffer.concat(chunks).toString().split("\n");
      const end = signal ?? (code === 0 ? undefined : `exit code ${code}`);
      resolve({ file, lines, end, ms: performance.now() - startedMs, ...countsOf(lines, end) });
    });
  });
}

/** A file that failed without a failed assertion, because it crashed or was killed, counts as one failure. */
function countsOf(lines, end) {
  const text = lines.filter((line) => /^# \{ total: .*\}$/.test(line)).at(-1);
  const counts = Object.fromEntries(
    Array.from((text ?? "").matchAll(/(\w+): (\d+)/g), ([, key, n]) => [key, Number(n)]),
  );
  const named = failures(lines);
  const { pass = 0, fail = 0, skip = 0, todo = 0 } = counts;
  if (fail === 0 && (end !== undefined || text === undefined)) {
    const crash = { name: `${end ?? "no output"}: it crashed or did not start`, details: lines.slice(-detailLinesMax) };
    return { pass, fail: 1, skip, todo, named: [...named, crash] };
  }
  return { pass, fail, skip, todo, named };
}

/** Adds the output to that of the other files; what a failed file said about its failures is printed too. */
function record({ file, lines, fail, named, ms }) {
  const isTerminal = process.stdout.isTTY;
  const point = `${fail === 0 ? "ok" : "not ok"} ${results.length} - ${file} # time=${ms.toFixed(0)}ms`;
  appendFileSync(outputFile, [`# Subtest: ${file}`, ...lines.map((line) => `    ${line}`), point, ""].join("\n"));
  if (isTerminal) process.stdout.write(`\r\x1b[K${results.length}/${total} ${file}`);
  if (fail > 0) {
    const details = named.map(({ details }) => details.join("\n")).join("\n");
    process.stdout.write(`${isTerminal ? "\r\x1b[K" : ""}${point}\n${details}\n`);
  }
}

function report() {
  if (process.stdout.isTTY) process.stdout.write("\r\x1b[K");
  const sum = (field) => results.reduce((all, result) => all + result[field], 0);
  const named = results.flatMap(({ file, named }) => named.map(({ name }) => `${file} > ${name}`));
  for (const name of named.slice(0, namedMax)) console.log(`failed: ${name.slice(0, 300)}`);
  if (named.length > namedMax) console.log(`and ${named.length - namedMax} more in ${outputFile}`);
  for (const kind of ["skip", "todo"]) if (sum(kind) > 0) console.log(`${sum(kind)} marked ${kind}`);
  const totals = `${sum("pass")} passed, ${sum("fail")} failed`;
  appendFileSync(outputFile, `1..${results.length}\n`);
  writeFileSync(join(folder, "summary"), `${totals}\n`);
  console.log(totals);
  process.exitCode = sum("fail") === 0 && results.length > 0 ? 0 : 1;
}

/**
 * The failed assertions, each with the path of its subtests and its diagnostics; excludes the subtests that failed because
 * of them.
 */
function failures(lines) {
  const open = [];
  const found = [];
  let deepest = -1;
  for (const [i, line] of lines.entries()) {
    const [, indent, rest] = /^( *)(.*)$/.exec(line);
    const depth = indent.length / 4;
    const subtest = /^# Subtest: (.*)$/.exec(rest)?.[1];
    const point = /^not ok \d+(?: - (.*?))?(?: # (time=|TODO|SKIP).*)?$/.exec(rest);
    if (subtest !== undefined) open[depth] = subtest;
    if (point === null || /# (TODO|SKIP)/i.test(rest)) continue;
    if (depth >= deepest) {
      const name = [...open.slice(0, depth), point[1] ?? "an unnamed assertion"].join(" > ");
      const end = lines.slice(i, i + detailLinesMax).findIndex((text) => /^ *\.\.\.$/.test(text));
      found.push({ name, details: lines.slice(i, i + Math.max(end, 0) + 1) });
    }
    deepest = depth;
  }
  return found;
}

function stop(signal) {
  waiting.length = 0;
  for (const child of running) child.kill(signal);
  process.exitCode = 1;
}
