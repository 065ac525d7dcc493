/** A thread for tests of the pool, with tasks that do not return. */
import { threadId, workerData } from "node:worker_threads";
import { startProcess } from "../../src/native/process/process.js";
import { serveTasks } from "../../src/worker/serve.js";
import { readSettings } from "../../src/protocol/task-message.js";
import type { WorkerSettings } from "../../src/protocol/messages.js";
import { TaskActivity } from "../../src/protocol/task-activity.js";

const limits = {
  dataBytesMax: Infinity,
  cpuSecondsMax: Infinity,
  fileBytesMax: Infinity,
  descriptorCountMax: Infinity,
};

readSettings<WorkerSettings>(workerData);

export default serveTasks({
  echo: (task: unknown) => task,
  fail: (message: string) => {
    throw new TypeError(message);
  },
  spin: () => {
    for (;;) Math.random();
  },
  regexp: () => /^(a+)+$/.test(`${"a".repeat(60)}b`),
  sleep: () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  },
  never: () => new Promise(() => undefined),
  heap: () => {
    const all: unknown[] = [];
    for (;;) all.push(new Array(1000).fill(Math.random()));
  },
  /** An allocation that exceeds the heap limit, after others that nearly fill the heap. */
  table: () => {
    const all = new Map<string, unknown>();
    for (let i = 0; ; i++) all.set(`key ${i}`, { i });
  },
  double: () => {
    let all = [1];
    for (;;) all = all.concat(all);
  },
  exit: () => process.exit(3),
  /** Waits until this many threads are in this task, and returns the number of this one. */
  meet: ({ gate, count }: { readonly gate: Int32Array; readonly count: number }) => {
    Atomics.add(gate, 0, 1);
    Atomics.notify(gate, 0);
    for (let met = Atomics.load(gate, 0); met < count; met = Atomics.load(gate, 0)) Atomics.wait(gate, 0, met);
    return threadId;
  },
  /**
   * Starts a process, which starts another one; both outlive the thread unless they are killed. Reports their ids, and
   * hangs.
   */
  child: (pid: Int32Array) => {
    pid[0] = startProcess({
      name: "sh",
      args: ["-c", "sleep 600 & wait"],
      environment: { PATH: process.env["PATH"] ?? "" },
      directory: "/",
      limits,
    }).pid;
    for (;;) Math.random();
  },
  /** Hangs while it indexes, after this many heartbeats. */
  stall: ({ memory, beats }: { readonly memory: SharedArrayBuffer; readonly beats: Int32Array }) => {
    const activity = new TaskActivity(memory);
    // A busy machine does not let a thread go on for seconds.
    const allowanceMs = 3_000;
    activity.enter("indexing", 7, "main 1", allowanceMs);
    const pause = new Int32Array(new SharedArrayBuffer(4));
    for (let i = 0; i < beats[0]; i++) {
      Atomics.wait(pause, 0, 0, 100);
      activity.beat();
    }
    activity.recordShard(41);
    activity.enterFile("0".repeat(40), Buffer.from("a/b.inc"), allowanceMs);
    Atomics.wait(pause, 0, 0);
  },
  /** Writes as long as word 0 is 0. */
  write: ({ memory, until }: { readonly memory: SharedArrayBuffer; readonly until: Int32Array }) => {
    const activity = new TaskActivity(memory);
    activity.enter("writing", 7, "", 100);
    activity.beginWrite();
    Atomics.store(until, 1, 1);
    Atomics.wait(until, 0, 0);
    activity.endWrite();
    activity.beginWrite();
    return "written twice";
  },
});
