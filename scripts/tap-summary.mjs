// Prints each failed assertion of a tap run on a line of its own, then the totals of the run: `N passed, N failed`.
//
//   node scripts/tap-summary.mjs TAP-FILE EXIT-CODE
//
// A run that failed without a failed assertion (because it crashed or was interrupted) counts as one failure, so the
// totals never contradict the exit code.
import { readFileSync } from "node:fs";

const namedMax = 20;
const [, , file, exitCode] = process.argv;
const lines = readTap(file).split("\n");
const total = lines.filter((line) => /^# \{ total: .*\}$/.test(line)).at(-1);
const counts = Object.fromEntries(
  Array.from((total ?? "").matchAll(/(\w+): (\d+)/g), ([, key, n]) => [key, Number(n)]),
);
const passed = counts.pass ?? 0;
let failed = counts.fail ?? 0;
const named = failures(lines);
for (const name of named.slice(0, namedMax)) console.log(`failed: ${name.slice(0, 300)}`);
if (named.length > namedMax) console.log(`and ${named.length - namedMax} more in ${file}`);
if (failed === 0 && (exitCode !== "0" || total === undefined)) {
  console.log(`tap exited with code ${exitCode} without a failed assertion: a test file crashed or did not start`);
  failed = 1;
}
for (const kind of ["skip", "todo"]) if (counts[kind]) console.log(`${counts[kind]} marked ${kind}`);
console.log(`${passed} passed, ${failed} failed`);

/** The failed assertions, each with the path of its subtests; excludes the subtests that failed because of them. */
function failures(lines) {
  const open = [];
  const found = [];
  let deepest = -1;
  for (const line of lines) {
    const [, indent, rest] = /^( *)(.*)$/.exec(line);
    const depth = indent.length / 4;
    const subtest = /^# Subtest: (.*)$/.exec(rest)?.[1];
    const point = /^not ok \d+(?: - (.*?))?(?: # (time=|TODO|SKIP).*)?$/.exec(rest);
    if (subtest !== undefined) open[depth] = subtest;
    if (point === null || /# (TODO|SKIP)/i.test(rest)) continue;
    if (depth >= deepest) found.push([...open.slice(0, depth), point[1] ?? "an unnamed assertion"].join(" > "));
    deepest = depth;
  }
  return found;
}

function readTap(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
