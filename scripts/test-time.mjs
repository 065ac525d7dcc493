// The processor time of test files. Loaded into the process of a test file by run-tests.mjs: at its end, writes the
// processor time of the process and of those it has waited for, in seconds, to a file of the folder TEST_TIMES.
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { isMainThread } from "node:worker_threads";

const ticksPerSecond = 100;
const { TEST_TIMES: folder } = process.env;
// Daemons that the test forks, and threads, load this too.
if (folder !== undefined && isMainThread && process.argv[1]?.endsWith(".test.js"))
  process.on("exit", () => writeTime(process.argv[1], processorSeconds()));

/** Of this process and those it has waited for. */
export function processorSeconds() {
  const stat = readFileSync("/proc/self/stat", "latin1");
  // After the name in parentheses: utime, stime, cutime and cstime are the fields 14 to 17.
  const ticks = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 15)
    .map(Number);
  return ticks.reduce((sum, each) => sum + each, 0) / ticksPerSecond;
}

export function writeTime(file, seconds) {
  if (folder !== undefined) writeFileSync(join(folder, basename(file, ".test.js")), seconds.toFixed(2));
}
