/** Which slice runs next: lanes take turns, and so do the clients of a lane. */
import assert from "node:assert/strict";
import t from "tap";
import type { Lane } from "../../../src/protocol/messages.js";
import { makePressure, pressureWords } from "../../../src/protocol/control-block.js";
import { SliceScheduler } from "../../../src/search/slices/search-slices.js";
import { fc, runs } from "../../support/property.js";
import { settled } from "../../support/test-clock.js";

/** A scheduler whose slices run until they are ended. */
class Scene {
  readonly pressure = makePressure();
  readonly scheduler: SliceScheduler;
  /** Names of the slices that have started, in order. */
  readonly started: string[] = [];
  readonly #running: (() => void)[] = [];

  constructor(workerCount: number) {
    this.scheduler = new SliceScheduler(workerCount, this.pressure);
  }

  schedule(lane: Lane, client: string, name: string): void {
    this.scheduler.schedule(lane, client, () => {
      this.started.push(name);
      return new Promise((resolve) => this.#running.push(resolve));
    });
  }

  get runningCount(): number {
    return this.#running.length;
  }

  /** Ends the slice that has run longest; the next one has then started. */
  async endOne(): Promise<void> {
    this.#running.shift()?.();
    await settled();
  }

  async endAll(): Promise<void> {
    while (this.#running.length > 0) await this.endOne();
  }
}

t.test("a slice runs for each worker, and the next starts when one ends", async (t) => {
  const scene = new Scene(2);
  for (const name of ["a", "b", "c", "d"]) scene.schedule("interactive", "client", name);
  t.same(scene.started, ["a", "b"]);
  t.same([scene.scheduler.waitingCount, scene.pressure[0]], [2, 2], "running slices see that others wait");
  await scene.endOne();
  t.same(scene.started, ["a", "b", "c"]);
  await scene.endAll();
  t.same([scene.started.length, scene.scheduler.waitingCount, scene.pressure[0]], [4, 0, 0]);
});

t.test("interactive slices go first, and every fourth slice is an exhaustive one", async (t) => {
  const scene = new Scene(1);
  scene.schedule("exhaustive", "client", "x");
  t.same(scene.started, ["x"], "alone it need not wait");
  for (let i = 0; i < 12; i++) scene.schedule("exhaustive", "client", "x");
  for (let i = 0; i < 12; i++) scene.schedule("interactive", "client", "i");
  t.same([scene.scheduler.waitingIn("exhaustive"), scene.scheduler.waitingIn("interactive")], [12, 12]);
  for (let i = 0; i < 12; i++) await scene.endOne();
  const mixed = scene.started.slice(1);
  for (let from = 0; from + 4 <= mixed.length; from++)
    t.equal(mixed.slice(from, from + 4).filter((name) => name === "x").length, 1, mixed.join(""));
  await scene.endAll();
  t.equal(scene.started.length, 25);
  t.equal(scene.started.slice(-4).join(""), "xxxx", "the rest, when no interactive slice waits");
});

t.test("a client with many slices delays another one by one slice", async (t) => {
  const scene = new Scene(1);
  for (let i = 0; i < 100; i++) scene.schedule("exhaustive", "busy", `b${i}`);
  scene.schedule("exhaustive", "other", "o0");
  scene.schedule("exhaustive", "other", "o1");
  for (let i = 0; i < 4; i++) await scene.endOne();
  t.same(scene.started.slice(0, 5), ["b0", "b1", "o0", "b2", "o1"]);
  await scene.endAll();
  t.equal(scene.started.length, 102);
});

t.test("a slice that yielded goes to the end of its lane", async (t) => {
  const scene = new Scene(1);
  for (const name of ["a", "b", "c"]) scene.schedule("exhaustive", name, name);
  for (let i = 0; i < 6; i++) {
    const yielded = scene.started.at(-1)!;
    scene.schedule("exhaustive", yielded, yielded);
    await scene.endOne();
  }
  t.equal(scene.started.join(""), "abcabca");
  await scene.endAll();
});

interface Slice {
  readonly lane: Lane;
  readonly client: string;
  /** Slices that end before this one is scheduled. */
  readonly endedBefore: number;
}

t.test(
  "in any order of events each slice runs once, those of a client and lane in order, on no idle worker",
  async (t) => {
    const slice: fc.Arbitrary<Slice> = fc.record({
      lane: fc.constantFrom("interactive" as const, "exhaustive" as const),
      client: fc.constantFrom("a", "b", "c"),
      endedBefore: fc.nat(2),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(slice, { maxLength: 30 }),
        fc.integer({ min: 1, max: 3 }),
        async (slices, workerCount) => {
          const scene = new Scene(workerCount);
          const names = slices.map(({ lane, client }, i) => `${lane} ${client} ${i}`);
          for (const [i, { lane, client, endedBefore }] of slices.entries()) {
            for (let k = 0; k < endedBefore; k++) await scene.endOne();
            scene.schedule(lane, client, names[i]!);
            const waitingCount = i + 1 - scene.started.length;
            assert.equal(scene.scheduler.waitingCount, waitingCount);
            assert.equal(scene.pressure[pressureWords.all], waitingCount);
            const interactiveCount = scene.scheduler.waitingIn("interactive");
            assert.equal(scene.pressure[pressureWords.interactive], interactiveCount);
            assert.ok(scene.runningCount <= workerCount);
            assert.ok(
              waitingCount === 0 || scene.runningCount === workerCount,
              "no worker is idle while a slice waits",
            );
          }
          await scene.endAll();
          assert.deepEqual([...scene.started].sort(), [...names].sort());
          for (const group of new Set(slices.map(({ lane, client }) => `${lane} ${client} `))) {
            const inOrder = (all: readonly string[]): string[] => all.filter((name) => name.startsWith(group));
            assert.deepEqual(inOrder(scene.started), inOrder(names));
          }
        },
      ),
      { numRuns: runs(60) },
    );
    t.pass();
  },
);
