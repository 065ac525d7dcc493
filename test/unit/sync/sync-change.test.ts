/** The catalog change of a sync. */
import t from "tap";
import type { Catalog } from "../../../src/catalog/catalog.js";
import type { Repository } from "../../../src/model/repository.js";
import type { LiveShard } from "../../../src/model/shard-record.js";
import type { SyncTaskResult } from "../../../src/protocol/ingest-messages.js";
import { LossJudge } from "../../../src/sync/runner/loss.js";
import { isLossConfirmed, toCatalogChange } from "../../../src/sync/runner/sync-change.js";
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

t.test("since when a remote lists nothing is recorded, until it lists something", (t) => {
  let repository = testRepository(1, "host/r1");
  const catalog = { repository: () => repository, shards: () => [] } as unknown as Catalog;
  const after = (outcome: object): Repository | undefined => {
    const result = { outcomes: [{ repositoryId: 1, cut: "", ...outcome }], shards: [] } as unknown as SyncTaskResult;
    return toCatalogChange(catalog, new LossJudge("test"), result).repositories?.at(0);
  };
  const failed = { kind: "failed", vanished: "everything" };
  t.equal(after({ kind: "unchanged" }), undefined);
  t.equal(after({ kind: "failed" }), undefined, "another failure");
  t.match(after(failed), { vanished: { kind: "everything", since: /^\d{4}-\d\d-\d\dT/ } });
  const since = "2026-01-01T00:00:00.000Z";
  repository = testRepository(1, "host/r1", { vanished: { kind: "everything", since } });
  t.equal(after(failed), undefined, "the same answer");
  t.equal(after({ kind: "failed" }), undefined, "the remote is away");
  t.match(after({ kind: "failed", vanished: "default-branch" }), { vanished: { kind: "default-branch" } });
  const restored = after({ kind: "unchanged" });
  t.match(restored, { id: 1 }, "it lists something");
  t.equal(restored?.vanished, undefined);
  const hourMs = 3_600_000;
  const isConfirmed = (acceptEmptyMs: number, now: string): boolean =>
    isLossConfirmed(repository, acceptEmptyMs, new Date(now));
  t.notOk(isConfirmed(hourMs, "2026-01-01T00:59:59Z"));
  t.ok(isConfirmed(hourMs, "2026-01-01T01:00:00Z"));
  t.notOk(isConfirmed(0, "2027-01-01T00:00:00Z"), "never by time alone");
  t.notOk(isLossConfirmed(testRepository(1, "host/r1"), hourMs, new Date(since)));
  const historyState = { tips: ["a"], limits: "", isShallow: true, reachableCount: 1, indexedCount: 1, brokenCount: 0 };
  repository = testRepository(1, "host/r1", { cut: "there", historyState });
  t.equal(after({ kind: "unchanged", cut: "there" }), undefined);
  t.match(after({ kind: "unchanged" }), { cut: "", historyState: { tips: [] } }, "more history: it is indexed anew");
  t.end();
});
