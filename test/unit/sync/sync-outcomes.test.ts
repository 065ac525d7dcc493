/** What the next task does after one that has not completed what was asked of it. */
import t from "tap";
import { serializeError, TrawlError } from "../../../src/base/errors.js";
import { silentLog } from "../../../src/base/log.js";
import { createMetrics } from "../../../src/base/metrics.js";
import { IngestLoss } from "../../../src/pool/ingest-pool.js";
import { ThreadLoss } from "../../../src/pool/worker-pool.js";
import type {
  RemoveTask,
  SyncInput,
  SyncOutcome,
  SyncTask,
  SyncTaskResult,
} from "../../../src/protocol/ingest-messages.js";
import { ShardFlips } from "../../../src/sync/housekeeping/shard-flips.js";
import { LossJudge } from "../../../src/sync/runner/loss.js";
import { SyncOutcomes } from "../../../src/sync/runner/sync-outcomes.js";
import { SyncRunner } from "../../../src/sync/runner/sync-runner.js";
import { testRepository } from "../../support/engine.js";
import { syncParts } from "../../support/sync-parts.js";
import { TestClock } from "../../support/test-clock.js";

t.test("a mirror that is to be fetched anew is, also after a fetch that failed or was too slow", async (t) => {
  const { queue, catalog } = await syncParts(t, 1);
  type Arguments = ConstructorParameters<typeof SyncOutcomes>;
  const services = { catalog, log: silentLog(), metrics: createMetrics().metrics, settings: { intervalMsMax: 1_000 } };
  const outcomes = new SyncOutcomes(services as unknown as Arguments[0], queue, {} as Arguments[2], {} as Arguments[3]);
  outcomes.recordBrokenHistory(catalog.repository(1)!, 1);
  const schedule = queue.schedule(1);
  const ends: readonly SyncOutcome[] = [
    { kind: "deferred", repositoryId: 1 },
    { kind: "failed", repositoryId: 1, error: serializeError(new TrawlError("git", "reset")) },
  ];
  for (const end of ends) {
    t.ok(schedule.recreate, `before the task that is ${end.kind}`);
    // As a task does that takes the repository.
    schedule.recreate = false;
    outcomes.recordRecreation(1);
    outcomes.settle(end, performance.now());
  }
  t.ok(schedule.recreate);
});

t.test("a requested sync is one still when it is tried again, and what it may lose is, too", async (t) => {
  const { queue, catalog, tasks, locks } = await syncParts(t, 1);
  const inputs: SyncInput[] = [];
  const doing = { repositoryId: 1, phase: "indexing", state: "s", oid: "b", path: "p", shardIds: [] } as const;
  const another: SyncOutcome = { kind: "lacking", repositoryId: 1 };
  const done: SyncOutcome = { kind: "unchanged", repositoryId: 1, fetched: "", warnings: [], cut: "" };
  /** What the tasks end with, one after the other. */
  const ends: (() => SyncOutcome)[] = [];
  const retired: number[] = [];
  const pool = {
    sync: async ({ repositories }: SyncTask): Promise<SyncTaskResult> => {
      inputs.push(...repositories);
      const end = ends.shift()!();
      if (end !== another) return { outcomes: [end], shards: [] };
      await catalog.follow(() => ({}), { version: 5, flipId: "of another node" });
      const change = {
        defaultBranch: "main",
        indexedBranches: [],
        documentCount: 9,
        contentBytes: 9,
        skippedCounts: {},
      };
      const outcome = {
        ...done,
        ...change,
        kind: "changed",
        replaces: false,
        tombstones: new Map(),
        lacksObjects: false,
        mirror: "1 1",
      };
      const shard = { id: 3, storedBytes: 9, contentBytes: 9, documentCount: 9, repositoryIds: [1] };
      return { outcomes: [outcome as unknown as SyncOutcome], shards: [shard] };
    },
    remove: ({ shardIds }: RemoveTask): Promise<void> => {
      retired.push(...shardIds);
      return Promise.resolve();
    },
  };
  const settings = { intervalMsMin: 1_000, intervalMsMax: 1_000, acceptEmptyMs: 0 };
  const metrics = createMetrics().metrics;
  const services = { catalog, manifest: catalog, pool, settings, log: silentLog(), metrics };
  const flips = new ShardFlips(services as unknown as ConstructorParameters<typeof ShardFlips>[0], tasks);
  flips.reserveShardIds(9);
  type Arguments = ConstructorParameters<typeof SyncRunner>;
  type Outcomes = ConstructorParameters<typeof SyncOutcomes>;
  const history = { enqueue: () => undefined, forgetBroken: () => undefined };
  const outcomes = new SyncOutcomes(services as unknown as Outcomes[0], queue, {} as Outcomes[2], history);
  const quarantines = { isOutdated: () => false };
  const repairs = { count: () => undefined };
  const parts = { tasks, locks, queue, flips, repairs, outcomes, judge: new LossJudge("1"), quarantines };
  const runner = new SyncRunner(services as unknown as Arguments[0], parts as unknown as Arguments[1]);
  const clock = new TestClock(t);
  const cases: readonly (readonly [what: string, end: () => SyncOutcome])[] = [
    ["the remote is slow", () => ({ kind: "deferred", repositoryId: 1 })],
    ["objects are missing", () => ({ kind: "lacking", repositoryId: 1 })],
    ["another node has changed the index meanwhile", () => another],
    [
      "the thread is lost",
      () => {
        throw new IngestLoss(new ThreadLoss("memory", undefined), doing);
      },
    ],
  ];
  const asked = (input: SyncInput | undefined) => input && [input.isRequested, input.acceptsLoss];
  for (const [what, end] of cases) {
    ends.push(
      end,
      () => done,
      () => done,
    );
    const result = queue.sync(1);
    queue.schedule(1).acceptsLoss = true;
    for (const isPatient of [false, true]) await runner.run((queue.takeUrgent() ?? queue.takeSlow())!, isPatient);
    t.equal(await result, "unchanged", what);
    queue.enqueue(1, false);
    await runner.run(queue.takeBatch(1), false);
    const all = [
      [true, "asked"],
      [true, "asked"],
      [false, "no"],
    ];
    t.same(inputs.splice(0).map(asked), all, what);
  }
  t.same(retired, [3], "what was computed before it is not used");
  t.match(catalog.repository(1), { documentCount: 0, generation: testRepository(1, "").generation });
  ends.push(() => {
    throw new TrawlError("conflict", "node b changes the index at this moment");
  });
  const refused = t.rejects(queue.sync(1), { code: "conflict" });
  await runner.run(queue.takeUrgent()!, false);
  await refused;
  t.equal(catalog.repository(1)?.lastError, "", "the repository has no fault");
  t.same(inputs.splice(0).map(asked), [[true, "no"]]);
  ends.push(() => done);
  runner.secrets = { find: () => new Promise(() => undefined), doubt: () => undefined };
  const result = queue.sync(1);
  const first = runner.run(queue.takeUrgent()!, false);
  await clock.advance(3_000);
  await first;
  runner.secrets = { find: () => Promise.resolve("user:word"), doubt: () => undefined };
  await runner.run(queue.takeSlow()!, true);
  t.equal(await result, "unchanged", "the host that gives the secret is slow");
  t.same(inputs.map(asked), [[true, "no"]]);
});
