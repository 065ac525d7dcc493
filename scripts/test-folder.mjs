// Runs compiled test files one after another in this process, each as a subtest with its path as the name: loading tap
// and the modules under test takes longer than most of them. What a file does with the `t` of tap, such as `t.test` and
// `t.teardown`, is done with its subtest, so that its fixtures are removed before the next file starts.
//
//   TEST_FILES="FILE..." node scripts/test-folder.mjs
//
// The files are no arguments, because tap makes names of folders of those. Writes the processor time of each file to the folder TEST_TIMES, as test-time.mjs does.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import t from "tap";
import { processorSeconds, writeTime } from "./test-time.mjs";

const runTest = t.test.bind(t);
// What the files share ends with the process (test/support/shared.ts).
t.run = { teardown: t.teardown.bind(t) };
let current = t;
for (const name of ["test", "before", "teardown", "setTimeout"]) t[name] = (...given) => current[name](...given);

for (const file of (process.env.TEST_FILES ?? "").split(" ")) {
  await runTest(file, async (subtest) => {
    const before = processorSeconds();
    current = subtest;
    subtest.setTimeout(0);
    await import(pathToFileURL(join(process.cwd(), file)).href);
    subtest.teardown(() => writeTime(file, processorSeconds() - before));
  });
  current = t;
}
