/** A few hundred inputs of each fuzz target, always the same; `make fuzz` gives them many more. */
import t from "tap";
import { fuzz, printFailure, runRegressions, startWatchdog } from "./runner.js";
import { targets } from "./targets.js";
import { isFull } from "../support/full-run.js";
import { runs, seed } from "../support/property.js";

/** For one target, on a machine that does other things as well. */
const msMax = 20_000;

t.teardown(startWatchdog());

for (const target of targets) {
  t.test(`${target.name} (seed ${seed})`, async (t) => {
    for (const failure of runRegressions(target)) t.fail(printFailure(failure));
    const { count, failures } = fuzz(target, { seed, countMax: runs(target.testCount), ms: msMax });
    for (const failure of failures) t.fail(printFailure(failure));
    t.ok(count > 0, `${count} inputs`);
  });
}

t.test("the runner finds failing cases, and shrinks them", async (t) => {
  const make = (random: (below: number) => number): Buffer =>
    Buffer.from(Array.from({ length: random(40) }, () => random(256)));
  const isBad = (input: Buffer): boolean => input.includes(7) && input.includes(9);
  const run = (input: Buffer): void => {
    if (isBad(input)) throw new RangeError("seven and nine");
  };
  const { failures } = fuzz(
    { name: "test", cpuMsMax: 1000, testCount: 0, make, run },
    { seed: 1, countMax: 10_000, ms: 10_000 },
  );
  t.equal(failures.length, 3);
  for (const { input, reason } of failures) {
    t.equal(input.length, 2);
    t.match(reason, "seven and nine");
  }
  const firstFailure = failures[0].seed ?? 0;
  const slow = fuzz(
    {
      name: "test",
      cpuMsMax: 5,
      testCount: 0,
      make,
      run: (input) => {
        if (isBad(input)) spin(8);
      },
    },
    { seed: 1, countMax: isFull ? 10_000 : firstFailure, ms: 10_000 },
  );
  t.match(slow.failures[0].reason, /took \d+ ms of 5/);
  t.match(printFailure(failures[0]), new RegExp(`make fuzz TARGET=test SEED=${failures[0].seed} INPUTS=1`));
});

/** Uses this much processor time, and takes as long even if other threads of the process use it, too. */
function spin(ms: number): void {
  const start = process.cpuUsage();
  const startMs = performance.now();
  for (let used = 0; used < ms || performance.now() - startMs < ms; ) {
    const { user, system } = process.cpuUsage(start);
    used = (user + system) / 1000;
  }
}
