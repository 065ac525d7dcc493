/** The catalog change of a sync. */
import t from "tap";
import type { Catalog } from "../../../src/catalog/catalog.js";
import type { LiveShard } from "../../../src/model/shard-record.js";
import type { SyncTaskResult } from "../../../src/protocol/ingest-messages.js";
import { LossJudge } from "../../../src/sync/runner/loss.js";
import { toCatalogChange } from "../../../src/sync/runner/sync-change.js";
import { testRepository } from "../../support/engine.js";

function liveShard(id: number, documentCount: number, tombstoneCount: number): LiveShard {
  return { record: { id, documentCount, repositoryIds: [1] }, tombstoneCount } as unknown as LiveShard;
}

t.test("a shard of which no document is left is removed by the same change", (t) => {
  const shards = [liveShard(1, 10, 0), liveShard(2, 3, 2), liveShard(3, 1, 0)];
  const catalog = {
    repository: () => testRepository(1, "host/r1"),
    shards: () => shards,
    shard: (id: number) => shards.find(({ record }) => record.id === id),
  } as unknown as Catalog;
  const tombstones = new Map([
    [1, [4]],
    [2, [0]],
    [3, [0]],
    [9, [0]],
  ]);
  const outcome = { kind: "changed", repositoryId: 1, tombstones, replaces: false };
  const result = { outcomes: [outcome], shards: [] } as unknown as SyncTaskResult;
  const change = toCatalogChange(catalog, new LossJudge("test"), result);
  t.same(change.removedShardIds, [2, 3]);
  t.same(
    [...(change.tombstones ?? [])],
    [
      [1, [4]],
      [9, [0]],
    ],
  );
  t.end();
});
