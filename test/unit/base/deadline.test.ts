import t from "tap";
import { callAfter, callEvery, monotonicMs } from "../../../src/base/deadline.js";

// Such calls do not keep the process alive.
const alive = setInterval(() => undefined, 1000);
t.teardown(() => clearInterval(alive));

// Those of more than 150 ms have a timer only after a while.
const delaysMs = [0, 30, 150, 180, 230];

t.test("a call is made once, not before its time, and in order", async (t) => {
  const beganMs = monotonicMs();
  const made: number[] = [];
  await Promise.all(
    delaysMs
      .map(
        (delayMs) =>
          new Promise<void>((resolve) => {
            callAfter(delayMs, () => {
              // The clock of timers is in whole milliseconds.
              t.ok(monotonicMs() - beganMs >= delayMs - 1, `${delayMs} ms`);
              made.push(delayMs);
              resolve();
            });
          }),
      )
      .reverse(),
  );
  t.same(made, delaysMs);
});

t.test("a call that was cancelled, before it had a timer or with one, is not made", async (t) => {
  const made: string[] = [];
  const early = delaysMs.map((delayMs) => callAfter(delayMs, () => made.push(`early ${delayMs}`)));
  const late = callAfter(240, () => made.push("late"));
  const every = callEvery(210, () => made.push("every"));
  for (const call of early) call.cancel();
  await new Promise<void>((resolve) => callAfter(130, resolve));
  late.cancel();
  every.cancel();
  late.cancel();
  await new Promise<void>((resolve) => callAfter(130, resolve));
  t.same(made, []);
});

t.test("a periodic call is made until it is cancelled, also from itself", async (t) => {
  for (const periodMs of [10, 160]) {
    const beganMs = monotonicMs();
    let count = 0;
    await new Promise<void>((resolve) => {
      const call = callEvery(periodMs, () => {
        count++;
        t.ok(monotonicMs() - beganMs >= count * (periodMs - 1), `${count} of ${periodMs} ms`);
        if (count < 3) return;
        call.cancel();
        callAfter(periodMs + 20, resolve);
      });
    });
    t.equal(count, 3);
  }
});
