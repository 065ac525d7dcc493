import { assert } from "../../base/assert.js";
import type { Catalog } from "../../catalog/catalog.js";
import type { CatalogChange } from "../../catalog/catalog-change.js";
import type { Repository } from "../../model/repository.js";
import type { LiveShard } from "../../model/shard-record.js";
import type { SyncOutcome, SyncTaskResult } from "../../protocol/ingest-messages.js";
import type { LossJudge } from "./loss.js";
import { withOnly } from "../housekeeping/shard-flips.js";

type ChangedOutcome = Extract<SyncOutcome, { kind: "changed" }>;

/**
 * The catalog change of a completed sync. Repositories that failed, or were removed in the meantime, are hidden in the
 * shards that contain parts of them.
 */
export function toCatalogChange(catalog: Catalog, judge: LossJudge, result: SyncTaskResult): CatalogChange {
  const ids = new Set(result.outcomes.map(({ repositoryId }) => repositoryId));
  assert(ids.size === result.outcomes.length, "a sync has one outcome for each of its repositories");
  for (const { repositoryIds } of result.shards)
    assert(
      repositoryIds.every((id) => id === 0 || ids.has(id)),
      "a sync writes shards of its own repositories",
    );
  const changed = result.outcomes.filter(
    (outcome) => outcome.kind === "changed" && catalog.repository(outcome.repositoryId) !== undefined,
  ) as ChangedOutcome[];
  const changedIds = new Set(changed.map((outcome) => outcome.repositoryId));
  const replaced = new Set(changed.filter((outcome) => outcome.replaces).map((outcome) => outcome.repositoryId));
  const { removedShardIds, hidden } = withoutReplaced(catalog, replaced);
  const tombstones = mergeTombstones(changed);
  const deadIds = [...tombstones].flatMap(([id, documents]) => (isDead(catalog.shard(id), documents) ? [id] : []));
  for (const id of deadIds) tombstones.delete(id);
  return {
    repositories: [
      ...changed.flatMap((outcome) => updatedRecord(catalog, judge, outcome)),
      ...result.outcomes.flatMap((outcome) => vanishedRecord(catalog, outcome, new Date().toISOString())),
    ],
    addedShards: withOnly(result.shards, (id) => changedIds.has(id)),
    removedShardIds: [...new Set([...removedShardIds, ...deadIds])],
    hidden,
    tombstones,
  };
}

/** Whether nothing of the shard is left, as when a file changes again and again: then it need not be merged. */
function isDead(shard: LiveShard | undefined, documents: readonly number[]): boolean {
  if (shard === undefined) return false;
  const deadCount = shard.tombstoneCount + documents.length;
  assert(deadCount <= shard.record.documentCount, "a document is deleted once");
  return deadCount === shard.record.documentCount;
}

/** Shards that contain only replaced repositories are removed; in the others these are hidden. */
function withoutReplaced(
  catalog: Catalog,
  replaced: ReadonlySet<number>,
): { readonly removedShardIds: number[]; readonly hidden: Map<number, number[]> } {
  const hidden = new Map<number, number[]>();
  const removedShardIds: number[] = [];
  for (const { record } of catalog.shards()) {
    const gone = record.repositoryIds.filter((id) => replaced.has(id));
    if (gone.length === 0) continue;
    if (record.repositoryIds.every((id) => id === 0 || replaced.has(id))) removedShardIds.push(record.id);
    else hidden.set(record.id, gone);
  }
  return { removedShardIds, hidden };
}

function mergeTombstones(changed: readonly ChangedOutcome[]): Map<number, number[]> {
  const tombstones = new Map<number, number[]>();
  for (const outcome of changed) {
    for (const [shardId, documents] of outcome.tombstones)
      tombstones.set(shardId, [...(tombstones.get(shardId) ?? []), ...documents]);
  }
  return tombstones;
}

/** Whether what its remote does not list any more has been missing for long enough; never if that takes 0 ms. */
export function isLossConfirmed({ vanished }: Repository, acceptEmptyMs: number, now: Date): boolean {
  return acceptEmptyMs > 0 && vanished !== undefined && now.getTime() - Date.parse(vanished.since) >= acceptEmptyMs;
}

/** Where its history is cut; if that has changed, its history is indexed anew, although its commits are the same. */
function cutHistory({ cut: before = "", historyState }: Repository, cut: string): Partial<Repository> {
  return cut === before || historyState === undefined ? { cut } : { cut, historyState: { ...historyState, tips: [] } };
}

/**
 * The record of a repository whose remote has just begun to list less, or to list again what was missing, or has more
 * history.
 */
function vanishedRecord(catalog: Catalog, outcome: SyncOutcome, now: string): Repository[] {
  const repository = catalog.repository(outcome.repositoryId);
  if (repository === undefined) return [];
  const { vanished: before } = repository;
  const isCutElsewhere = outcome.kind === "unchanged" && outcome.cut !== (repository.cut ?? "");
  // What is kept of searches of its history counts for one generation.
  if (isCutElsewhere) {
    const generation = repository.generation + 1;
    return [{ ...repository, vanished: undefined, generation, ...cutHistory(repository, outcome.cut) }];
  }
  if (outcome.kind === "unchanged" && before !== undefined) return [{ ...repository, vanished: undefined }];
  const kind = outcome.kind === "failed" ? outcome.vanished : undefined;
  return kind === undefined || kind === before?.kind ? [] : [{ ...repository, vanished: { kind, since: now } }];
}

function updatedRecord(catalog: Catalog, judge: LossJudge, outcome: ChangedOutcome): Repository[] {
  const repository = catalog.repository(outcome.repositoryId);
  if (repository === undefined) return [];
  const { defaultBranch, indexedBranches, documentCount, contentBytes, skippedCounts, fetched, warnings, lfsTree } =
    outcome;
  return [
    {
      ...repository,
      defaultBranch,
      indexedBranches,
      documentCount,
      contentBytes,
      skippedCounts,
      generation: repository.generation + 1,
      lastFetched: fetched,
      lastChanged: fetched,
      lastError: "",
      ...cutHistory(repository, outcome.cut),
      lfsTree,
      warnings,
      vanished: undefined,
      quarantine: judge.afterSync(repository),
    },
  ];
}
