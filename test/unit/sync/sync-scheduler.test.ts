/** Which tasks are started: syncs, then histories, then merges, then repacking, on as many threads as there are. */
import t, { type Test } from "tap";
import type { Repository } from "../../../src/model/repository.js";
import { SyncScheduler } from "../../../src/sync/runner/sync-scheduler.js";
import { idsOf, syncParts, type SyncParts } from "../../support/sync-parts.js";
import { settled, TestClock } from "../../support/test-clock.js";

interface Scene extends SyncParts {
  readonly scheduler: SyncScheduler;
  /** Tasks that were started: `sync 1,2`, `slow sync 3`, `merge`, `repack`, `history`. */
  readonly started: string[];
  /** Number of merges, of mirrors to repack, and of histories to index, that are due. */
  readonly due: { merges: number; repacks: number; histories: number };
  /** Ends the oldest task of that name; resolves when what it allows to start has been started. */
  end(name: string): Promise<void>;
}

/** Tasks that run until the test ends them: the pool and what would run in it are plain objects. */
async function scene(t: Test, repositoryCount: number, workerCount: number, slowWorkerCount: number): Promise<Scene> {
  const parts = await syncParts(t, repositoryCount);
  const { tasks, queue, locks } = parts;
  const started: string[] = [];
  const due = { merges: 0, repacks: 0, histories: 0 };
  const running: { readonly name: string; readonly end: () => void }[] = [];
  const begin = (name: string, onEnd: () => void): Promise<void> => {
    started.push(name);
    return new Promise((resolve) =>
      running.push({
        name,
        end: () => {
          onEnd();
          resolve();
        },
      }),
    );
  };
  const startDue = (kind: keyof Scene["due"], name: string): boolean => {
    if (due[kind] === 0) return false;
    due[kind]--;
    tasks.track(begin(name, () => undefined));
    return true;
  };
  const runner = {
    run: (repositories: readonly Repository[], isPatient: boolean): Promise<void> => {
      const ids = idsOf(repositories) ?? [];
      return begin(`${isPatient ? "slow " : ""}sync ${ids.join()}`, () => locks.release(ids));
    },
  };
  const scheduler = new SyncScheduler(
    { workerCount, slowWorkerCount } as ConstructorParameters<typeof SyncScheduler>[0],
    tasks,
    queue,
    runner as ConstructorParameters<typeof SyncScheduler>[3],
    [
      {
        start: () => startDue("histories", "history"),
        get runningCount() {
          return running.filter(({ name }) => name === "history").length;
        },
      },
    ],
    [{ start: () => startDue("merges", "merge") }, { start: () => startDue("repacks", "repack") }],
  );
  tasks.useStarter(() => scheduler.startWaiting());
  const end = async (name: string): Promise<void> => {
    const at = running.findIndex((task) => task.name === name);
    t.ok(at >= 0, `${name} is running`);
    running.splice(at, 1)[0]?.end();
    await settled();
  };
  return { ...parts, scheduler, started, due, end };
}

t.test("while they are held, nothing but syncs is started", async (t) => {
  const { scheduler, queue, tasks, due, started } = await scene(t, 2, 2, 0);
  scheduler.isHeld = true;
  Object.assign(due, { histories: 1, merges: 1, repacks: 1 });
  queue.enqueue(1, false);
  tasks.pump();
  t.same(started, ["sync 1"]);
  scheduler.isHeld = false;
  tasks.pump();
  t.same(started, ["sync 1", "history", "merge"]);
});

t.test("no more tasks run than there are workers, and the next starts when one ends", async (t) => {
  const { queue, tasks, started, end } = await scene(t, 4, 2, 0);
  for (const id of [1, 2, 3, 4]) queue.enqueue(id, false);
  tasks.pump();
  t.same(started, ["sync 1", "sync 2"]);
  await end("sync 1");
  t.same(started.slice(2), ["sync 3"]);
  await end("sync 2");
  await end("sync 3");
  await end("sync 4");
  t.equal(started.length, 4);
  t.equal(tasks.count, 0);
});

t.test("syncs come before histories, these before merges, and repacking is last", async (t) => {
  const { queue, tasks, started, due, end } = await scene(t, 2, 1, 0);
  const clock = new TestClock(t);
  due.merges = 1;
  due.repacks = 1;
  due.histories = 1;
  queue.enqueue(1, false);
  tasks.pump();
  queue.enqueue(2, false);
  await end("sync 1");
  await end("sync 2");
  await clock.advance(100);
  await end("merge");
  await end("repack");
  await end("history");
  t.same(started, ["sync 1", "sync 2", "history", "merge", "repack"]);
});

t.test("other work starts some time after the last sync, but is not put off for ever", async (t) => {
  const { queue, tasks, started, due, end } = await scene(t, 1, 1, 0);
  const clock = new TestClock(t);
  const sync = async (): Promise<void> => {
    queue.enqueue(1, false);
    tasks.pump();
    await end("sync 1");
  };
  due.merges = 1;
  await sync();
  await clock.advance(99);
  t.notOk(started.includes("merge"));
  await clock.advance(1);
  t.same(started, ["sync 1", "merge"]);
  await end("merge");
  due.merges = 1;
  for (let ms = 0; ms < 1000; ms += 50) {
    await sync();
    t.notOk(started.slice(2).includes("merge"), `after ${ms} ms`);
    await clock.advance(50);
  }
  t.equal(started.at(-1), "merge", "after a second");
});

t.test("a history does not keep a worker from syncs", async (t) => {
  const { queue, tasks, started, due, end } = await scene(t, 1, 1, 0);
  due.histories = 1;
  tasks.pump();
  queue.enqueue(1, false);
  tasks.pump();
  t.same(started, ["history", "sync 1"]);
  await end("sync 1");
  await end("history");
});

t.test("a slow remote uses a reserved thread while the workers have other tasks", async (t) => {
  const { queue, locks, tasks, started, end } = await scene(t, 4, 1, 1);
  queue.enqueue(1, false);
  queue.enqueue(2, false);
  for (const id of [1, 2]) queue.defer(id);
  for (const id of [3, 4]) queue.enqueue(id, false);
  tasks.pump();
  t.same(started, ["slow sync 1", "sync 3"], "one for each kind of thread");
  t.ok(locks.isBusy(1) && !locks.isBusy(2));
  await end("sync 3");
  t.same(started.slice(2), ["sync 4"], "the reserved thread is not for other syncs");
  await end("slow sync 1");
  t.same(started.slice(3), ["slow sync 2"]);
});

t.test("a sync that a caller waits for uses a reserved thread when all workers are busy", async (t) => {
  const { queue, tasks, started, end } = await scene(t, 5, 1, 1);
  queue.enqueue(1, false);
  tasks.pump();
  queue.request(2);
  queue.request(3);
  queue.enqueue(4, false);
  tasks.pump();
  t.same(started, ["sync 1", "sync 2"], "the third waits for a thread");
  await end("sync 2");
  t.same(started.slice(2), ["sync 3"]);
  await end("sync 1");
  t.same(started.slice(3), ["sync 4"]);
});

t.test("after a stop nothing is started", async (t) => {
  const { queue, tasks, started, due, end } = await scene(t, 3, 1, 1);
  queue.enqueue(1, false);
  tasks.pump();
  due.merges = 1;
  queue.enqueue(2, false);
  queue.defer(3);
  tasks.stop();
  await end("sync 1");
  t.same(started, ["sync 1"]);
  await tasks.idle();
  t.equal(tasks.count, 0);
});
