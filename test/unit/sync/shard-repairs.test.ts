/** Damaged shards that other nodes have: they are fetched one at a time, beside the syncs. */
import t from "tap";
import { silentLog } from "../../../src/base/log.js";
import { ShardRepairs, ShardRestores } from "../../../src/sync/housekeeping/shard-repairs.js";
import { IndexTasks } from "../../../src/sync/queue/index-tasks.js";
import type { SyncQueue } from "../../../src/sync/queue/sync-queue.js";
import { type SyncServices, wholeShare } from "../../../src/sync/services/sync-settings.js";

t.test("shards are fetched one at a time, no sync waits, and none that is gone stays", async (t) => {
  const live = new Set([1, 2, 3, 4]);
  const running: { readonly id: number; readonly end: (error?: Error) => void }[] = [];
  const retired: number[] = [];
  const queued: number[] = [];
  let repaired = 0;
  const services = {
    share: wholeShare,
    catalog: {
      shard: (id: number) => (live.has(id) ? { record: { id, checksum: id, repositoryIds: [id + 10] } } : undefined),
      historyShard: () => undefined,
    },
    pool: { check: () => Promise.resolve({ failures: [], lostSymbols: [] }) },
    metrics: {
      shardsDamaged: { inc: () => undefined },
      shardsRepaired: { inc: () => void repaired++ },
      indexCorruptShards: { set: () => undefined },
    },
    log: silentLog(),
    restore: ({ id }: { readonly id: number }) =>
      new Promise<void>((resolve, reject) => {
        running.push({ id, end: (error) => (error === undefined ? resolve() : reject(error)) });
      }),
  } as unknown as SyncServices;
  const tasks = new IndexTasks(silentLog());
  const flips = { retire: (ids: readonly number[]) => void retired.push(...ids) };
  const restores = new ShardRestores(services, tasks, flips);
  const queue = { enqueue: (id: number) => void queued.push(id) } as unknown as SyncQueue;
  const repairs = new ShardRepairs(services, tasks, queue, restores);
  for (const id of [1, 2, 3, 4, 1, 9]) repairs.repair(id);
  const turns = async (): Promise<void> => {
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
  };
  await turns();
  t.strictSame([running.map(({ id }) => id), tasks.count, restores.runningCount], [[1], 4, 4]);
  running[0]?.end();
  await turns();
  t.strictSame([running.map(({ id }) => id), repaired, tasks.count], [[1, 2], 1, 3]);
  // The second is replaced while its bytes come, and the third while it waits.
  live.delete(2);
  live.delete(3);
  running[1]?.end();
  await turns();
  t.strictSame([running.map(({ id }) => id), retired, queued], [[1, 2, 4], [2], []]);
  running[2]?.end(new Error("the bucket has lost it"));
  await tasks.idle();
  t.strictSame([queued, restores.runningCount], [[14], 0], "what cannot be fetched is built again");
});
