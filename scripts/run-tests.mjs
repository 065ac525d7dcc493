// Runs compiled test files as subtests of one tap program, each in a process of its own and several at once, and prints TAP.
//
//   node scripts/run-tests.mjs [FILE...]        all files below dist/test without arguments
//
// `JOBS=N` sets how many run at once. tap's own command only shows the results, for two reasons. It passes its module hooks
// in NODE_OPTIONS to each process that a test starts, which doubles the processor time of daemons; here, NODE_OPTIONS is
// removed. And it runs the files in alphabetical order.
import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import t from "tap";

const timeoutSeconds = 900;

/** Folders with files that take long. They are started first, so that no long file runs alone at the end. */
const slowFolders = ["faults", "daemon", "attack", "web", "cases", "house"];

// A file that is named twice would run beside itself, with the same fixtures.
const files = process.argv.length > 2 ? [...new Set(process.argv.slice(2))] : findFiles();

// Each file has its own limit.
t.setTimeout(0);
// One more than there are processors, because most files wait for something during part of their time.
t.jobs = Number(process.env.JOBS) || availableParallelism() + 1;
for (const file of files.sort(byRank))
  void t.spawn("env", ["-u", "NODE_OPTIONS", process.execPath, "--enable-source-maps", file], {
    name: file,
    buffered: true,
    timeout: timeoutSeconds * 1000,
    env: { ...process.env, TAP_TIMEOUT: String(timeoutSeconds) },
    // Otherwise the report of a failed file would show the source of this call.
    at: null,
    stack: "",
  });

function findFiles() {
  return readdirSync("dist/test", { recursive: true })
    .filter((path) => path.endsWith(".test.js"))
    .map((path) => join("dist/test", path));
}

function byRank(a, b) {
  return rank(a) - rank(b) || (a < b ? -1 : 1);
}

function rank(file) {
  const at = slowFolders.indexOf(file.split("/")[2]);
  return at < 0 ? slowFolders.length : at;
}
