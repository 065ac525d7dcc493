// The processor time of test files. Loaded into the process of a test file by run-tests.mjs: at its end, writes the
// processor time of the process and of those it has started, in seconds, to a file of the folder TEST_TIMES.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { isMainThread } from "node:worker_threads";

const ticksPerSecond = 100;
const { TEST_TIMES: folder } = process.env;
// Daemons that the test forks, and threads, load this too.
if (folder !== undefined && isMainThread && process.argv[1]?.endsWith(".test.js"))
  process.on("exit", () => writeTime(process.argv[1], processorSeconds()));

/**
 * Of this process and all that it has started, also of those that still run: the daemons that several files share are
 * waited for at the end of the last one, and what they did belongs to the files that asked them.
 */
export function processorSeconds(process = "self") {
  const stat = read(`/proc/${process}/stat`);
  // After the name in parentheses: utime, stime, cutime and cstime are the fields 14 to 17.
  const ticks = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 15)
    .map(Number);
  const running = childrenOf(process).reduce((sum, child) => sum + processorSeconds(child), 0);
  return running + ticks.reduce((sum, each) => sum + each, 0) / ticksPerSecond;
}

/** Those that its threads have started; none on a kernel that doesn't list them. */
function childrenOf(process) {
  const children = readThreads(process).map((thread) => read(`/proc/${process}/task/${thread}/children`));
  return children.flatMap((list) => list.split(" ")).filter((child) => child !== "");
}

/** "" if the process has ended just now. */
function read(path) {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function readThreads(process) {
  try {
    return readdirSync(`/proc/${process}/task`);
  } catch {
    return [];
  }
}

export function writeTime(file, seconds) {
  if (folder !== undefined) writeFileSync(join(folder, basename(file, ".test.js")), seconds.toFixed(2));
}
