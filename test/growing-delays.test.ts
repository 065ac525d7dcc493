/** Waits between attempts: how they grow, what ends them, and that no sequence of attempts keeps anybody waiting for ever. */
import t from "tap";
import { GrowingDelays } from "../src/account/growing-delays.js";
import { randomFrom } from "./support/random.js";

const policy = { freeCount: 3, firstMs: 1000, longestMs: 8000, forgetMs: 100_000 };

t.test("waits grow up to the longest, and are forgotten", async (t) => {
  const delays = new GrowingDelays(policy);
  const waits: number[] = [];
  let nowMs = 0;
  for (let i = 0; i < 9; i++) {
    const startMs = nowMs;
    while (delays.begin("a", nowMs) > 0) nowMs += delays.begin("a", nowMs);
    waits.push(nowMs - startMs);
  }
  t.same(waits, [0, 0, 0, 1000, 2000, 4000, 8000, 8000, 8000]);
  t.equal(delays.begin("b", nowMs), 0, "of one key only");
  t.equal(delays.begin("a", nowMs + 100_000), 0);
  t.equal(delays.begin("a", nowMs + 100_000), 0, "the count begins anew");
  delays.forget("a");
  for (let i = 0; i < 3; i++) t.equal(delays.begin("a", nowMs + 100_000), 0);
  t.equal(delays.begin("a", nowMs + 100_000), 1000);
});

t.test("who asks often waits no longer", async (t) => {
  for (let seed = 1; seed <= 200; seed++) {
    const below = randomFrom(seed);
    const delays = new GrowingDelays(policy);
    let nowMs = 0;
    let allowedAtMs = 0;
    for (let i = 0; i < 300; i++) {
      nowMs += below(1500);
      const waitMs = delays.begin("a", nowMs);
      if (waitMs > policy.longestMs) t.fail(`seed ${seed}: a wait of ${waitMs} ms`);
      if (waitMs > 0 && nowMs + waitMs !== allowedAtMs) t.fail(`seed ${seed}: an attempt that came too early changed the wait`);
      // The free ones at once, until there is a wait.
      let nextMs = waitMs;
      while (nextMs === 0) nextMs = delays.begin("a", nowMs);
      allowedAtMs = nowMs + nextMs;
    }
  }
  t.pass();
});
