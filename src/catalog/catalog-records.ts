import type { HistoryShardRecord } from "../model/history-record.js";
import type { Repository } from "../model/repository.js";
import type { LiveShard, ShardRecord } from "../model/shard-record.js";
import type { RecordChange, Records } from "../store/records.js";

/** Fields that records of older programs lack. */
const laterFields = { readers: [], addedMetadata: {}, removedAt: "", credential: "", history: "all" } as const;

/**
 * The ids that new repositories and shards get. Ids are never reused, so an id in an older copy of the catalog or of the
 * store never refers to something else.
 */
export interface Counters {
  readonly nextRepositoryId: number;
  /** Absent in records of older programs. */
  readonly nextShardId: number;
}

/** Where a catalog stands in its manifest. */
export interface Position {
  /** How many flips have been made; without gaps. */
  readonly version: number;
  /** The last of them; "" before the first. Of two catalogs with equal positions one is a copy of the other. */
  readonly flipId: string;
}

/** Before the first flip. */
export const noPosition: Position = { version: 0, flipId: "" };

/** A shard as it is stored. */
export interface StoredLiveShard {
  readonly record: ShardRecord;
  /** In shared memory. */
  readonly tombstones: Uint32Array | undefined;
}

const repositoryPrefix = "repository/";
const shardPrefix = "shard/";
const tombstonePrefix = "tombstones/";
const historyPrefix = "history/";
const countersKey = "counters";
const positionKey = "position";

/** The stored counters; at least 1. */
export function readCounters(store: Records): Counters {
  const stored = store.get(countersKey);
  const { nextRepositoryId = 1, nextShardId = 1 } = stored === undefined ? {} : decode<Partial<Counters>>(stored);
  return { nextRepositoryId, nextShardId };
}

/** Where the stored catalog stands in a partition; at the beginning if an older program has written it. */
export function readPosition(store: Records, partition: number): Position {
  const stored = store.get(positionIn(partition));
  return stored === undefined ? noPosition : decode<Position>(stored);
}

/** Of the first partition: as programs name it that know only one. */
function positionIn(partition: number): string {
  return partition === 0 ? positionKey : `${positionKey}/${partition}`;
}

/** The stored repositories, in batches. */
export function* readRepositories(store: Records): Generator<Repository[], void> {
  for (const batch of store.batchesWithPrefix(repositoryPrefix))
    yield batch.map(({ value }) => withLaterFields(decode<Repository>(value)));
}

/** Returns a complete record as it is: copying 10,000 takes as long as decoding them. */
function withLaterFields(stored: Repository | Omit<Repository, keyof typeof laterFields>): Repository {
  return Object.keys(laterFields).every((field) => field in stored)
    ? (stored as Repository)
    : { ...laterFields, ...stored };
}

/** The stored shards, in batches. */
export function* readShards(store: Records): Generator<StoredLiveShard[], void> {
  for (const batch of store.batchesWithPrefix(shardPrefix)) {
    yield batch.map(({ value }) => {
      const record = decode<ShardRecord>(value);
      const tombstones = store.get(tombstonePrefix + record.id);
      return { record, tombstones: tombstones === undefined ? undefined : shareWords(tombstones) };
    });
  }
}

/** The stored history shards, in batches. */
export function* readHistoryShards(store: Records): Generator<HistoryShardRecord[], void> {
  for (const batch of store.batchesWithPrefix(historyPrefix))
    yield batch.map(({ value }) => decode<HistoryShardRecord>(value));
}

/** Writes the counters. */
export function writeCounters(counters: Counters): RecordChange {
  return { key: countersKey, value: encode(counters) };
}

/** Writes where the catalog stands in a partition. */
export function writePosition(partition: number, position: Position): RecordChange {
  return { key: positionIn(partition), value: encode(position) };
}

/** Writes a repository. */
export function writeRepository(repository: Repository): RecordChange {
  return { key: repositoryPrefix + repository.id, value: encode(repository) };
}

/** Deletes a repository. */
export function deleteRepository(id: number): RecordChange {
  return { key: repositoryPrefix + id, value: undefined };
}

/** Writes a shard that is not stored yet. */
export function writeShard(record: ShardRecord): RecordChange {
  return { key: shardPrefix + record.id, value: encode(record) };
}

/** Writes what differs between a stored shard and the same one after a change. */
export function updateShard(before: LiveShard, after: LiveShard): RecordChange[] {
  const changes: RecordChange[] = [];
  if (after.record !== before.record) changes.push(writeShard(after.record));
  if (after.tombstones !== before.tombstones) {
    const value = after.tombstones && Buffer.from(new Uint8Array(after.tombstones.buffer));
    changes.push({ key: tombstonePrefix + after.record.id, value });
  }
  return changes;
}

/** Writes a history shard that is not stored yet. */
export function writeHistoryShard(record: HistoryShardRecord): RecordChange {
  return { key: historyPrefix + record.id, value: encode(record) };
}

/** Deletes a history shard. */
export function deleteHistoryShard(id: number): RecordChange {
  return { key: historyPrefix + id, value: undefined };
}

/** Deletes a shard with its tombstones. */
export function deleteShard(id: number): RecordChange[] {
  return [
    { key: shardPrefix + id, value: undefined },
    { key: tombstonePrefix + id, value: undefined },
  ];
}

function shareWords(bytes: Buffer): Uint32Array {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return new Uint32Array(shared.buffer);
}

function encode(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** Records are written by this program and checked by LMDB's transaction, so their shape is not validated. */
function decode<T>(bytes: Buffer): T {
  return JSON.parse(bytes.toString()) as T;
}
