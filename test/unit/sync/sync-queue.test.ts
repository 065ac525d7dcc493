/** Who is synced next, with whom in one task, and what callers are told who wait for it. */
import assert from "node:assert/strict";
import t from "tap";
import { TrawlError } from "../../../src/base/errors.js";
import { idsOf, syncParts } from "../../support/sync-parts.js";
import { fc, runs } from "../../support/property.js";
import { until } from "../../support/waiting.js";

const workerCount = 2;

t.test("a repository that a caller waits for is first and alone", async (t) => {
  const { queue } = await syncParts(t, 4);
  for (const id of [1, 2, 3]) queue.enqueue(id, false);
  queue.request(4);
  queue.request(3);
  t.equal(queue.waitingCount, 5);
  t.same(idsOf(queue.takeBatch(workerCount)), [4]);
  t.same(idsOf(queue.takeBatch(workerCount)), [3]);
  t.same(idsOf(queue.takeBatch(workerCount)), [1], "the queued request of 3 is served too");
  t.equal(queue.waitingCount, 1);
});

t.test("a batch leaves several batches for each worker, and has at most 64 repositories", async (t) => {
  const { queue } = await syncParts(t, 600);
  for (let id = 1; id <= 80; id++) queue.enqueue(id, false);
  t.equal(queue.takeBatch(workerCount).length, 10, "an eighth, for two workers");
  t.equal(queue.takeBatch(1).length, 18, "a quarter of the rest, for one");
  for (let id = 81; id <= 600; id++) queue.enqueue(id, false);
  t.equal(queue.takeBatch(1).length, 64);
});

t.test("a batch takes no longer with more repositories in the queue", async (t) => {
  const { queue, catalog } = await syncParts(t, 2_000);
  for (let id = 1; id <= 2_000; id++) queue.enqueue(id, false);
  const read = t.capture(catalog, "repository", catalog.repository.bind(catalog));
  t.equal(queue.takeBatch(1).length, 64);
  const count = read().length;
  t.ok(count < 1_000, `${count} repositories were looked up`);
});

t.test("repositories with other readers are in other batches", async (t) => {
  const { queue, catalog } = await syncParts(t, 40);
  await catalog.publish(() => ({
    repositories: [...catalog.repositories()].map((repository) => ({
      ...repository,
      private: repository.id % 4 !== 0,
      readers: repository.id % 4 === 1 ? ["ann", "Bob"] : repository.id % 4 === 2 ? ["bob", "ann"] : [],
    })),
  }));
  for (let id = 1; id <= 40; id++) queue.enqueue(id, false);
  const kind = (id: number): number => [0, 1, 1, 3][id % 4]!;
  for (;;) {
    const batch = queue.takeBatch(1);
    if (batch.length === 0) break;
    t.equal(new Set(batch.map(({ id }) => kind(id))).size, 1, String(idsOf(batch)));
  }
  t.equal(queue.waitingCount, 0);
});

t.test("what is in partitions of other nodes stays in the queue, and batches are of one partition", async (t) => {
  const owned = new Set([0, 2]);
  const find = (id: number): number => (id - 1) % 3;
  const { queue } = await syncParts(t, 36, 3, {
    partitions: () => [...owned],
    has: (id) => owned.has(find(id)),
    refusal: (id) => new TrawlError("conflict", `partition ${find(id)}`),
  });
  for (let id = 1; id <= 36; id++) queue.enqueue(id, false);
  await t.rejects(queue.sync(2), { code: "conflict", message: "partition 1" });
  const waiting = queue.sync(3);
  queue.request(2);
  const taken = (): Set<number> => {
    const found = new Set<number>();
    for (;;) {
      const batch = idsOf(queue.takeBatch(1)) ?? [];
      if (batch.length === 0) return found;
      t.equal(new Set(batch.map(find)).size, 1, String(batch));
      for (const id of batch) found.add(find(id));
    }
  };
  owned.delete(2);
  queue.rejectOthers();
  await t.rejects(waiting, { code: "conflict", message: "partition 2" });
  t.strictSame(taken(), new Set([0]));
  owned.add(1);
  t.strictSame(taken(), new Set([1]));
  queue.enqueue(3, false);
  queue.tryAgain(6, false);
  t.strictSame(taken(), new Set(), "what was left of the partition that it has lost");
  owned.add(2);
  t.strictSame(taken(), new Set([2]));
});

t.test("several requests before a sync result in one, a request during it in another", async (t) => {
  const { queue, locks } = await syncParts(t, 1);
  queue.request(1);
  queue.request(1);
  t.same(idsOf(queue.takeBatch(workerCount)), [1]);
  t.same(queue.takeBatch(workerCount), []);
  queue.request(1);
  t.same(queue.takeBatch(workerCount), [], "the repository is in a task");
  locks.release([1]);
  t.same(idsOf(queue.takeBatch(workerCount)), [1]);
  locks.release([1]);
  t.same(queue.takeBatch(workerCount), []);
});

t.test(
  "the sync at the start leaves out what this process has synced, such as a repository added just before",
  async (t) => {
    const { queue, locks } = await syncParts(t, 3);
    queue.request(2);
    t.same(idsOf(queue.takeBatch(workerCount)), [2]);
    for (const id of [1, 2, 3]) queue.enqueueFirst(id, false);
    t.equal(queue.waitingCount, 2, "2 is in a task");
    locks.release([2]);
    t.same([idsOf(queue.takeBatch(1)), idsOf(queue.takeBatch(1))], [[1], [3]]);
    queue.enqueueFirst(2, true);
    t.same(idsOf(queue.takeBatch(1)), [2], "but not if all of it is to be indexed again");
  },
);

t.test("a repository in whose task a thread was lost is alone until it succeeds", async (t) => {
  const { queue, locks } = await syncParts(t, 60);
  const all = Array.from({ length: 60 }, (_, i) => i + 1);
  for (const id of all.slice(0, 20)) queue.enqueue(id, false);
  t.same(idsOf(queue.takeBatch(workerCount)), [1, 2, 3]);
  queue.tryAgain(2, true);
  locks.release([1, 2, 3]);
  for (const id of all.slice(20)) queue.enqueue(id, false);
  const batches: number[][] = [];
  for (let batch = queue.takeBatch(workerCount); batch.length > 0; batch = queue.takeBatch(workerCount))
    batches.push(idsOf(batch) ?? []);
  t.same(
    batches.find((batch) => batch.includes(2)),
    [2],
  );
  t.equal(batches.flat().length, 58, "the others are synced as well");
  locks.release(batches.flat());
  queue.recordSuccess(2);
  for (const id of all.slice(0, 20)) queue.enqueue(id, false);
  t.same(idsOf(queue.takeBatch(workerCount)), [1, 2, 3], "after a success it is together with others");
});

t.test("a repository with a slow remote is taken only for the reserved threads", async (t) => {
  const { queue, locks } = await syncParts(t, 3);
  queue.enqueue(1, false);
  queue.takeBatch(workerCount);
  queue.defer(1);
  queue.request(1);
  t.equal(queue.takeSlow(), undefined, "its first task has not ended");
  locks.release([1]);
  t.same(queue.takeBatch(workerCount), []);
  t.equal(queue.takeUrgent(), undefined);
  t.same(idsOf(queue.takeSlow()), [1]);
  t.equal(queue.takeSlow(), undefined);
  queue.recordSuccess(1);
  locks.release([1]);
  queue.request(1);
  t.equal(queue.takeSlow(), undefined);
  t.same(idsOf(queue.takeUrgent()), [1], "after a success its remote counts as quick");
});

t.test("a caller gets the result of the sync that it waits for", async (t) => {
  const { queue, tasks } = await syncParts(t, 2);
  let started = 0;
  tasks.useStarter(() => started++);
  const done = queue.sync(1);
  t.equal(started, 1, "a waiting task is started at once");
  queue.takeBatch(workerCount);
  queue.schedule(1).attend();
  queue.schedule(1).resolveAttending("indexed");
  t.equal(await done, "indexed");
  await t.rejects(queue.sync(7), { code: "not-found" }, "no such repository");
});

t.test("callers of a task that has to be repeated continue to wait, and are served first", async (t) => {
  const { queue, locks } = await syncParts(t, 3);
  const done = queue.sync(3);
  queue.takeBatch(workerCount);
  queue.schedule(3).attend();
  queue.tryAgain(3, false);
  for (const id of [1, 2]) queue.enqueue(id, false);
  locks.release([3]);
  t.same(idsOf(queue.takeBatch(workerCount)), [3]);
  queue.schedule(3).attend();
  queue.schedule(3).resolveAttending("unchanged");
  t.equal(await done, "unchanged");
});

t.test("after a removal nothing of the repository is started, and its callers are told", async (t) => {
  const { queue, catalog } = await syncParts(t, 2);
  const waiting = queue.sync(1);
  queue.takeBatch(workerCount);
  queue.schedule(1).attend();
  const next = queue.sync(1);
  await catalog.publish(() => ({ removedRepositoryIds: [1] }));
  queue.remove(1);
  await Promise.all([t.rejects(waiting, { code: "not-found" }), t.rejects(next, { code: "not-found" })]);
  queue.request(1);
  queue.tryAgain(1, true);
  t.equal(queue.waitingCount, 0);
});

t.test("after a failure of the store callers are refused with its reason", async (t) => {
  const { queue, tasks } = await syncParts(t, 2);
  const waiting = queue.sync(1);
  const error = new TrawlError("store-lost", "the state of the shards is unknown");
  tasks.suspend(error);
  queue.suspend(error);
  await t.rejects(waiting, error);
  await t.rejects(queue.sync(2), error);
  t.same(queue.takeBatch(workerCount), [], "what was waiting is dropped");
  let started = 0;
  tasks.useStarter(() => started++);
  tasks.pump();
  t.equal(started, 0, "no task is started");
});

t.test("a stop ends the wait of all callers, also of those whose task is running", async (t) => {
  const { queue } = await syncParts(t, 2);
  const running = queue.sync(1);
  queue.takeBatch(workerCount);
  queue.schedule(1).attend();
  const waiting = queue.sync(2);
  queue.close();
  await Promise.all([t.rejects(running, { code: "shutting-down" }), t.rejects(waiting, { code: "shutting-down" })]);
  t.equal(queue.waitingCount, 0);
});

t.test("a later sync is queued when its time comes, unless the repository was queued or removed before", async (t) => {
  const { queue, catalog, tasks } = await syncParts(t, 3);
  const [first, second, third] = [...catalog.repositories()];
  let started = 0;
  tasks.useStarter(() => started++);
  queue.enqueueAfter(first!, 0);
  queue.enqueueAfter(second!, 0);
  queue.enqueueAfter(third!, 0);
  queue.remove(first!.id);
  queue.enqueue(second!.id, true);
  // Timers with the same delay fire in the order in which they were started.
  await until("the third is queued", () => started > 0);
  t.equal(started, 1);
  t.same(idsOf(queue.takeBatch(1)), [2]);
  t.same(idsOf(queue.takeBatch(1)), [3]);
  t.same(queue.takeBatch(1), []);
  t.equal(queue.schedule(second!.id).rebuild, true);
});

type Step =
  | { readonly kind: "enqueue" | "request" | "release"; readonly id: number }
  | { readonly kind: "take"; readonly workerCount: number };

const repositoryCount = 6;
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constantFrom("enqueue" as const, "request" as const, "release" as const),
    id: fc.integer({ min: 1, max: repositoryCount }),
  }),
  fc.record({ kind: fc.constant("take" as const), workerCount: fc.integer({ min: 1, max: 2 }) }),
);

t.test("in any order of calls, a waiting repository is taken once, and never while it is in a task", async (t) => {
  const { queue, locks } = await syncParts(t, repositoryCount);
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const waiting = new Set<number>();
      const busy = new Set<number>();
      const take = (count: number): void => {
        const ids = idsOf(queue.takeBatch(count)) ?? [];
        const free = [...waiting].filter((id) => !busy.has(id));
        assert.equal(ids.length > 0, free.length > 0, "a batch is empty only if nothing is free");
        for (const id of ids) {
          assert.ok(waiting.delete(id) && !busy.has(id), `${id} waits and is in no task`);
          busy.add(id);
        }
      };
      const release = (id: number): void => {
        if (busy.delete(id)) locks.release([id]);
      };
      for (const one of steps) {
        if (one.kind === "take") take(one.workerCount);
        else if (one.kind === "release") release(one.id);
        else {
          if (one.kind === "enqueue") queue.enqueue(one.id, false);
          else queue.request(one.id);
          waiting.add(one.id);
        }
      }
      for (const id of [...busy]) release(id);
      while (waiting.size > 0) take(1);
      for (const id of [...busy]) release(id);
      assert.deepEqual(queue.takeBatch(1), [], "nothing is taken twice");
    }),
    { numRuns: runs(300) },
  );
  t.pass();
});
