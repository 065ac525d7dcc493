/** A slice without credit waits for as much as it needs, and no longer than others allow. */
import { Worker } from "node:worker_threads";
import t from "tap";
import {
  ControlBlock,
  makePressure,
  makeResultLimits,
  pressureWords,
  takeMatches,
} from "../../../src/protocol/control-block.js";
import { fc, runs } from "../../support/property.js";

const longMs = 60_000;

/** Gives credit in parts, each once a thread waits for it, because `notify` returns how many threads it has woken. */
const giver = `
  const { workerData: { memory, word, parts } } = require("node:worker_threads");
  for (const part of parts) {
    Atomics.add(memory, word, part);
    while (Atomics.notify(memory, word) === 0 && Atomics.load(memory, word) <= 0);
  }`;

/** The word of the credit: the only one that giving credit changes. */
function creditWord(): number {
  const { memory } = ControlBlock.allocate(1, 0, 0);
  new ControlBlock(memory).giveCredit(7);
  return memory.indexOf(7);
}

t.test("credit that does not cover what was taken does not end the wait", async (t) => {
  const control = ControlBlock.allocate(1, -100, longMs);
  const workerData = { memory: control.memory, word: creditWord(), parts: [40, 40, 40] };
  const worker = new Worker(giver, { eval: true, workerData });
  t.ok(control.waitForCredit());
  t.equal(control.credit, 20);
  t.ok(control.cost.workerMs <= 0, "the wait costs nothing");
  await new Promise((resolve) => worker.once("exit", resolve));
});

t.test("the wait ends early for a cancelled search, and is longer if no other slice waits", async (t) => {
  const cancelled = ControlBlock.allocate(1, 0, longMs);
  cancelled.cancel();
  t.notOk(cancelled.waitForCredit());
  t.notOk(ControlBlock.allocate(1, 0, 0).waitForCredit());
  const { memory } = ControlBlock.allocate(1, 0, 10);
  const pressure = makePressure();
  let nowMs = 0;
  Object.defineProperty(performance, "now", { value: () => nowMs, configurable: true });
  const { wait } = Atomics;
  t.teardown(() => {
    Reflect.deleteProperty(performance, "now");
    Object.assign(Atomics, { wait });
  });
  // Nobody gives credit, so that each wait takes all of its time.
  const passTime = (_: Int32Array, __: number, ___: number, ms = 0): "timed-out" => {
    nowMs += ms;
    return "timed-out";
  };
  Object.assign(Atomics, { wait: passTime });
  const timeWait = (control: ControlBlock): number => {
    const startMs = nowMs;
    t.notOk(control.waitForCredit());
    return nowMs - startMs;
  };
  t.equal(timeWait(new ControlBlock(memory, pressure)), 40, "four times as long");
  t.equal(timeWait(new ControlBlock(memory)), 10);
  Atomics.store(pressure, pressureWords.all, 1);
  t.equal(timeWait(new ControlBlock(memory, pressure)), 10);
});

/** Counts matches of one search after the other, all threads at a time, until no more fit. */
const counter = `
  const { parentPort, workerData: { module, memories, arrived, threads, countMax } } = require("node:worker_threads");
  import(module).then(({ ControlBlock }) => {
    for (const [i, memory] of memories.entries()) {
      const control = new ControlBlock(memory);
      Atomics.add(arrived, i, 1);
      while (Atomics.load(arrived, i) < threads);
      while (control.addMatchesWithin(1, countMax));
    }
    parentPort.postMessage("done");
  });`;

t.test("all threads together never count more matches than the limit", async (t) => {
  // The low halves of the counts overflow in between.
  const [threads, before, countMax] = [2, 2 ** 32 - 10, 2 ** 32 + 10];
  const memories = Array.from({ length: 500 }, () => {
    const control = ControlBlock.allocate(1, 0, 0);
    control.addMatches(before);
    return control.memory;
  });
  const arrived = new Int32Array(new SharedArrayBuffer(4 * memories.length));
  const module = new URL("../../../src/protocol/control-block.js", import.meta.url).href;
  const workerData = { module, memories, arrived, threads, countMax };
  await Promise.all(
    Array.from({ length: threads }, () => {
      const worker = new Worker(counter, { eval: true, workerData });
      return new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
    }),
  );
  t.same(new Set(memories.map((memory) => new ControlBlock(memory).matchCount)), new Set([countMax]));
});

/** Counts around the bounds of 31 and 32 bits, and small ones. */
const count = fc.oneof(
  fc.nat({ max: 10 }),
  fc.integer({ min: 2 ** 31 - 3, max: 2 ** 31 + 3 }),
  fc.integer({ min: 2 ** 32 - 3, max: 2 ** 32 + 3 }),
  fc.nat({ max: 2 ** 45 }),
);

t.test("counts of more than 32 bits are those of a sum", async (t) => {
  const step = fc.record({ kind: fc.nat({ max: 5 }), count, limit: count });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), fc.nat({ max: 3 }), (steps, slot) => {
      const { memory } = ControlBlock.allocate(slot + 1, 123, 0);
      const control = new ControlBlock(memory);
      const sums = { matches: 0, displayed: 0, kib: 0, tenths: 0, places: 0, duplicates: 0 };
      const limits = makeResultLimits(steps.map(({ limit }, i) => (i % 3 === 0 ? undefined : limit)));
      const taken = steps.map(() => 0);
      for (const [i, { kind, count, limit }] of steps.entries()) {
        // Another object for the same memory, as in other threads.
        const other = new ControlBlock(memory);
        if (kind === 0) {
          t.equal(other.addMatches(count), sums.matches);
          sums.matches += count;
        } else if (kind === 1) {
          const fits = sums.matches + count <= limit;
          t.equal(other.addMatchesWithin(count, limit), fits);
          if (fits) sums.matches += count;
        } else if (kind === 2) {
          t.equal(other.addDisplayed(count), sums.displayed);
          sums.displayed += count;
        } else if (kind === 3) {
          other.addCost(count, limit);
          sums.kib += count;
          sums.tenths += limit;
        } else if (kind === 4) {
          other.addDuplicates(1, count);
          sums.places++;
          sums.duplicates += count;
        } else {
          const at = i === 0 ? 0 : limit % i;
          const countMax = limits.countMax[at] ?? Number.POSITIVE_INFINITY;
          const left = Math.min(count, countMax - taken[at]);
          t.equal(takeMatches(limits, at, count, other), left);
          taken[at] += left;
        }
      }
      control.setShardOfSlot(slot, 7);
      control.giveCredit(1);
      control.takeShard();
      t.same(
        [control.credit, control.takenShardCount, control.shardOfSlot(slot), control.isStopped],
        [124, 1, 7, false],
      );
      t.same(
        {
          matches: control.matchCount,
          displayed: control.displayedCount,
          kib: control.cost.scannedBytes / 1024,
          tenths: Math.round(control.cost.workerMs * 10),
          places: control.duplicateCount,
          duplicates: control.duplicateMatches,
        },
        sums,
      );
    }),
    { numRuns: runs(2400) },
  );
});
