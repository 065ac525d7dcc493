// Runs compiled test files as subtests of one tap program, each in a process of its own and several at once, and prints TAP.
//
//   node scripts/run-tests.mjs [FILE...]        without arguments all files below dist/test except those of `make faults`
//
// `JOBS=N` sets how many run at once. tap's own command only shows the results, for two reasons. It passes its module hooks
// in NODE_OPTIONS to each process that a test starts, which doubles the processor time of daemons; here, NODE_OPTIONS is
// removed. And it runs the files in alphabetical order.
//
// The processor time of each file, with that of the processes it has started, is written to .tap/times.json. Files that
// took longest start first in the next run, so that none of them runs alone at the end; test/times.json is what a fresh
// checkout starts with. A file that exceeds its budget of processor time fails: a slow test belongs to `make faults`, or
// needs smaller counts here.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, join } from "node:path";
import t from "tap";

const timeoutSeconds = 900;

/** Three times what the slowest file takes on an idle machine: processors that share a core or a cache are slower. */
const budgetSeconds = 300;

/** By its URL, since processes that a test forks elsewhere load it too. */
const timer = new URL("test-time.mjs", import.meta.url).href;

const timesFolder = ".tap/times";
const measuredFile = ".tap/times.json";
const shippedFile = "test/times.json";

// A file that is named twice would run beside itself, with the same fixtures.
const files = process.argv.length > 2 ? [...new Set(process.argv.slice(2))] : findFiles();
const times = { ...readTimes(shippedFile), ...readTimes(measuredFile) };
rmSync(timesFolder, { recursive: true, force: true });
mkdirSync(timesFolder, { recursive: true });

// Each file has its own limit.
t.setTimeout(0);
// One more than there are processors, because most files wait for something during part of their time.
t.jobs = Number(process.env.JOBS) || availableParallelism() + 1;
const runs = files.sort(byTime).map((file) =>
  t.spawn("env", ["-u", "NODE_OPTIONS", process.execPath, "--enable-source-maps", "--import", timer, file], {
    name: file,
    buffered: true,
    timeout: timeoutSeconds * 1000,
    env: { ...process.env, TAP_TIMEOUT: String(timeoutSeconds), TEST_TIMES: timesFolder },
    // Otherwise the report of a failed file would show the source of this call.
    at: null,
    stack: "",
  }),
);
await Promise.all(runs);
const measured = Object.fromEntries(
  readdirSync(timesFolder).map((name) => [name, Number(readFileSync(join(timesFolder, name), "utf8"))]),
);
writeFileSync(measuredFile, `${JSON.stringify({ ...times, ...measured }, undefined, 1)}\n`);
t.test("each file stays within its budget of processor time", async (t) => {
  for (const [name, seconds] of Object.entries(measured))
    if (seconds > budgetSeconds) t.fail(`${name} took ${seconds} s on a processor, more than ${budgetSeconds}`);
  t.pass("all files");
});

/**
 * The tests in faults/ verify what only time and bad luck break, but for three that have named cases. One case of each
 * kind is here in any event: kills in daemon-crash, damage in daemon-damage, power loss in catalog-power-loss.
 */
function findFiles() {
  const isHere = (path) => !path.startsWith("faults/") || /\/(faults-page|fault-layer|fault-disk)\./.test(path);
  return readdirSync("dist/test", { recursive: true })
    .filter((path) => path.endsWith(".test.js") && isHere(path))
    .map((path) => join("dist/test", path));
}

/** Files without a known time come first. */
function byTime(a, b) {
  return timeOf(b) - timeOf(a) || (a < b ? -1 : 1);
}

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
