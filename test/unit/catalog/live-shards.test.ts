/** The live shards, and which removed ones are still readable: as a set of the shards of each open view would say. */
import assert from "node:assert/strict";
import t from "tap";
import { LiveShards, type CatalogView } from "../../../src/catalog/live-shards.js";
import { makeLiveShard } from "../../../src/catalog/live-shard.js";
import type { LiveShard } from "../../../src/model/shard-record.js";
import { testRepository } from "../../support/engine.js";
import { fc, runs } from "../../support/property.js";

/** A shard of these repositories; the stars of a repository are ten times its id. */
function shard(id: number, repositoryIds: readonly number[] = [1]): LiveShard {
  const record = { id, storedBytes: 2, contentBytes: 1, documentCount: 1, repositoryIds };
  const find = (repositoryId: number) =>
    repositoryId === 0
      ? undefined
      : testRepository(repositoryId, `host/r${repositoryId}`, { stars: 10 * repositoryId });
  return makeLiveShard(record, find, undefined);
}

const byId = (...shards: readonly LiveShard[]): Map<number, LiveShard> =>
  new Map(shards.map((one) => [one.record.id, one]));
const idsOf = (shards: readonly LiveShard[]): number[] => shards.map(({ record }) => record.id);

t.test("shards of repositories with more stars come first, then older ones", async (t) => {
  const live = new LiveShards(() => undefined);
  live.load(shard(3, [1]));
  live.load(shard(2, [1, 4]));
  live.load(shard(1, [1]));
  t.same(idsOf(live.ordered()), [2, 1, 3]);
  live.replace(byId(shard(5, [6]), shard(3, [5])), [1]);
  t.same(idsOf(live.ordered()), [5, 3, 2]);
  t.equal(live.get(1), undefined);
});

t.test("shards are found by repository, once each, and not by one that is hidden in them", async (t) => {
  const live = new LiveShards(() => undefined);
  live.replace(byId(shard(1, [1, 2, 1]), shard(2, [2])), []);
  t.same(idsOf(live.forRepository(1)), [1]);
  t.same(idsOf(live.forRepository(2)).sort(), [1, 2]);
  t.same(live.forRepository(3), []);
  live.replace(byId(shard(1, [0, 2, 0])), []);
  t.same(live.forRepository(1), []);
});

t.test("the rows of a view's table are its shards, and verified parts stay so after a flip", async (t) => {
  const live = new LiveShards(() => undefined);
  live.replace(byId(shard(1), shard(2)), []);
  const first = live.view();
  t.equal(first.table, live.view().table, "views of one generation share it");
  first.table.setVerified(1, "index", 0);
  live.replace(byId(shard(3, [2])), [1]);
  const second = live.view();
  t.same(idsOf(second.shards), [3, 2]);
  t.same(
    second.shards.map((_, row) => second.table.shardId(row)),
    [3, 2],
  );
  t.same([second.table.isVerified(0, "index", 0), second.table.isVerified(1, "index", 0)], [false, true]);
  t.same(idsOf(first.shards), [1, 2], "the earlier view is what it was");
});

t.test("the column of a removed shard is reused only when no view holds the shard", async (t) => {
  const live = new LiveShards(() => undefined);
  live.replace(byId(shard(1)), []);
  const first = live.view();
  const column = first.table.filterColumn(0);
  live.replace(byId(shard(2)), [1]);
  const second = live.view();
  t.not(second.table.filterColumn(0), column);
  first.release();
  live.replace(byId(shard(3)), []);
  const third = live.view();
  t.equal(third.table.filterColumn(idsOf(third.shards).indexOf(3)), column);
});

type Step =
  | { readonly kind: "flip"; readonly addedCount: number; readonly removed: readonly number[] }
  | { readonly kind: "view" }
  | { readonly kind: "release"; readonly which: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant("flip" as const),
    addedCount: fc.nat(3),
    removed: fc.array(fc.nat(20), { maxLength: 3 }),
  }),
  fc.record({ kind: fc.constant("view" as const) }),
  fc.record({ kind: fc.constant("release" as const), which: fc.nat(10) }),
);

interface OpenView {
  readonly view: CatalogView;
  readonly shardIds: readonly number[];
  /** Removed shards that it holds: those removed while it was open. */
  readonly removedSince: Set<number>;
}

t.test("in any history a removed shard is retired with the last view from before its removal", async (t) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const retired: number[] = [];
      const live = new LiveShards((ids) => retired.push(...ids));
      const liveIds = new Set<number>();
      const removedIds = new Set<number>();
      let open: OpenView[] = [];
      let nextId = 1;
      const check = (): void => {
        const held = new Set(open.flatMap(({ removedSince }) => [...removedSince]));
        const free = [...removedIds].filter((id) => !held.has(id));
        assert.deepEqual([...retired].sort(), free.sort(), "those that no view holds, each once");
        for (const { view, shardIds } of open) assert.deepEqual(idsOf(view.shards), shardIds);
      };
      for (const one of steps) {
        if (one.kind === "flip") {
          const ids = [...liveIds];
          // Ids that are not live are ignored, and so is an id that is named twice.
          const removed = one.removed.map((index) => ids[index] ?? 1_000 + index);
          const added = Array.from({ length: one.addedCount }, () => shard(nextId++));
          live.replace(byId(...added), removed);
          for (const { record } of added) liveIds.add(record.id);
          for (const id of removed) {
            if (!liveIds.delete(id)) continue;
            removedIds.add(id);
            for (const { removedSince } of open) removedSince.add(id);
          }
        } else if (one.kind === "view") {
          const view = live.view();
          assert.deepEqual(new Set(idsOf(view.shards)), liveIds);
          open.push({ view, shardIds: idsOf(view.shards), removedSince: new Set() });
        } else if (open.length > 0) {
          const { view } = open[one.which % open.length]!;
          view.release();
          view.release();
          open = open.filter((other) => other.view !== view);
        }
        check();
      }
      for (const { view } of open) view.release();
      open = [];
      check();
    }),
    { numRuns: runs(100) },
  );
  t.pass();
});
