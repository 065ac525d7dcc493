import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import t, { type Test } from "tap";
import { monotonicMs } from "../../../src/base/deadline.js";
import { TrawlError } from "../../../src/base/errors.js";
import { createLog } from "../../../src/base/log.js";
import { TaskActivity } from "../../../src/protocol/task-activity.js";
import { type TaskLimits, type PoolOptions, WorkerPool, type ThreadLoss } from "../../../src/pool/worker-pool.js";
import { isFull } from "../../support/full-run.js";
import { until, within } from "../../support/waiting.js";

const entry = new URL("../../support/pool-entry.js", import.meta.url);
const settings = { dataFolder: "/nonexistent", kernel: "native" } as const;
const graceMs = 200;
const unlimited: TaskLimits = { deadlineMs: Infinity, stops: [], graceMs, activity: undefined };

interface TestPool {
  readonly pool: WorkerPool<unknown>;
  readonly losses: string[];
}

function testPool(t: Test, threadCount: number, part: Partial<PoolOptions> = {}): TestPool {
  const losses: string[] = [];
  const pool = new WorkerPool(
    { name: "test", entry, settings, threadCountMin: 1, threadCountMax: threadCount, heapMiB: 48, ...part },
    createLog("fatal"),
    { onMessage: () => undefined, onLoss: (reason) => losses.push(reason) },
  );
  t.teardown(() => pool.close());
  return { pool, losses };
}

/** The reason for which the thread of the task is gone. */
async function lossIn(task: Promise<unknown>): Promise<string> {
  const error = await within(
    task.then(
      () => undefined,
      (reason: unknown) => reason as ThreadLoss,
    ),
    "the end of a task",
  );
  return error?.reason ?? String(error);
}

const limitsNow = (): TaskLimits => ({ ...unlimited, deadlineMs: monotonicMs() });

t.test("tasks are answered, and errors keep their text", async (t) => {
  const { pool } = testPool(t, 2);
  const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => pool.run("echo", { i }, unlimited)));
  t.same(
    answers,
    Array.from({ length: 100 }, (_, i) => ({ i })),
  );
  await t.rejects(pool.run("fail", "no such thing", unlimited), { code: "internal", message: "no such thing" });
  await t.rejects(pool.run("nothing", 0, unlimited), { code: "internal" });
  await t.rejects(
    pool.run("echo", () => 0, unlimited),
    { code: "internal" },
    "what cannot be cloned",
  );
  t.equal(await pool.run("echo", 1, unlimited), 1);
});

for (const name of ["spin", "regexp", "sleep", "never"]) {
  t.test(`a thread that does not come back is ended: ${name}`, async (t) => {
    const stop = new Int32Array(new SharedArrayBuffer(4));
    const { pool, losses } = testPool(t, 2, { threadCountMin: 2 });
    const hung = lossIn(pool.run(name, undefined, { ...unlimited, stops: [stop] }));
    for (let i = 0; i < 10; i++) t.equal(await pool.run("echo", i, unlimited), i, "the other thread goes on meanwhile");
    Atomics.store(stop, 0, 1);
    t.equal(await hung, "overrun");
    t.same(
      await Promise.all([1, 2, 3, 4].map((i) => pool.run("echo", i, unlimited))),
      [1, 2, 3, 4],
      "and both threads do afterwards",
    );
    t.same(losses, ["overrun"]);
  });
}

t.test("a stop flag ends a thread, after the grace", async (t) => {
  const { pool } = testPool(t, 1);
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const startedMs = monotonicMs();
  const hung = lossIn(pool.run("spin", undefined, { ...unlimited, stops: [stop] }));
  const waiting = pool.run("echo", 1, unlimited);
  Atomics.store(stop, 0, 1);
  t.equal(await hung, "overrun");
  t.ok(monotonicMs() - startedMs >= graceMs, "not before");
  t.equal(await waiting, 1, "what waited for it is run by the next thread");
});

t.test("heap, exit and children", async (t) => {
  const { pool, losses } = testPool(t, 1, { heapMiB: 24 });
  for (const way of ["heap", "table", "double"])
    t.equal(await lossIn(pool.run(way, undefined, unlimited)), "memory", way);
  t.equal(await lossIn(pool.run("exit", undefined, unlimited)), "died");
  const pid = new Int32Array(new SharedArrayBuffer(4));
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const ended = lossIn(pool.run("child", pid, { ...unlimited, stops: [stop] }));
  await until("it has started a process", () => Atomics.load(pid, 0) !== 0);
  Atomics.store(stop, 0, 1);
  t.equal(await ended, "overrun");
  t.not(pid[0], 0);
  t.throws(() => process.kill(pid[0], 0), { code: "ESRCH" }, "no process of the thread is left, not even as a zombie");
  await until("what the process has started is gone", () => isGroupGone(pid[0]));
  t.equal(await pool.run("echo", 1, unlimited), 1);
  t.same(losses, ["memory", "memory", "memory", "died", "overrun"]);
});

t.test("a task that stands still is ended, one that goes on is not", async (t) => {
  const { pool } = testPool(t, 1);
  const activity = new TaskActivity();
  const startedMs = monotonicMs();
  t.equal(
    await lossIn(pool.run("stall", { memory: activity.memory, beats: Int32Array.of(40) }, { ...unlimited, activity })),
    "stalled",
  );
  t.ok(monotonicMs() - startedMs > 4_000, "it had gone on for longer than it may stand still");
  t.same(activity.doing(), {
    repositoryId: 7,
    phase: "indexing",
    state: "main 1",
    oid: "0".repeat(40),
    path: "a/b.inc",
    shardIds: [41],
  });
});

t.test("a thread that writes is not ended before it has written", async (t) => {
  const { pool } = testPool(t, 2);
  const activity = new TaskActivity();
  const untilWord = new Int32Array(new SharedArrayBuffer(8));
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const limits = { ...unlimited, stops: [stop], graceMs: 0, activity };
  const task = lossIn(pool.run("write", { memory: activity.memory, until: untilWord }, limits));
  await until("it writes", () => Atomics.load(untilWord, 1) === 1);
  Atomics.store(stop, 0, 1);
  t.equal(await lossIn(pool.run("spin", undefined, limitsNow())), "overrun", "another one is ended meanwhile");
  t.notOk(await isSettled(task));
  Atomics.store(untilWord, 0, 1);
  Atomics.notify(untilWord, 0);
  t.match(await task, /overrun|undefined/, "then it is ended, or has come back");
});

t.test("a thread whose modules cannot be loaded is replaced", async (t) => {
  const folder = t.testdir({
    "entry.mjs": `import "./part.mjs";\nexport * from "${entry.href}";\nexport { default } from "${entry.href}";\n`,
  });
  const { pool } = testPool(t, 1, { entry: pathToFileURL(join(folder, "entry.mjs")) });
  t.equal(await lossIn(pool.run("echo", 1, unlimited)), "died", "a task is told when there is no thread at all");
  writeFileSync(join(folder, "part.mjs"), "export {};\n");
  t.equal(await within(pool.run("echo", 2, unlimited), "the answer of the next thread"), 2);
});

t.test("a thread that the system refuses to start is started later", async (t) => {
  let refusals = 1;
  const refused = {
    ...settings,
    get dataFolder() {
      if (refusals-- > 0) throw new TrawlError("internal", "no descriptor left");
      return settings.dataFolder;
    },
  };
  const { pool } = testPool(t, 1, { settings: refused });
  t.equal(await within(pool.run("echo", 1, unlimited), "a task that waits"), 1);
  // With its only thread ended, the pool needs another one, which is refused.
  refusals = 1;
  const hung = lossIn(pool.run("never", undefined, limitsNow()));
  const waiting = lossIn(pool.run("echo", 2, unlimited));
  t.same(await Promise.all([hung, waiting]), ["overrun", "died"], "a task is told when there is no thread at all");
  t.equal(await within(pool.run("echo", 3, unlimited), "the answer of the next thread"), 3);
});

t.test("a pool that closes ends what does not come back, and takes nothing more", async (t) => {
  const { pool } = testPool(t, 2);
  // A thread that sleeps hangs like one that runs, and takes no processor meanwhile.
  const hung = lossIn(pool.run(isFull ? "spin" : "sleep", undefined, unlimited));
  await pool.run("echo", 1, unlimited);
  await pool.close();
  t.equal(await hung, "stopped");
  await t.rejects(pool.run("echo", 1, unlimited), { code: "shutting-down" });
  await pool.close();
});

function isGroupGone(leader: number): boolean {
  try {
    process.kill(-leader, 0);
    return false;
  } catch {
    return true;
  }
}

async function isSettled(task: Promise<unknown>): Promise<boolean> {
  const pending = {};
  return (await Promise.race([task, Promise.resolve(pending)])) !== pending;
}

t.test("threads that have been idle for long end, but one, and others start when tasks wait", async (t) => {
  const { pool, losses } = testPool(t, 3, { idleMs: 20 });
  const threads = async (count: number): Promise<Set<unknown>> => {
    const gate = new Int32Array(new SharedArrayBuffer(4));
    const tasks = Array.from({ length: count }, () => pool.run("meet", { gate, count }, unlimited));
    return new Set(await Promise.all(tasks));
  };
  const first = await threads(3);
  t.equal(first.size, 3);
  await until("two threads have ended", () => pool.threadCount === 1);
  const one = await pool.run("meet", { gate: new Int32Array(new SharedArrayBuffer(4)), count: 1 }, unlimited);
  t.ok(first.has(one), "the one that is left is not a new one");
  t.equal((await threads(3)).size, 3, "more start when they are needed");
  await until("they end, too", () => pool.threadCount === 1);
  t.same(losses, []);
});

t.test("threads are kept where nothing else is asked", async (t) => {
  const { pool } = testPool(t, 2);
  const gate = new Int32Array(new SharedArrayBuffer(4));
  await Promise.all([1, 2].map(() => pool.run("meet", { gate, count: 2 }, unlimited)));
  await pool.run("echo", 1, unlimited);
  t.equal(pool.threadCount, 2);
});

t.test("short tasks share a thread for a while, and long ones get another", async (t) => {
  const alone = () => ({ gate: new Int32Array(new SharedArrayBuffer(4)), count: 1 });
  const patient = testPool(t, 3, { patienceMs: 3_600_000 }).pool;
  const threads = await Promise.all([1, 2, 3].map(() => patient.run("meet", alone(), unlimited)));
  t.equal(new Set(threads).size, 1);
  t.equal(patient.threadCount, 1);
  const { pool } = testPool(t, 3, { patienceMs: 20 });
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const met = await Promise.all([1, 2, 3].map(() => pool.run("meet", { gate, count: 3 }, unlimited)));
  t.equal(new Set(met).size, 3, "tasks that wait for each other get threads of their own");
});
