// Prints `N passed, N failed` for a run of tap: the assertions of its last summary line.
//
//   node scripts/tap-summary.mjs TAP-FILE EXIT-CODE
//
// A run that failed without a failed assertion (it crashed, or was cut) counts as one failure, so that the line never
// says that all is well when the exit code does not.
import { readFileSync } from "node:fs";

const [, , file, exitCode] = process.argv;
const lines = readTap(file).match(/^# \{ total: .*\}$/gm) ?? [];
const counts = Object.fromEntries(Array.from((lines.at(-1) ?? "").matchAll(/(\w+): (\d+)/g), ([, key, n]) => [key, Number(n)]));
const passed = counts.pass ?? 0;
let failed = counts.fail ?? 0;
if (failed === 0 && (exitCode !== "0" || lines.length === 0)) {
  console.log(`tap ended with ${exitCode} without a failed assertion: a test file crashed or never began`);
  failed = 1;
}
for (const kind of ["skip", "todo"]) if (counts[kind]) console.log(`${counts[kind]} marked ${kind}`);
console.log(`${passed} passed, ${failed} failed`);

function readTap(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
