/** A thread frees its garbage when it has been idle for three seconds, and its heap is large. */
import t from "tap";
import { IdleCollector } from "../../../src/worker/serve.js";
import { settled, TestClock } from "../../support/test-clock.js";

t.test("a thread is idle three seconds after its last task, once", async (t) => {
  const clock = new TestClock(t);
  let idleCount = 0;
  const collector = new IdleCollector(Number.POSITIVE_INFINITY, () => idleCount++, 0);
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
  const collector = new IdleCollector(0, () => idleCount++, 0);
  for (let i = 0; i < 50; i++) {
    collector.recordTask();
    await clock.advance(500);
  }
  t.equal(idleCount, 0);
});

/** Refers to an object that nothing else refers to. */
const garbage = (): WeakRef<object> => new WeakRef({ text: "garbage" });

t.test("garbage is freed if the heap has grown more than it may", async (t) => {
  const clock = new TestClock(t);
  for (const [growthMax, atFirst, isFreed] of [
    [0, 0, true],
    [Number.POSITIVE_INFINITY, 0, false],
    [1 << 30, undefined, false],
  ] as const) {
    const reference = garbage();
    const collector = new IdleCollector(growthMax, () => undefined, atFirst);
    collector.recordTask();
    // An object is kept until the end of the job in which its reference was made.
    await settled();
    await clock.advance(3_000);
    await settled();
    t.equal(reference.deref() === undefined, isFreed, `${growthMax} bytes more than ${atFirst}`);
  }
});

t.test("what a thread holds is not collected again after each pause", async (t) => {
  const clock = new TestClock(t);
  const held = new Uint8Array(48 << 20).fill(1);
  const collector = new IdleCollector(96 << 20, () => undefined, -(64 << 20));
  const pause = async (): Promise<boolean> => {
    const reference = garbage();
    collector.recordTask();
    await settled();
    await clock.advance(3_000);
    await settled();
    return reference.deref() === undefined;
  };
  t.equal(await pause(), true, "its heap is larger than it may be");
  t.equal(await pause(), false, "what is left is what it holds");
  t.equal(held[1], 1);
});
