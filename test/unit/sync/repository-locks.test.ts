/** A repository is in one task at a time; what needs it alone waits for that task. */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { mirrorName } from "../../../src/model/repository.js";
import { syncParts } from "../../support/sync-parts.js";
import { settled } from "../../support/test-clock.js";

t.test("work that needs a repository alone waits for the task that has it", async (t) => {
  const { locks, tasks } = await syncParts(t, 2);
  let end: () => void = () => undefined;
  locks.lock([1]);
  const task = new Promise<void>((resolve) => (end = resolve));
  tasks.track(task.then(() => locks.release([1])));
  const steps: string[] = [];
  const first = locks.exclusively(1, async () => steps.push("first"));
  const other = locks.exclusively(2, async () => steps.push("other"));
  await other;
  await settled();
  t.same(steps, ["other"]);
  end();
  await first;
  t.same(steps, ["other", "first"]);
  t.notOk(locks.isBusy(1) || locks.isBusy(2));
});

t.test("of several that need it alone, each waits for the one before, and a task for all", async (t) => {
  const { locks } = await syncParts(t, 1);
  const ends: (() => void)[] = [];
  const steps: string[] = [];
  const begin = (name: string) =>
    locks.exclusively(1, async () => {
      steps.push(name);
      await new Promise<void>((resolve) => ends.push(resolve));
    });
  const works = ["one", "two", "three"].map(begin);
  for (const done of [["one"], ["one", "two"], ["one", "two", "three"]]) {
    await settled();
    t.same(steps, done);
    t.ok(locks.isBusy(1));
    ends.shift()?.();
  }
  await Promise.all(works);
  t.notOk(locks.isBusy(1));
});

t.test("the repository is busy meanwhile, and free after a failure", async (t) => {
  const { locks, tasks } = await syncParts(t, 1);
  let pumped = 0;
  tasks.useStarter(() => pumped++);
  await t.rejects(
    locks.exclusively(1, async () => {
      t.ok(locks.isBusy(1));
      throw new RangeError("it failed");
    }),
    { message: "it failed" },
  );
  t.notOk(locks.isBusy(1));
  t.equal(pumped, 1, "tasks that waited for it are started");
});

t.test("a stop ends the wait", async (t) => {
  const { locks, tasks } = await syncParts(t, 1);
  let end: () => void = () => undefined;
  locks.lock([1]);
  tasks.track(new Promise<void>((resolve) => (end = resolve)).then(() => locks.release([1])));
  const waiting = locks.exclusively(1, async () => t.fail("it must not run"));
  tasks.stop();
  end();
  await t.rejects(waiting, { code: "shutting-down" });
  t.notOk(locks.isBusy(1));
});

t.test("the mirror of a repository that was removed during its task is deleted at the end of it", async (t) => {
  const { locks, tasks, catalog, dataFolder } = await syncParts(t, 2);
  const folders = [1, 2].map((id) => join(dataFolder, "mirrors", mirrorName(id)));
  for (const folder of folders) mkdirSync(folder);
  locks.lock([1, 2]);
  await catalog.publish(() => ({ removedRepositoryIds: [1] }));
  locks.release([1, 2]);
  await tasks.idle();
  t.same(
    folders.map((folder) => existsSync(folder)),
    [false, true],
  );
});
