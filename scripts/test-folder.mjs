// Runs compiled test files one after another in this process, each as a subtest with its path as the name: loading tap
// and the modules under test takes longer than most of them. What a file does with the `t` of tap, such as `t.test`,
// `t.equal` and `t.teardown`, is done with its subtest, so that its fixtures are removed before the next file starts.
//
//   TEST_FILES="FILE..." node scripts/test-folder.mjs
//
// The files are no arguments, because tap makes names of folders of those. Writes the processor time of each file to the folder TEST_TIMES, as test-time.mjs does.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import t from "tap";
import { processorSeconds, writeTime } from "./test-time.mjs";

const runTest = t.test.bind(t);
// Its first call replaces the method.
t.teardown(() => undefined);
// What the files share ends with the process (test/support/shared.ts).
t.run = { teardown: t.teardown.bind(t) };
let current = t;
const registrations = ["test", "before", "teardown", "setTimeout", "testdir"];
const assertions = [
  "equal",
  "same",
  "strictSame",
  "match",
  "notMatch",
  "not",
  "ok",
  "notOk",
  "throws",
  "rejects",
  "pass",
  "fail",
];
for (const name of [...registrations, ...assertions]) {
  const ofRun = t[name].bind(t);
  t[name] = (...given) => (current === t ? ofRun(...given) : current[name](...given));
}

let measured;
for (const file of (process.env.TEST_FILES ?? "").split(" ")) {
  await runTest(file, async (subtest) => {
    const before = processorSeconds();
    // The last of its teardowns.
    subtest.teardown(() => {
      measured = { file, seconds: processorSeconds() - before };
      writeTime(file, measured.seconds);
    });
    current = subtest;
    subtest.setTimeout(0);
    await import(pathToFileURL(join(process.cwd(), file)).href);
  });
  current = t;
}
// What the files have shared ends with the process, which is work of the last one. What the processes of a browser took is lost
// with it, since their parent does not wait for them.
const before = processorSeconds();
process.on("exit", () => writeTime(measured.file, measured.seconds + Math.max(0, processorSeconds() - before)));
