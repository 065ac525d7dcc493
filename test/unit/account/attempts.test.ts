/**
 * Waits between attempts: how they grow, what ends them, and that no sequence of attempts keeps anybody waiting for
 * ever.
 */
import t from "tap";
import { RateLimiter, attemptsIn } from "../../../src/account/records/rate-limiter.js";
import { randomFrom } from "../../support/random.js";

const policy = { freeCount: 3, firstWaitMs: 1000, longestWaitMs: 8000, periodMs: 100_000 };

t.test("waits grow up to a maximum, and are forgotten", async (t) => {
  const attempts = new RateLimiter(policy);
  const waits: number[] = [];
  let nowMs = 0;
  for (let i = 0; i < 9; i++) {
    const waitMs = attempts.begin("a", nowMs);
    waits.push(waitMs);
    nowMs += waitMs;
    if (waitMs > 0) t.equal(attempts.begin("a", nowMs), 0, "the wait is over");
  }
  t.same(waits, [0, 0, 0, 1000, 2000, 4000, 8000, 8000, 8000]);
  t.equal(attempts.begin("b", nowMs), 0, "of one key only");
  t.equal(attempts.begin("a", 100_000), 0);
  t.equal(attempts.begin("a", 100_000), 0, "the count begins anew");
  attempts.forget("a");
  for (let i = 0; i < 3; i++) t.equal(attempts.begin("a", 100_000), 0);
  t.equal(attempts.begin("a", 100_000), 1000);
  attempts.forgive("a");
  t.equal(attempts.begin("a", 100_000), 0, "one was good");
});

t.test("what is left is told", async (t) => {
  const attempts = new RateLimiter(attemptsIn(1000, 2));
  t.same(attempts.room("a", 0), { left: 2, resetMs: 1000 });
  attempts.begin("a", 0);
  t.same(attempts.room("a", 400), { left: 1, resetMs: 600 });
  attempts.begin("a", 400);
  attempts.begin("a", 500);
  t.same(attempts.room("a", 500), { left: 0, resetMs: 500 });
  t.same(attempts.room("a", 1000), { left: 2, resetMs: 1000 }, "the next period");
});

t.test("frequent attempts do not make the wait longer", async (t) => {
  for (let seed = 1; seed <= 200; seed++) {
    const below = randomFrom(seed);
    const attempts = new RateLimiter(policy);
    let nowMs = 0;
    let allowedAtMs = 0;
    for (let i = 0; i < 300; i++) {
      nowMs += below(1500);
      let waitMs = attempts.begin("a", nowMs);
      if (waitMs > policy.longestWaitMs) return t.fail(`seed ${seed}: a wait of ${waitMs} ms`);
      if (waitMs > 0 && nowMs + waitMs !== allowedAtMs)
        return t.fail(`seed ${seed}: an attempt that came too early changed the wait`);
      // The free ones at once, until there is a wait; the count may begin anew meanwhile.
      for (let free = 0; waitMs === 0 && free < 2 * policy.freeCount; free++) waitMs = attempts.begin("a", nowMs);
      if (waitMs === 0) return t.fail(`seed ${seed}: no wait`);
      allowedAtMs = nowMs + waitMs;
    }
  }
  return t.pass();
});

t.test("a number of attempts per period", async (t) => {
  const attempts = new RateLimiter(attemptsIn(60_000, 3));
  const rows: readonly (readonly [nowMs: number, waitMs: number])[] = [
    [0, 0],
    [30_000, 0],
    [61_000, 0],
    [62_000, 0],
    [63_000, 0],
    [63_000, 60_000],
    [122_000, 1_000],
    [123_000, 0],
    [123_000, 0],
    [123_000, 0],
    [123_001, 59_999],
  ];
  for (const [nowMs, waitMs] of rows) t.equal(attempts.begin("a", nowMs), waitMs, `at ${nowMs} ms`);
});
