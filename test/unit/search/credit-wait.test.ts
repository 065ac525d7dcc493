/** A slice without credit waits for as much as it needs, and no longer than others allow. */
import { Worker } from "node:worker_threads";
import t from "tap";
import { ControlBlock, makePressure, pressureWords } from "../../../src/protocol/control-block.js";

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
  const [threads, countMax] = [2, 20];
  const memories = Array.from({ length: 500 }, () => ControlBlock.allocate(1, 0, 0).memory);
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
