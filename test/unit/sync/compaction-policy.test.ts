/** Which shards are merged; and what follows for an index that grows by small shards. */
import assert from "node:assert/strict";
import t from "tap";
import { silentLog } from "../../../src/base/log.js";
import type { LiveShard } from "../../../src/model/shard-record.js";
import type { RemoveTask } from "../../../src/protocol/ingest-messages.js";
import { Compaction } from "../../../src/sync/housekeeping/compaction.js";
import {
  chooseCompaction,
  isImpure,
  repositoriesByVisibility,
  type CompactionSite,
} from "../../../src/sync/housekeeping/compaction-policy.js";
import { ShardFlips } from "../../../src/sync/housekeeping/shard-flips.js";
import { testRepository } from "../../support/engine.js";
import { fc, runs } from "../../support/property.js";
import { wholeShare } from "../../../src/sync/services/sync-settings.js";
import { syncParts } from "../../support/sync-parts.js";

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
const mergedBytesMax = 64 * mebibyte;

interface Given {
  readonly contentBytes: number;
  readonly documentCount?: number;
  readonly tombstoneCount?: number;
  readonly repositoryIds?: readonly number[];
}

function shard(id: number, { contentBytes, documentCount = 10, tombstoneCount = 0, repositoryIds = [1] }: Given) {
  return {
    record: { id, storedBytes: 2 * contentBytes, contentBytes, documentCount, repositoryIds },
    stars: 0,
    summaries: new Uint8Array(0),
    tombstones: undefined,
    tombstoneCount,
  } satisfies LiveShard;
}

const neverBusy = (): boolean => false;

/** Repositories from 100 on are private, with other readers for each hundred. */
const siteWith = (isBusy: (shard: LiveShard) => boolean, suspects: readonly number[] = []): CompactionSite => ({
  isBusy,
  partition: () => 0,
  viewersKey: (id) => (id < 100 ? "" : `private reader${Math.floor(id / 100)}`),
  isSuspect: ({ record }) => suspects.includes(record.id),
});

/** The ids of the chosen ones; the shards have ids from 1 on. */
function choose(
  given: readonly Given[],
  isBusy: (shard: LiveShard) => boolean = neverBusy,
  suspects?: number[],
): string {
  const shards = given.map((one, i) => shard(i + 1, one));
  return chooseCompaction(shards, siteWith(isBusy, suspects))
    .map(({ record }) => record.id)
    .join();
}

const times = (count: number, given: Given): Given[] => new Array<Given>(count).fill(given);
const small: Given = { contentBytes: 10 * kibibyte };
const medium: Given = { contentBytes: 200 * kibibyte };

const rows: readonly (readonly [string, readonly Given[], string])[] = [
  // name, shards, ids of the merged ones
  ["no shards", [], ""],
  ["five of a size class", times(5, small), ""],
  ["six of a size class", times(6, small), "1,2,3,4,5,6"],
  ["those of other classes stay", [medium, ...times(3, small), medium, ...times(3, small)], "2,3,4,6,7,8"],
  ["the smallest class comes first", [...times(6, medium), ...times(6, small)], "7,8,9,10,11,12"],
  ["a merged shard has at most 64 MiB", times(8, { contentBytes: 20 * mebibyte }), "1,2,3"],
  ["large shards are left alone", times(20, { contentBytes: 33 * mebibyte }), ""],
  ["as many as fit, if a class has many", times(9, small), "1,2,3,4,5,6,7,8,9"],
  ["two fifths of the documents are dead", [{ ...small, tombstoneCount: 4 }], ""],
  ["more are dead", [medium, { ...small, tombstoneCount: 5 }], "2"],
  ["the same of a large shard", [{ contentBytes: mergedBytesMax, tombstoneCount: 5 }], "1"],
  ["most repositories are hidden", [{ ...small, repositoryIds: [0, 0, 3] }], "1"],
  ["few are hidden", [{ ...small, repositoryIds: [0, 2, 3] }], ""],
  [
    "shards of other viewers stay apart",
    [
      ...times(5, small),
      ...times(5, { ...small, repositoryIds: [100] }),
      ...times(6, { ...small, repositoryIds: [200] }),
    ],
    "11,12,13,14,15,16",
  ],
  ["a shard of several visibilities comes first", [...times(6, small), { ...small, repositoryIds: [1, 0, 100] }], "7"],
  ["and one with text of two groups of readers", [{ ...small, repositoryIds: [100, 101, 200] }], "1"],
  ["one visibility beside hidden documents", [{ ...small, repositoryIds: [100, 101, 0] }], ""],
  ["a dead one goes before a merge", [...times(6, small), { ...medium, tombstoneCount: 9 }], "7"],
];

t.test("which shards are chosen", async (t) => {
  for (const [name, given, expected] of rows) t.equal(choose(given), expected, name);
});

t.test("hidden documents of former viewers are left out soon", async (t) => {
  const given = [small, { ...small, repositoryIds: [100, 101, 0] }, { ...small, repositoryIds: [100, 101] }];
  t.equal(choose(given, neverBusy, [2]), "2");
  t.equal(choose(given, neverBusy, [3]), "", "nothing is hidden in it");
});

t.test("a merge writes shards of one visibility each", async (t) => {
  const site = siteWith(neverBusy);
  const ids = fc.array(fc.constantFrom(0, 1, 2, 100, 101, 200, 300), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(fc.array(ids, { minLength: 1, maxLength: 4 }), (given) => {
      const shards = given.map((repositoryIds, i) => shard(i + 1, { ...small, repositoryIds }));
      const groups = repositoriesByVisibility(shards, site.viewersKey);
      for (const group of groups) assert.equal(isImpure(shard(9, { ...small, repositoryIds: group }), site), false);
      assert.deepEqual(groups.flat().sort(), [...new Set(given.flat())].filter((id) => id !== 0).sort());
      assert.equal(new Set(groups.map(([id]) => site.viewersKey(id))).size, groups.length, "one for each");
    }),
    { numRuns: runs(200) },
  );
  t.pass();
});

t.test("a shard of a repository that is in a task is never chosen", async (t) => {
  const busy = ({ record }: LiveShard): boolean => record.id === 2;
  t.equal(choose(times(6, small), busy), "", "the other five are too few");
  t.equal(choose(times(7, small), busy), "1,3,4,5,6,7");
  t.equal(choose([small, { ...small, tombstoneCount: 9 }], busy), "");
});

t.test("an index that grows by small shards has few, and copies each byte a few times", async (t) => {
  const sizes = fc.array(fc.integer({ min: 16 * kibibyte, max: 300 * kibibyte }), { minLength: 100, maxLength: 600 });
  fc.assert(
    fc.property(sizes, (added) => {
      let shards: LiveShard[] = [];
      let copiedBytes = 0;
      let addedBytes = 0;
      let nextId = 1;
      for (const contentBytes of added) {
        addedBytes += contentBytes;
        shards.push(shard(nextId++, { contentBytes }));
        for (let chosen = chooseCompaction(shards, siteWith(neverBusy)); chosen.length > 0; ) {
          const bytes = chosen.reduce((sum, { record }) => sum + record.contentBytes, 0);
          assert.ok(bytes <= mergedBytesMax, "a merged shard is not too large");
          copiedBytes += bytes;
          shards = [...shards.filter((one) => !chosen.includes(one)), shard(nextId++, { contentBytes: bytes })];
          chosen = chooseCompaction(shards, siteWith(neverBusy));
        }
        assert.ok(shards.length <= 35, `${shards.length} shards`);
      }
      assert.ok(copiedBytes <= 6 * addedBytes, `${copiedBytes} bytes copied for ${addedBytes}`);
    }),
    { numRuns: runs(40) },
  );
  t.pass();
});

t.test("a merge of an index that another node has changed meanwhile is not used", async (t) => {
  const { catalog, tasks, locks } = await syncParts(t, 2);
  const record = (id: number, documentCount: number, ...repositoryIds: readonly number[]) => {
    return { id, storedBytes: 9, contentBytes: 9, documentCount, repositoryIds };
  };
  const live = (): number[] => catalog.shards().map(({ record: { id } }) => id);
  await catalog.publish(() => ({
    repositories: [testRepository(2, "host/r2", { private: true, readers: ["ann"] })],
    addedShards: [record(1, 9, 1, 2)],
  }));
  const retired: number[] = [];
  let nextId = 3;
  const pool = {
    compact: async () => {
      if (nextId === 3)
        await catalog.follow(() => ({ removedShardIds: [1], addedShards: [record(2, 9, 1, 2)] }), {
          version: 50,
          flipId: "of another node",
        });
      return { shards: [record(nextId++, 4, 1), record(nextId++, 5, 2)] };
    },
    remove: ({ shardIds }: RemoveTask) => Promise.resolve(void retired.push(...shardIds)),
  };
  type Arguments = ConstructorParameters<typeof Compaction>;
  const share = wholeShare;
  const services = {
    catalog,
    manifest: catalog,
    share,
    pool,
    settings: {},
    log: silentLog(),
  } as unknown as Arguments[0];
  const flips = new ShardFlips(services, tasks);
  flips.reserveShardIds(9);
  const repairs = { count: () => undefined } as unknown as Arguments[4];
  const symbols = { isPending: () => false } as unknown as Arguments[5];
  const compaction = new Compaction(services, tasks, locks, flips, repairs, symbols);
  await t.rejects(compaction.separate(1), { code: "conflict", message: /another node has changed the index/ });
  t.same([live(), retired], [[2], [3, 4]]);
  await compaction.separate(1);
  t.same(
    [live(), retired],
    [
      [5, 6],
      [3, 4],
    ],
    "it is merged as it is now",
  );
});
