import { randomUUID } from "node:crypto";
import { assert } from "../base/assert.js";
import { TrawlError } from "../base/errors.js";
import { resultWhileYielding } from "../base/yielding.js";
import type { HistoryShardRecord } from "../model/history-record.js";
import { viewersKey, type Repository, type RepositoryConfig } from "../model/repository.js";
import type { LiveShard } from "../model/shard-record.js";
import type { Viewer } from "../model/viewer.js";
import type { Records } from "../store/records.js";
import {
  type AddedRecords,
  type CatalogChange,
  changedRepositoryIds,
  type RepositoryChange,
  stageChange,
  type StagedChange,
} from "./catalog-change.js";
import {
  noPosition,
  type Position,
  readCounters,
  readHistoryShards,
  readPosition,
  readRepositories,
  readShards,
  writePosition,
} from "./catalog-records.js";
import { HistoryShards, type HistoryView } from "./history-shards.js";
import { makeLiveShard } from "./live-shard.js";
import { LiveShards, type CatalogView } from "./live-shards.js";
import type { Flip, Manifest } from "./manifest.js";
import { Partitions, type PartitionShare } from "./partitions.js";
import type { RepositoryTable } from "./repository-table.js";
import { mayHide, VisibleTables } from "./visible-tables.js";

/** What a task began with: how often the catalog had followed flips of a partition. */
export interface Basis {
  readonly partition: number;
  readonly followedCount: number;
}

/** Where a change leads to. */
interface Step {
  readonly partition: number;
  readonly position: Position;
}

/**
 * The record of repositories, indexed commits and live shards: read from memory, persisted in the record store.
 *
 * A flip is one LMDB transaction, awaited until it is on disk, then one synchronous step in memory,
 * so that a search sees all of a change or nothing. A shard that a flip removed stays readable until the last view that
 * holds it is released; then `onRetired` is called with its id.
 *
 * On a single host it is the manifest: who changes something is given it as one, and calls `publish`. What keeps the manifest elsewhere
 * calls `flip`.
 *
 * Lives on the main thread, which alone writes it.
 */
export class Catalog implements Manifest {
  readonly #store: Records;
  readonly #repositories = new Map<number, Repository>();
  readonly #repositoryIdOfName = new Map<string, number>();
  readonly #shards = new LiveShards((shardIds) => this.onRetired(shardIds));
  readonly #history = new HistoryShards((shardIds) => this.onRetired(shardIds));
  readonly #tables = new VisibleTables(() => this.#repositories.values());
  #version = 0;
  /** Larger than the id of every shard that the catalog has ever named. */
  #nextShardId = 1;
  /** By partition. */
  readonly #positions = new Map<number, Position>();
  #partitions: Partitions;
  /** How often each partition was followed. */
  readonly #followed = new Map<number, number>();
  /** Settles when the last change or `between` is done. */
  #commits: Promise<void> = Promise.resolve();

  /** Each is called with a repository that has changed; new searches see the change when the current event is over. */
  readonly watchers = new Set<(repository: Repository) => void>();

  /**
   * Called with the repositories of a change, before and after, when the change is about to be stored; what is returned
   * is stored with it, or not at all.
   */
  onStaging: (changed: readonly RepositoryChange[]) => AddedRecords | undefined = () => undefined;

  /** Called when some users who could read a repository can no longer do so. */
  onReadersChanged: (before: Repository, after: Repository) => void = () => undefined;

  /** Called with the id of a repository that other viewers see than before. */
  onVisibilityChanged: (repositoryId: number) => void = () => undefined;

  /** Called with the ids of repositories that were deleted, and not of those whose partition is elsewhere now. */
  onRemoved: (repositoryIds: readonly number[]) => void = () => undefined;

  /** Called with the ids of shards that no search can read any more. */
  onRetired: (shardIds: number[]) => void = () => undefined;

  /** Empty until `load` is done. */
  constructor(store: Records, partitions = new Partitions(1)) {
    this.#store = store;
    this.#partitions = partitions;
  }

  /** Of one host, until it is known of which fleet it is: must be called before `load`. */
  divide(partitionCount: number): void {
    assert(this.#repositories.size === 0, "a catalog is divided before it has anything");
    this.#partitions = new Partitions(partitionCount);
  }

  /** How the repositories of the fleet are divided, and which new ids they get. */
  get partitions(): Partitions {
    return this.#partitions;
  }

  /** Reads the stored catalog, in steps. Must be called once, before anything else. */
  *load(): Generator<void, void> {
    const { nextRepositoryId, nextShardId } = readCounters(this.#store);
    this.partitions.reserve(nextRepositoryId - 1);
    this.#nextShardId = Math.max(this.#nextShardId, nextShardId);
    for (let partition = 0; partition < this.partitions.count; partition++)
      this.#positions.set(partition, readPosition(this.#store, partition));
    for (const batch of readRepositories(this.#store)) {
      for (const repository of batch) this.#setRepository(repository);
      yield;
    }
    for (const batch of readShards(this.#store)) {
      for (const { record, tombstones } of batch) {
        this.#nextShardId = Math.max(this.#nextShardId, record.id + 1);
        this.#shards.load(makeLiveShard(record, (id) => this.#repositories.get(id), tombstones));
      }
      yield;
    }
    for (const batch of readHistoryShards(this.#store)) {
      for (const record of batch) {
        this.#nextShardId = Math.max(this.#nextShardId, record.id + 1);
        this.#history.load(record);
      }
      yield;
    }
    const table = yield* this.#tables.prepare([], []);
    if (table !== undefined) this.#tables.take(table);
  }

  /** Grows with each change of what searches find; when a repository was fetched is not part of that. */
  get version(): number {
    return this.#version;
  }

  /** The flips that are stored and visible, where there is one partition. */
  get position(): Position {
    return this.positionIn(0);
  }

  /** The flips of one partition that are stored and visible. */
  positionIn(partition: number): Position {
    return this.#positions.get(partition) ?? noPosition;
  }

  /** All repositories. Use `repositoryTable` to answer a viewer. */
  repositories(): IterableIterator<Repository> {
    return this.#repositories.values();
  }

  /** The repositories that the viewer may see, of some partitions or of all. The table shows later records until a change replaces the table. */
  repositoryTable(viewer: Viewer, share?: PartitionShare): RepositoryTable {
    return share === undefined ? this.#tables.of(viewer) : this.#tables.ofShare(viewer, share);
  }

  /** The same, in steps. */
  *shareInSteps(viewer: Viewer, share: PartitionShare): Generator<void, RepositoryTable> {
    return yield* this.#tables.shareInSteps(viewer, share);
  }

  /** Whether the viewer may see all repositories that are not removed. */
  seesAll(viewer: Viewer): boolean {
    return this.#tables.seesAll(viewer);
  }

  /** The smallest id that no shard has ever had, as far as the catalog knows. */
  get nextShardId(): number {
    return this.#nextShardId;
  }

  /** Makes new repositories get ids above this one, because something may be stored for a repository with this id. */
  reserveRepositoryId(id: number): void {
    this.partitions.reserve(id);
  }

  /** Above the ids of all repositories that there are, or were. */
  get nextRepositoryId(): number {
    return this.partitions.nextRepositoryId;
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
    return this.#shards.ordered();
  }

  /** Live shards that hold documents of the repository. */
  shardsForRepository(repositoryId: number): readonly LiveShard[] {
    return this.#shards.forRepository(repositoryId);
  }

  /** Pins the live shards; the caller releases the view when its last reader has ended. */
  view(): CatalogView {
    return this.#shards.view();
  }

  historyShard(id: number): HistoryShardRecord | undefined {
    return this.#history.get(id);
  }

  /** All history shards, in no particular order. */
  historyShards(): IterableIterator<HistoryShardRecord> {
    return this.#history.values();
  }

  /** History shards of the repository, the oldest first. */
  historyOf(repositoryId: number): readonly HistoryShardRecord[] {
    return this.#history.forRepository(repositoryId);
  }

  /** Pins the history shards; the caller releases the view when its last reader has ended. */
  historyView(): HistoryView {
    return this.#history.view();
  }

  /** Throws `conflict` when a repository has that name. */
  requireFree(name: string): void {
    const known = this.repositoryByName(name);
    if (known === undefined) return;
    throw new TrawlError(
      "conflict",
      known.removedAt !== ""
        ? `${JSON.stringify(name)} was removed from the configuration but is not deleted yet; list it there again, or delete it with \`trawl repo remove\``
        : `there is a repository named ${JSON.stringify(name)} already; remove it first, or choose another name`,
    );
  }

  /**
   * A record for a new repository; `commit` adds it to the catalog. The same change must delete `replaced`, which has the
   * name. Throws `conflict` if another repository has it.
   */
  newRepository(config: RepositoryConfig, configured: boolean, replaced?: Repository): Repository {
    if (replaced?.name !== config.name) this.requireFree(config.name);
    return {
      ...config,
      configured,
      removedAt: "",
      id: this.partitions.take(config.name),
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

  /**
   * Whether some repository names this user or organization among its readers, whether it exists or not: nobody but a site
   * admin may give the name to somebody.
   */
  isReader(name: string): boolean {
    const lower = name.toLowerCase();
    for (const { readers } of this.#repositories.values())
      if (readers.some((reader) => reader.toLowerCase() === lower)) return true;
    return false;
  }

  /** Records in memory only that a fetch found nothing new: that is not worth a write. */
  recordFetched(repositoryId: number, fetched: string, warnings: readonly string[]): void {
    const repository = this.#repositories.get(repositoryId);
    if (repository === undefined) return;
    if (repository.lastError !== "") this.#version++;
    this.#setRepository({ ...repository, lastFetched: fetched, lastError: "", warnings });
  }

  /**
   * Records in memory only that a sync failed. The disk may be what failed, and every start syncs all repositories.
   */
  recordFailed(repositoryId: number, error: string): void {
    const repository = this.#repositories.get(repositoryId);
    if (repository === undefined) return;
    this.#version++;
    this.#setRepository({ ...repository, lastError: error });
  }

  /** Records in memory only why its history could not be indexed; "" if it could. */
  recordHistoryError(repositoryId: number, error: string): void {
    const repository = this.#repositories.get(repositoryId);
    if (repository === undefined || (repository.historyError ?? "") === error) return;
    this.#version++;
    this.#setRepository({ ...repository, historyError: error === "" ? undefined : error });
  }

  /** Forgets, in memory only, why syncs and histories of some repositories have failed. */
  forgetErrors(isMeant: (repositoryId: number) => boolean): void {
    for (const { id, lastError } of [...this.#repositories.values()]) {
      if (!isMeant(id)) continue;
      if (lastError !== "") this.recordFailed(id, "");
      this.recordHistoryError(id, "");
    }
  }

  store(): Promise<void> {
    return Promise.resolve();
  }

  publish<Change extends CatalogChange>(makeChange: () => Change | Promise<Change>): Promise<Change> {
    return this.flip(makeChange, () => Promise.resolve());
  }

  /**
   * Makes one flip durable, then visible; resolves with its change. `decide` is called when all of the flip is known and nothing of it
   * is stored, unless it writes nothing: if it rejects, nothing changes. All of it must be in one partition.
   */
  flip<Change extends CatalogChange>(
    makeChange: () => Change | Promise<Change>,
    decide: (flip: Flip<Change>, staged: StagedChange, partition: number) => Promise<void>,
  ): Promise<Change> {
    return this.#make(makeChange, async (change, staged) => {
      if (staged.records.length === 0) return undefined;
      const id = randomUUID();
      const partition = this.findPartition(change);
      assert(partition !== undefined, "a flip is about a repository");
      await decide({ id, change }, staged, partition);
      return { partition, position: { version: this.positionIn(partition).version + 1, flipId: id } };
    });
  }

  /** The one that a change is about; undefined if it is about no repository. A change about several fails. */
  findPartition(change: CatalogChange): number | undefined {
    const { partitions } = this;
    if (partitions.count === 1) return 0;
    let found: number | undefined;
    const ids = changedRepositoryIds(
      change,
      (id) => this.#shards.get(id)?.record,
      (id) => this.#history.get(id),
    );
    for (const id of ids) {
      // What is hidden in a shard was in the partition of the rest.
      if (id === 0) continue;
      const partition = partitions.find(id);
      assert(found === undefined || found === partition, "a flip changes one partition");
      found = partition;
    }
    return found;
  }

  /** Makes flips that were decided elsewhere: all together they are this change, and lead to this position in a partition. */
  follow<Change extends CatalogChange>(
    makeChange: () => Change | Promise<Change>,
    position: Position,
    partition = 0,
  ): Promise<Change> {
    return this.#make(makeChange, () => {
      this.#followed.set(partition, this.#followedIn(partition) + 1);
      return Promise.resolve({ partition, position });
    });
  }

  /** Like `follow`, of a change that leaves nothing of the partition: it is elsewhere now, and nothing of it was deleted. */
  dropPartition(makeChange: () => CatalogChange | Promise<CatalogChange>, partition: number): Promise<CatalogChange> {
    const decide = (): Promise<Step> => {
      this.#followed.set(partition, this.#followedIn(partition) + 1);
      return Promise.resolve({ partition, position: noPosition });
    };
    return this.#make(makeChange, decide, true);
  }

  #followedIn(partition: number): number {
    return this.#followed.get(partition) ?? 0;
  }

  /** What a task computes of this repository, and of others in its partition, is computed from. */
  basis(repositoryId: number): Basis {
    const partition = this.partitions.find(repositoryId);
    return { partition, followedCount: this.#followedIn(partition) };
  }

  /** Whether nobody else has changed the partition since: otherwise what was computed may not fit the catalog any more. */
  isCurrent({ partition, followedCount }: Basis): boolean {
    return this.#followedIn(partition) === followedCount;
  }

  /** Changes are made one at a time, in the order of the calls. */
  #make<Change extends CatalogChange>(
    makeChange: () => Change | Promise<Change>,
    decide: (change: Change, staged: StagedChange) => Promise<Step | undefined>,
    isDropped = false,
  ): Promise<Change> {
    return this.between(async () => {
      const change = await makeChange();
      const staged = stageChange(change, {
        repositories: this.#repositories,
        shards: this.#shards.values(),
        history: this.#history.values(),
        counters: { nextRepositoryId: this.nextRepositoryId, nextShardId: this.#nextShardId },
      });
      const table = await resultWhileYielding(
        this.#tables.prepare(change.repositories ?? [], change.removedRepositoryIds ?? []),
      );
      const changed = (change.repositories ?? []).map((after) => ({ before: this.#repositories.get(after.id), after }));
      const step = await decide(change, staged);
      const added = changed.length === 0 ? undefined : this.onStaging(changed);
      if (step !== undefined) {
        const { partition, position } = step;
        await this.#store.apply([...staged.records, ...(added?.records ?? []), writePosition(partition, position)]);
        this.#positions.set(partition, position);
      }
      this.#show(change, staged.shards);
      const removed = change.removedRepositoryIds ?? [];
      if (removed.length > 0 && !isDropped) this.onRemoved(removed);
      this.#showHistory(change.addedHistory ?? [], staged.removedHistoryIds);
      if (table !== undefined) this.#tables.take(table);
      added?.show();
      return change;
    });
  }

  /** Runs `work` between two changes: no change is made meanwhile, neither on disk nor in memory. */
  between<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#commits.then(work);
    this.#commits = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  }

  #show(change: CatalogChange, shards: ReadonlyMap<number, LiveShard>): void {
    this.#version++;
    for (const repository of change.repositories ?? []) this.#setRepository(repository);
    for (const id of change.removedRepositoryIds ?? []) {
      const name = this.#repositories.get(id)?.name;
      if (name !== undefined && this.#repositoryIdOfName.get(name) === id) this.#repositoryIdOfName.delete(name);
      this.#repositories.delete(id);
      this.#tables.clear();
    }
    for (const id of shards.keys()) this.#nextShardId = Math.max(this.#nextShardId, id + 1);
    this.#shards.replace(shards, change.removedShardIds ?? []);
  }

  #showHistory(added: readonly HistoryShardRecord[], removedIds: readonly number[]): void {
    for (const { id } of added) this.#nextShardId = Math.max(this.#nextShardId, id + 1);
    if (added.length > 0 || removedIds.length > 0) this.#history.replace(added, removedIds);
  }

  #setRepository(repository: Repository): void {
    const before = this.#repositories.get(repository.id);
    this.#repositories.set(repository.id, repository);
    this.#repositoryIdOfName.set(repository.name, repository.id);
    this.#tables.replace(repository);
    for (const watch of this.watchers) watch(repository);
    if (before === undefined || (before.private === repository.private && before.readers === repository.readers))
      return;
    if (viewersKey(before) !== viewersKey(repository)) this.onVisibilityChanged(repository.id);
    if (mayHide(before, repository)) this.onReadersChanged(before, repository);
  }
}
