/** Work on the main thread goes on while there is room for results, is parked otherwise, and always ends. */
import t from "tap";
import { PacedWork } from "../../../src/search/partition/local-source.js";
import { settled } from "../../support/test-clock.js";

/** The state of a search whose client reads as the test says. */
class Owner {
  stopped = false;
  room = true;
  parkedCount = 0;
  readonly failures: string[] = [];
  readonly isStopped = (): boolean => this.stopped;
  readonly hasRoom = (): boolean => this.room;
  readonly onParked = (): void => {
    this.parkedCount++;
  };
  readonly onFailure = (sentence: string): void => {
    this.failures.push(sentence);
  };
}

function* count(done: number[], to: number, each: (i: number) => void = () => undefined): Generator<undefined, void> {
  for (let i = 1; i <= to; i++) {
    done.push(i);
    each(i);
    yield;
  }
}

t.test("it runs to its end while the client reads", async (t) => {
  const owner = new Owner();
  const done: number[] = [];
  await new PacedWork(count(done, 1000), owner).run();
  t.equal(done.length, 1000);
  t.equal(owner.parkedCount, 0);
});

t.test("without room it is parked after a step, and goes on from there", async (t) => {
  const owner = new Owner();
  const done: number[] = [];
  const work = new PacedWork(
    count(done, 5, (i) => {
      if (i === 3) owner.room = false;
    }),
    owner,
  );
  let isDone = false;
  const run = work.run().then(() => (isDone = true));
  await settled();
  t.same([done, work.isParked, work.isActive, owner.parkedCount, isDone], [[1, 2, 3], true, false, 1, false]);
  work.resume();
  await settled();
  t.same([done, work.isParked, owner.parkedCount], [[1, 2, 3, 4], true, 2], "there is still no room: one step");
  owner.room = true;
  work.resume();
  await run;
  t.same([done, work.isParked, work.isActive], [[1, 2, 3, 4, 5], false, false]);
});

t.test("a stop ends it, also when it is resumed; parked work can be dropped", async (t) => {
  for (const end of ["resume", "drop"] as const) {
    const owner = new Owner();
    const done: number[] = [];
    owner.room = false;
    const work = new PacedWork(count(done, 5), owner);
    const run = work.run();
    await settled();
    owner.stopped = true;
    work[end]();
    await run;
    t.same([done, work.isParked], [[1], false], end);
    work[end]();
    await settled();
    t.same(done, [1], "after its end nothing happens");
  }
});

t.test("a failure is reported and ends it", async (t) => {
  const owner = new Owner();
  const work = new PacedWork(
    count([], 5, (i) => {
      if (i === 2) throw new RangeError("the second failed");
    }),
    owner,
  );
  await work.run();
  t.same(owner.failures, ["the second failed"]);
});
