import { assert } from "../base/assert.js";
import { setBit } from "../base/bits.js";
import { TrawlError } from "../base/errors.js";
import { resultWhileYielding } from "../base/yielding.js";
import type { Repository, RepositoryConfig } from "../model/repository.js";
import type { RecordChange, RecordStore } from "../store/record-store.js";
import type { Viewer } from "../model/viewer.js";
import type { RepositoryTable } from "./repository-table.js";
import { encodeSummaries } from "../protocol/repository-summaries.js";
import { FilterColumns, type ShardFilter } from "../protocol/shard-filter.js";
import { mayHide, VisibleTables } from "./visible-tables.js";
import { ShardPins } from "./shard-pins.js";
import { ShardTable } from "../protocol/shard-table.js";
import type { LiveShard, ShardRecord } from "../model/shard-record.js";

/** Fields that records of an older program lack. */
const laterFields = { readers: [], addedMetadata: {}, removedAt: "", credential: "" } as const;

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
}

/** The shards as they were when a search began; they stay readable until `release`. */
export interface CatalogView {
  readonly shards: readonly LiveShard[];
  /** The same shards, in the same order, for the workers. */
  readonly table: ShardTable;
  /** What rules out some of them before they are opened. */
  readonly filter: ShardFilter;
  release(): void;
}

/**
 * Ids are never used again, so that what an older copy of the catalog or of the store names is never taken for
 * something else.
 */
interface Counters {
  readonly nextRepositoryId: number;
  /** Absent in records of older programs. */
  readonly nextShardId: number;
}

const repositoryPrefix = "repository/";
const shardPrefix = "shard/";
const tombstonePrefix = "tombstones/";
const countersKey = "counters";

/**
 * The record of repositories, indexed commits and live shards: in memory for reading, in the record store for keeping.
 *
 * `commit` is the catalog flip: one LMDB transaction, awaited until the disk has it, then one synchronous step in
 * memory, so that a search sees all of a change or nothing. A shard that a flip removed stays readable until the last
 * view that holds it is released; then `onRetired` is called with its id.
 *
 * Lives on the main thread, which alone writes it.
 */
export class Catalog {
  readonly #store: RecordStore;
  readonly #repositories = new Map<number, Repository>();
  readonly #repositoryIdOfName = new Map<string, number>();
  readonly #shards = new Map<number, LiveShard>();
  readonly #pins = new ShardPins();
  readonly #tables = new VisibleTables(() => this.#repositories.values());
  readonly #columns = new FilterColumns();
  #nextRepositoryId = 1;
  /** Larger than the id of every shard that the catalog has ever named. */
  #nextShardId = 1;
  #orderedShards: readonly LiveShard[] | undefined;
  #shardsOfRepository: ReadonlyMap<number, readonly LiveShard[]> | undefined;
  #table: ShardTable | undefined;
  /** False after a flip, until a view needs the table. */
  #isTableCurrent = false;
  #commits: Promise<void> = Promise.resolve();

  /** Told when some who might read a repository may do so no longer. */
  onReadersChanged: (before: Repository, after: Repository) => void = () => undefined;

  /** Told which shards no search can read any more. */
  onRetired: (shardIds: number[]) => void = () => undefined;

  /** Empty until `load` is done. */
  constructor(store: RecordStore) {
    this.#store = store;
  }

  /** Reads what is stored, in steps; once, and before anything else. */
  *load(): Generator<void, void> {
    const counters = this.#store.get(countersKey);
    if (counters !== undefined) {
      const { nextRepositoryId = 1, nextShardId = 1 } = decode<Partial<Counters>>(counters);
      this.#nextRepositoryId = Math.max(this.#nextRepositoryId, nextRepositoryId);
      this.#nextShardId = Math.max(this.#nextShardId, nextShardId);
    }
    for (const batch of this.#store.batchesWithPrefix(repositoryPrefix)) {
      for (const { value } of batch) this.#setRepository({ ...laterFields, ...decode<Repository>(value) });
      yield;
    }
    for (const batch of this.#store.batchesWithPrefix(shardPrefix)) {
      for (const { value } of batch) this.#loadShard(decode<ShardRecord>(value));
      yield;
    }
    const table = yield* this.#tables.prepare([], []);
    if (table !== undefined) this.#tables.take(table);
  }

  /** All repositories. Whoever answers a viewer asks `repositoryTable`. */
  repositories(): IterableIterator<Repository> {
    return this.#repositories.values();
  }

  /** The repositories that the viewer may see. The table shows later records, until a change makes another one. */
  repositoryTable(viewer: Viewer): RepositoryTable {
    return this.#tables.of(viewer);
  }

  /** Whether the viewer may see all repositories that are not removed. */
  seesAll(viewer: Viewer): boolean {
    return this.#tables.seesAll(viewer);
  }

  /** The smallest id that no shard has ever had, as far as the catalog knows. */
  get nextShardId(): number {
    return this.#nextShardId;
  }

  /** New repositories get ids above this one: something of a repository with it may still be stored. */
  reserveRepositoryId(id: number): void {
    this.#nextRepositoryId = Math.max(this.#nextRepositoryId, id + 1);
  }

  get repositoryCount(): number {
    return this.#repositories.size;
  }

  repository(id: number): Repository | undefined {
    return this.#repositories.get(id);
  }

  repositoryByName(name: string): Repository | undefined {
    const id = this.#repositoryIdOfName.get(name);
    return id === undefined ? undefined : this.#repositories.get(id);
  }

  shard(id: number): LiveShard | undefined {
    return this.#shards.get(id);
  }

  /** Live shards; those of repositories with more stars first, then older ones first. */
  shards(): readonly LiveShard[] {
    this.#orderedShards ??= [...this.#shards.values()].sort((a, b) => b.stars - a.stars || a.record.id - b.record.id);
    return this.#orderedShards;
  }

  /** Live shards that hold documents of the repository. */
  shardsForRepository(repositoryId: number): readonly LiveShard[] {
    this.#shardsOfRepository ??= groupByRepository(this.#shards.values());
    return this.#shardsOfRepository.get(repositoryId) ?? [];
  }

  /** Pins the live shards; the caller releases the view when its last reader has ended. */
  view(): CatalogView {
    const shards = this.shards();
    const generation = this.#pins.pin();
    if (this.#table === undefined || !this.#isTableCurrent) {
      this.#table = ShardTable.of(shards, this.#table, (shardId) => this.#columns.shardColumn(shardId));
    }
    this.#isTableCurrent = true;
    let released = false;
    return {
      shards,
      table: this.#table,
      filter: this.#columns.filter,
      release: () => {
        if (released) return;
        released = true;
        this.#retire(this.#pins.unpin(generation));
      },
    };
  }

  /** Throws `conflict` where a repository has that name. */
  requireFree(name: string): void {
    const known = this.repositoryByName(name);
    if (known === undefined) return;
    throw new TrawlError(
      "conflict",
      known.removedAt !== ""
        ? `${JSON.stringify(name)} was removed from the configuration and is not deleted yet; list it there again, or delete it with \`trawl repo remove\``
        : `there is a repository named ${JSON.stringify(name)} already; remove it first, or choose another name`,
    );
  }

  /** A record for a new repository; `commit` makes it known. */
  newRepository(config: RepositoryConfig, configured: boolean): Repository {
    this.requireFree(config.name);
    return {
      ...config,
      configured,
      removedAt: "",
      id: this.#nextRepositoryId++,
      generation: 0,
      indexedBranches: [],
      addedMetadata: {},
      defaultBranch: "",
      lastFetched: "",
      lastChanged: "",
      lastError: "",
      documentCount: 0,
      contentBytes: 0,
      skippedCounts: {},
    };
  }

  /** Notes in memory that a fetch found nothing new: not worth a write. */
  recordFetched(repositoryId: number, fetched: string): void {
    const repository = this.#repositories.get(repositoryId);
    if (repository !== undefined) this.#setRepository({ ...repository, lastFetched: fetched, lastError: "" });
  }

  /**
   * Notes in memory that a sync failed. It is not written, as the disk may be what failed, and each start syncs anew.
   */
  recordFailed(repositoryId: number, error: string): void {
    const repository = this.#repositories.get(repositoryId);
    if (repository !== undefined) this.#setRepository({ ...repository, lastError: error });
  }

  /**
   * Makes a change durable, then visible; resolves with it. Changes are applied one after the other, in the order of
   * the calls: `makeChange` is called when all earlier ones are visible, so what it reads in the catalog is what it
   * changes.
   */
  commit<Change extends CatalogChange>(makeChange: () => Change): Promise<Change> {
    const done = this.#commits.then(async () => {
      const change = makeChange();
      const staged = this.#stage(change);
      const table = await resultWhileYielding(
        this.#tables.prepare(change.repositories ?? [], change.removedRepositoryIds ?? []),
      );
      await this.#store.apply(staged.records);
      this.#show(change, staged.shards);
      if (table !== undefined) this.#tables.take(table);
      return change;
    });
    this.#commits = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  }

  /** Runs `work` between two changes: none is made meanwhile, neither on the disk nor in memory. */
  between<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#commits.then(work);
    this.#commits = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  }

  #retire(shardIds: number[]): void {
    for (const id of shardIds) this.#columns.release(id);
    if (shardIds.length > 0) this.onRetired(shardIds);
  }

  /** Works out the records to write and the shards to show, without changing what is visible. */
  #stage(change: CatalogChange): { records: RecordChange[]; shards: Map<number, LiveShard> } {
    const updated = new Map((change.repositories ?? []).map((repository) => [repository.id, repository]));
    const removed = new Set(change.removedRepositoryIds);
    const removedShards = new Set(change.removedShardIds);
    const repositoryOf = (id: number): Repository | undefined =>
      removed.has(id) ? undefined : (updated.get(id) ?? this.#repositories.get(id));
    const records: RecordChange[] = [
      ...[...updated.values()].map((repository) => ({
        key: repositoryPrefix + repository.id,
        value: encode(repository),
      })),
      ...[...removed].map((id) => ({ key: repositoryPrefix + id, value: undefined })),
    ];
    const nextShardId = (change.addedShards ?? []).reduce((next, { id }) => Math.max(next, id + 1), this.#nextShardId);
    if (updated.size > 0 || nextShardId > this.#nextShardId) {
      const counters: Counters = { nextRepositoryId: this.#nextRepositoryId, nextShardId };
      records.push({ key: countersKey, value: encode(counters) });
    }
    const shards = new Map<number, LiveShard>();
    for (const record of change.addedShards ?? []) {
      records.push({ key: shardPrefix + record.id, value: encode(record) });
      shards.set(record.id, liveShard(record, repositoryOf, undefined));
    }
    for (const shard of this.#shards.values()) {
      if (removedShards.has(shard.record.id)) {
        records.push({ key: shardPrefix + shard.record.id, value: undefined });
        records.push({ key: tombstonePrefix + shard.record.id, value: undefined });
        continue;
      }
      const next = this.#stageShard(shard, change, updated, removed, repositoryOf);
      if (next === undefined) continue;
      shards.set(next.record.id, next);
      if (next.record !== shard.record) records.push({ key: shardPrefix + next.record.id, value: encode(next.record) });
      if (next.tombstones !== shard.tombstones && next.tombstones !== undefined) {
        records.push({
          key: tombstonePrefix + next.record.id,
          value: Buffer.from(new Uint8Array(next.tombstones.buffer)),
        });
      }
    }
    return { records, shards };
  }

  /** The shard after the change, undefined when it stays as it is. */
  #stageShard(
    shard: LiveShard,
    change: CatalogChange,
    updated: ReadonlyMap<number, Repository>,
    removed: ReadonlySet<number>,
    repositoryOf: (id: number) => Repository | undefined,
  ): LiveShard | undefined {
    const added = change.tombstones?.get(shard.record.id) ?? [];
    const hidden = new Set(change.hidden?.get(shard.record.id));
    const isHidden = (id: number): boolean => removed.has(id) || hidden.has(id);
    const hides = shard.record.repositoryIds.some(isHidden);
    const touched = hides || added.length > 0 || shard.record.repositoryIds.some((id) => updated.has(id));
    if (!touched) return undefined;
    const record = hides
      ? { ...shard.record, repositoryIds: shard.record.repositoryIds.map((id) => (isHidden(id) ? 0 : id)) }
      : shard.record;
    const tombstones = added.length === 0 ? shard.tombstones : addBits(shard.tombstones, added, record.documentCount);
    return liveShard(record, repositoryOf, tombstones);
  }

  #show(change: CatalogChange, shards: ReadonlyMap<number, LiveShard>): void {
    for (const repository of change.repositories ?? []) this.#setRepository(repository);
    for (const id of change.removedRepositoryIds ?? []) {
      const name = this.#repositories.get(id)?.name;
      if (name !== undefined && this.#repositoryIdOfName.get(name) === id) this.#repositoryIdOfName.delete(name);
      this.#repositories.delete(id);
      this.#tables.clear();
    }
    for (const [id, shard] of shards) {
      this.#shards.set(id, shard);
      this.#nextShardId = Math.max(this.#nextShardId, id + 1);
    }
    this.#orderedShards = undefined;
    this.#shardsOfRepository = undefined;
    this.#isTableCurrent = false;
    this.#retire(this.#pins.advance((change.removedShardIds ?? []).filter((id) => this.#shards.delete(id))));
  }

  #setRepository(repository: Repository): void {
    const before = this.#repositories.get(repository.id);
    this.#repositories.set(repository.id, repository);
    this.#repositoryIdOfName.set(repository.name, repository.id);
    this.#tables.replace(repository);
    if (before !== undefined && mayHide(before, repository)) this.onReadersChanged(before, repository);
  }

  #loadShard(record: ShardRecord): void {
    this.#nextShardId = Math.max(this.#nextShardId, record.id + 1);
    this.#orderedShards = undefined;
    const stored = this.#store.get(tombstonePrefix + record.id);
    const tombstones = stored === undefined ? undefined : shareWords(stored);
    this.#shards.set(
      record.id,
      liveShard(record, (id) => this.#repositories.get(id), tombstones),
    );
  }
}

function groupByRepository(shards: Iterable<LiveShard>): Map<number, LiveShard[]> {
  const groups = new Map<number, LiveShard[]>();
  for (const shard of shards) {
    for (const id of new Set(shard.record.repositoryIds)) {
      const group = groups.get(id);
      if (group === undefined) groups.set(id, [shard]);
      else group.push(shard);
    }
  }
  return groups;
}

function liveShard(
  record: ShardRecord,
  repositoryOf: (id: number) => Repository | undefined,
  tombstones: Uint32Array | undefined,
): LiveShard {
  const repositories = record.repositoryIds.map(repositoryOf);
  return {
    record,
    stars: repositories.reduce((most, repository) => Math.max(most, repository?.stars ?? 0), 0),
    cards: encodeSummaries(repositories),
    tombstones,
    tombstoneCount: tombstones === undefined ? 0 : countBits(tombstones),
  };
}

function addBits(before: Uint32Array | undefined, added: readonly number[], bitCount: number): Uint32Array {
  const words = new Uint32Array(new SharedArrayBuffer(Math.ceil(bitCount / 32) * 4));
  if (before !== undefined) words.set(before);
  for (const bit of added) {
    assert(bit < bitCount, "a tombstone names a document of its shard");
    setBit(words, bit);
  }
  return words;
}

function countBits(words: Uint32Array): number {
  let count = 0;
  for (let word of words) for (; word !== 0; word &= word - 1) count++;
  return count;
}

function shareWords(bytes: Buffer): Uint32Array {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return new Uint32Array(shared.buffer);
}

function encode(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** Records are our own writing, checked by LMDB's transaction, so their shape is taken as it was written. */
function decode<T>(bytes: Buffer): T {
  return JSON.parse(bytes.toString()) as T;
}
