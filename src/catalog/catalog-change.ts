import type { HistoryShardRecord } from "../model/history-record.js";
import type { Repository } from "../model/repository.js";
import type { LiveShard, ShardRecord, SymbolRecord } from "../model/shard-record.js";
import type { RecordChange } from "../store/records.js";
import {
  deleteHistoryShard,
  deleteRepository,
  deleteShard,
  updateShard,
  writeCounters,
  writeHistoryShard,
  writeRepository,
  writeShard,
  type Counters,
} from "./catalog-records.js";
import { addTombstones, makeLiveShard } from "./live-shard.js";

/** What one flip changes. All of it becomes visible at once, or nothing. */
export interface CatalogChange {
  readonly repositories?: readonly Repository[];
  readonly removedRepositoryIds?: readonly number[];
  readonly addedShards?: readonly ShardRecord[];
  readonly removedShardIds?: readonly number[];
  /** Documents that become invisible, by shard. */
  readonly tombstones?: ReadonlyMap<number, readonly number[]>;
  /** Repositories all of whose documents in a shard become invisible, by shard. */
  readonly hidden?: ReadonlyMap<number, readonly number[]>;
  readonly addedHistory?: readonly HistoryShardRecord[];
  /** In addition to those of removed repositories. */
  readonly removedHistoryIds?: readonly number[];
  /** The symbols that shards have from now on, by shard; undefined for none. Shards that are not live are ignored. */
  readonly symbols?: ReadonlyMap<number, SymbolRecord | undefined>;
  /** What shards have from now on, live ones and added ones, whatever they had: as when a manifest is read anew. */
  readonly restored?: ReadonlyMap<number, RestoredShard>;
}

/** A shard as a manifest has it. */
export interface RestoredShard {
  readonly record: ShardRecord;
  /** In shared memory. */
  readonly tombstones: Uint32Array | undefined;
}

/** A repository before and after a change; undefined before it is added. */
export interface RepositoryChange {
  readonly before: Repository | undefined;
  readonly after: Repository;
}

/** Records that are stored in the transaction of a change; `show` is called when that is durable and visible. */
export interface AddedRecords {
  readonly records: readonly RecordChange[];
  readonly show: () => void;
}

/** The state of the catalog that a change applies to. */
export interface CatalogState {
  readonly repositories: ReadonlyMap<number, Repository>;
  readonly shards: Iterable<LiveShard>;
  readonly history: Iterable<HistoryShardRecord>;
  readonly counters: Counters;
}

/** A change that is ready to be made. */
export interface StagedChange {
  readonly records: readonly RecordChange[];
  /** Shards that are new or differ, by id. */
  readonly shards: ReadonlyMap<number, LiveShard>;
  readonly removedHistoryIds: readonly number[];
}

/** Computes the records to write and the shards to show, without changing anything. */
export function stageChange(change: CatalogChange, state: CatalogState): StagedChange {
  const updated = new Map((change.repositories ?? []).map((repository) => [repository.id, repository]));
  const removed = new Set(change.removedRepositoryIds);
  const removedShards = new Set(change.removedShardIds);
  const findRepository = (id: number): Repository | undefined =>
    removed.has(id) ? undefined : (updated.get(id) ?? state.repositories.get(id));
  const records: RecordChange[] = [
    ...[...updated.values()].map(writeRepository),
    ...[...removed].map(deleteRepository),
  ];
  const { nextRepositoryId, nextShardId: shardIdBefore } = state.counters;
  const nextShardId = [...(change.addedShards ?? []), ...(change.addedHistory ?? [])].reduce(
    (next, { id }) => Math.max(next, id + 1),
    shardIdBefore,
  );
  if (updated.size > 0 || nextShardId > shardIdBefore) records.push(writeCounters({ nextRepositoryId, nextShardId }));
  const shards = new Map<number, LiveShard>();
  for (const record of change.addedShards ?? []) {
    const shard = makeLiveShard(record, findRepository, change.restored?.get(record.id)?.tombstones);
    records.push(writeShard(record), ...updateShard({ ...shard, tombstones: undefined }, shard));
    shards.set(record.id, shard);
  }
  for (const shard of state.shards) {
    if (removedShards.has(shard.record.id)) {
      records.push(...deleteShard(shard.record.id));
      continue;
    }
    const next = stageShard(shard, change, updated, removed, findRepository);
    if (next === undefined) continue;
    shards.set(next.record.id, next);
    records.push(...updateShard(shard, next));
  }
  const removedHistoryIds = findRemovedHistory(change, removed, state.history);
  records.push(...(change.addedHistory ?? []).map(writeHistoryShard), ...removedHistoryIds.map(deleteHistoryShard));
  return { records, shards, removedHistoryIds };
}

function findRemovedHistory(
  { removedHistoryIds }: CatalogChange,
  removedRepositories: ReadonlySet<number>,
  history: Iterable<HistoryShardRecord>,
): number[] {
  const removed = new Set(removedHistoryIds);
  if (removed.size === 0 && removedRepositories.size === 0) return [];
  return [...history]
    .filter(({ id, repositoryId }) => removed.has(id) || removedRepositories.has(repositoryId))
    .map(({ id }) => id);
}

/** Returns the shard after the change, or undefined when it does not change. */
function stageShard(
  shard: LiveShard,
  change: CatalogChange,
  updated: ReadonlyMap<number, Repository>,
  removed: ReadonlySet<number>,
  findRepository: (id: number) => Repository | undefined,
): LiveShard | undefined {
  const restored = change.restored?.get(shard.record.id);
  if (restored !== undefined) return makeLiveShard(restored.record, findRepository, restored.tombstones);
  const added = change.tombstones?.get(shard.record.id) ?? [];
  const hidden = new Set(change.hidden?.get(shard.record.id));
  const isHidden = (id: number): boolean => removed.has(id) || hidden.has(id);
  const hides = shard.record.repositoryIds.some(isHidden);
  const isTouched =
    hides ||
    change.symbols?.has(shard.record.id) === true ||
    added.length > 0 ||
    shard.record.repositoryIds.some((id) => updated.has(id));
  if (!isTouched) return undefined;
  const shown = hides
    ? { ...shard.record, repositoryIds: shard.record.repositoryIds.map((id) => (isHidden(id) ? 0 : id)) }
    : shard.record;
  const record = change.symbols?.has(shown.id) ? { ...shown, symbols: change.symbols.get(shown.id) } : shown;
  const tombstones =
    added.length === 0 ? shard.tombstones : addTombstones(shard.tombstones, added, record.documentCount);
  return makeLiveShard(record, findRepository, tombstones);
}

/** The repositories that a change is about, as far as their shards are known; some of them several times, and 0 for hidden ones. */
export function* changedRepositoryIds(
  change: CatalogChange,
  findShard: (id: number) => Pick<ShardRecord, "repositoryIds"> | undefined,
  findHistory: (id: number) => Pick<HistoryShardRecord, "repositoryId"> | undefined,
): Generator<number, void> {
  for (const { id } of change.repositories ?? []) yield id;
  yield* change.removedRepositoryIds ?? [];
  for (const { repositoryIds } of change.addedShards ?? []) yield* repositoryIds;
  for (const { repositoryId } of change.addedHistory ?? []) yield repositoryId;
  for (const ids of [change.removedShardIds, change.tombstones?.keys(), change.hidden?.keys(), change.symbols?.keys()])
    for (const id of ids ?? []) yield* findShard(id)?.repositoryIds ?? [];
  for (const { record } of change.restored?.values() ?? []) yield* record.repositoryIds;
  for (const id of change.removedHistoryIds ?? []) {
    const found = findHistory(id);
    if (found !== undefined) yield found.repositoryId;
  }
}
