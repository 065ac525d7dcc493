/** A thread frees its garbage when it has been idle for three seconds, and its heap is large. */
import t from "tap";
import { IdleCollector } from "../../../src/worker/idle-collector.js";
import { settled, TestClock } from "../../support/test-clock.js";

t.test("a thread is idle three seconds after its last task, once", async (t) => {
  const clock = new TestClock(t);
  let idleCount = 0;
  const collector = new IdleCollector(Number.POSITIVE_INFINITY, () => idleCount++);
  await clock.advance(10_000);
  t.equal(idleCount, 0, "it has had no task");
  collector.recordTask();
  await clock.advance(2_000);
  collector.recordTask();
  await clock.advance(2_999);
  t.equal(idleCount, 0, "the later task counts");
  await clock.advance(1);
  t.equal(idleCount, 1);
  await clock.advance(60_000);
  t.equal(idleCount, 1);
  collector.recordTask();
  await clock.advance(3_000);
  t.equal(idleCount, 2, "after another task again");
});

t.test("a thread that always has tasks is never idle", async (t) => {
  const clock = new TestClock(t);
  let idleCount = 0;
  const collector = new IdleCollector(0, () => idleCount++);
  for (let i = 0; i < 50; i++) {
    collector.recordTask();
    await clock.advance(500);
  }
  t.equal(idleCount, 0);
});

/** Refers to an object that nothing else refers to. */
const garbage = (): WeakRef<object> => new WeakRef({ text: "garbage" });

t.test("garbage is freed if the heap is larger than it may be", async (t) => {
  const clock = new TestClock(t);
  for (const [heapBytesMax, isFreed] of [
    [0, true],
    [Number.POSITIVE_INFINITY, false],
  ] as const) {
    const reference = garbage();
    const collector = new IdleCollector(heapBytesMax, () => undefined);
    collector.recordTask();
    // An object is kept until the end of the job in which its reference was made.
    await settled();
    await clock.advance(3_000);
    await settled();
    t.equal(reference.deref() === undefined, isFreed, `with a limit of ${heapBytesMax} bytes`);
  }
});
