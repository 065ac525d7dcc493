import { assert } from "../base/assert.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import { eachInSteps, filterInSteps, mapInSteps, resultWhileYielding } from "../base/yielding.js";
import type { CatalogChange, RestoredShard, StagedChange } from "../catalog/catalog-change.js";
import type { Catalog } from "../catalog/catalog.js";
import { decodeChange, encodeChange, parseFlip, type ShardIds } from "../catalog/flip-format.js";
import type { Position } from "../catalog/catalog-records.js";
import type { Flip, Manifest } from "../catalog/manifest.js";
import { DatabaseError } from "../database/database.js";
import type { Lease, Leases } from "../database/leases.js";
import type { HistoryShardRecord } from "../model/history-record.js";
import type { Repository } from "../model/repository.js";
import type { ShardRecord, SymbolRecord } from "../model/shard-record.js";
import { isObjectHash } from "../objects/object-store.js";
import type { ImportedIndex } from "./fleet-records.js";
import type {
  Fence,
  LoggedFlip,
  PartitionRecords,
  SharedFlip,
  SharedRepository,
  SharedShard,
} from "./partition-records.js";

/** A record of a shard, of texts or of a history, without the id that this node has given it. */
export type NamedRecord = Omit<ShardRecord, "id"> | Omit<HistoryShardRecord, "id">;

/** The shards of this node, and those of the fleet: objects that all nodes reach, by the hash of their bytes. */
export interface NodeShards {
  /** Makes a stored shard one that all nodes reach, with its symbols; resolves with its record, in which their names are. */
  store<Kept extends ShardRecord | HistoryShardRecord>(record: Kept, kind: SharedShard["kind"]): Promise<Kept>;
  storeSymbols(shardId: number, record: SymbolRecord): Promise<SymbolRecord>;
  /** Stores a shard here that others have, with its symbols; resolves with its id. It is not live yet. */
  bring(name: string, record: NamedRecord, kind: SharedShard["kind"]): Promise<number>;
  /** Stores symbols here that others have, for a shard that is here. */
  bringSymbols(shardId: number, record: SymbolRecord): Promise<void>;
  /** These are live: they need not be remembered any more. */
  keep(names: Iterable<string>): void;
}

/** Shards that are fetched at once. */
const broughtAtOnce = 4;

/** The name of a shard in the fleet. Equal shards have equal names; the histories of two repositories may be equal, and are two. */
function nameShard(record: NamedRecord): string {
  const { object } = record;
  assert(object !== undefined && isObjectHash(object), "a shard of a fleet is stored before it is named");
  return "repositoryId" in record ? `${object}.${record.repositoryId}` : object;
}

export interface SharedManifestServices {
  readonly catalog: Catalog;
  /** Names and ids of the shards that the catalog has of the partition: see `liveByPartition`. */
  readonly live: Iterable<readonly [string, number]>;
  readonly records: PartitionRecords;
  /** Of the table of partitions. */
  readonly leases: Leases;
  readonly shards: NodeShards;
  readonly log: Log;
}

/** Names and ids of all shards that a catalog has, in one pass, because there may be many of both. */
export function liveByPartition(catalog: Catalog): ReadonlyMap<number, readonly (readonly [string, number])[]> {
  const live = new Map<number, (readonly [string, number])[]>();
  const add = (record: NamedRecord & { readonly id: number }, repositoryId: number): void => {
    const partition = catalog.partitions.find(repositoryId);
    const some = live.get(partition);
    if (some === undefined) live.set(partition, [[nameShard(record), record.id]]);
    else some.push([nameShard(record), record.id]);
  };
  for (const { record } of catalog.shards()) {
    // What is hidden in it was in the partition of the rest.
    const id = record.repositoryIds.find((one) => one !== 0);
    if (id !== undefined || catalog.partitions.count === 1) add(record, id ?? 1);
  }
  for (const record of catalog.historyShards()) add(record, record.repositoryId);
  return live;
}

/** A flip has two texts of each repository, of about a kilobyte each: some hundred thousand repositories at once. */
const flipCharactersMax = 2 ** 28;

/** The catalog has got further than a change that was to be followed begins. */
class Outrun extends Error {}

/** The database has not made a flip, because it is another node's turn, or because its state is another one. */
export class RefusedFlip extends TrawlError {
  constructor() {
    super(
      "conflict",
      "the database has refused a change of the index: another node has this partition, or has changed it",
    );
  }
}

/**
 * The manifest of one partition, which the database has: a flip is decided there, by one statement that insists on holder, epoch, timeline
 * and version, and then made in the catalog of this node, which is a copy. Flips that others have made are followed in order.
 *
 * - Only who holds the lease of the partition publishes. The lease says who should; the statement says who did.
 * - A flip whose answer was lost is looked for by its id before anything else happens. Until that is known, the partition does
 *   nothing.
 * - A catalog that has what the database does not have, because the database fell back to an older copy, follows the database: it takes the
 *   manifest as it is there.
 * - What the database has made and the catalog has not, because this process ended between, is followed at the next start.
 */
export class SharedManifest implements Manifest {
  readonly #services: SharedManifestServices;
  /** Of live shards, by name. */
  readonly #ids: Map<string, number>;
  /** Undefined while another node has the partition, or nobody. */
  #lease: Lease | undefined;
  /** Whether it had it last, and has not let it go. */
  #hadLease = false;
  /** Shards that became live and shards that went with the flip that was decided last, until the catalog has made it. */
  #decided: { readonly names: readonly (readonly [string, number])[]; readonly removed: readonly string[] } = {
    names: [],
    removed: [],
  };
  /** A flip of which it is not known whether it was made. */
  #doubt: { readonly fence: Fence; readonly flipId: string } | undefined;
  /** Settles when the last of what was asked for is done. */
  #queue: Promise<unknown> = Promise.resolve();

  /** Why this node may publish nothing. */
  refusal: () => TrawlError = () =>
    new TrawlError("conflict", "another node changes this part of the index: ask that node");

  /** Caller guarantees: the catalog is loaded, and what it has of the partition is changed by nobody else. */
  constructor(services: SharedManifestServices) {
    this.#services = services;
    this.#ids = new Map(services.live);
  }

  get #partition(): number {
    return this.#services.records.partition;
  }

  /** Whether a repository is in the partition. The catalog may have those of others, too. */
  #isMine(repositoryId: number): boolean {
    return this.#services.catalog.partitions.find(repositoryId) === this.#partition;
  }

  /** What the catalog has reached in the partition. */
  get position(): Position {
    return this.#services.catalog.positionIn(this.#partition);
  }

  /** Stores shards that will be in a change, before its turn comes. */
  async store(records: readonly ShardRecord[]): Promise<void> {
    for (const record of records) await this.#services.shards.store(record, "text");
  }

  /** Whether this node may publish, as far as it knows. */
  get isOwner(): boolean {
    return this.#lease !== undefined && this.#services.leases.holds(this.#lease);
  }

  /** Of the lease; undefined while another node has the partition, or nobody. */
  get epoch(): number | undefined {
    return this.#lease?.epoch;
  }

  /**
   * Takes the partition if it is free, or if this node lost it with a flip of which nothing is known, and brings the catalog up to it.
   * Resolves with whether this node has it.
   */
  claim(): Promise<boolean> {
    return this.#inTurn(async () => {
      await this.#settleDoubt();
      return this.isOwner || this.#claim();
    });
  }

  /** Brings the catalog up to the database. Resolves with whether anything was new. */
  follow(): Promise<boolean> {
    return this.#inTurn(() => this.#follow());
  }

  /** Lets another node have the partition. */
  async release(): Promise<void> {
    await this.#inTurn(async () => {
      const lease = this.#lease;
      this.#lease = undefined;
      this.#hadLease = false;
      if (lease !== undefined) await this.#services.leases.release(lease);
    });
  }

  /** Forgets what the catalog has of the partition: this node does not hold it any more. */
  async drop(): Promise<void> {
    await this.#inTurn(async () => {
      const { catalog } = this.#services;
      const lease = this.#lease;
      this.#lease = undefined;
      this.#hadLease = false;
      if (lease !== undefined) await this.#services.leases.release(lease);
      const only = async <T>(items: Iterable<T>, isMine: (item: T) => boolean): Promise<readonly T[]> =>
        resultWhileYielding(filterInSteps([...items], isMine));
      await catalog.dropPartition(async () => {
        const repositories = await only(catalog.repositories(), ({ id }) => this.#isMine(id));
        const shards = await only(catalog.shards(), ({ record }) =>
          record.repositoryIds.some((id) => this.#isMine(id)),
        );
        const histories = await only(catalog.historyShards(), ({ repositoryId }) => this.#isMine(repositoryId));
        return {
          removedRepositoryIds: repositories.map(({ id }) => id),
          removedShardIds: shards.map(({ record }) => record.id),
          removedHistoryIds: histories.map(({ id }) => id),
        };
      }, this.#partition);
      this.#ids.clear();
    });
  }

  publish<Change extends CatalogChange>(makeChange: () => Change | Promise<Change>): Promise<Change> {
    return this.#inTurn(async () => {
      await this.#settleDoubt();
      if (!this.isOwner) throw this.refusal();
      try {
        return await this.#publish(makeChange);
      } catch (error) {
        // The database was taken over by another server, or this node was late and nobody has taken the partition.
        if (!(error instanceof RefusedFlip) || !(await this.#claim())) throw error;
        return await this.#publish(makeChange);
      }
    });
  }

  async #publish<Change extends CatalogChange>(makeChange: () => Change | Promise<Change>): Promise<Change> {
    const change = await this.#services.catalog.flip(
      async () => this.storeAll(await makeChange()),
      async (flip, staged, partition) => {
        assert(partition === this.#partition, "a change is published where its repositories are");
        await this.#decide(flip, staged);
      },
    );
    this.flipped();
    return change;
  }

  /** Throws if this node may not publish: `RefusedFlip` if it may be able to after `claimAgain`. */
  requireTurn(): void {
    if (!this.isOwner) throw this.#hadLease ? new RefusedFlip() : this.refusal();
  }

  /**
   * Decides a flip in the turn of the catalog, without a turn here: who follows has that one, and waits for the catalog. It is made only
   * while this node has the lease, and does not follow. Rejects with `RefusedFlip` if it may be tried again after `claimAgain`. When the
   * catalog has made it, `flipped` must be called.
   */
  async decide(flip: Flip, staged: StagedChange): Promise<void> {
    this.requireTurn();
    await this.#decide(flip, staged);
  }

  /** The catalog has made what was decided. */
  flipped(): void {
    const { names, removed } = this.#decided;
    this.#decided = { names: [], removed: [] };
    for (const name of removed) this.#ids.delete(name);
    for (const [name, id] of names) this.#ids.set(name, id);
  }

  /** After a flip was refused. Resolves with whether this node has the partition. */
  claimAgain(): Promise<boolean> {
    return this.#inTurn(async () => {
      await this.#settleDoubt();
      return this.#claim();
    });
  }

  /** The change with all that it adds stored where other nodes find it. */
  async storeAll<Change extends CatalogChange>(change: Change): Promise<Change> {
    const { shards, catalog } = this.#services;
    const { addedShards = [], addedHistory = [], symbols } = change;
    if (addedShards.length === 0 && addedHistory.length === 0 && symbols === undefined) return change;
    const stored: ShardRecord[] = [];
    const storedHistory: HistoryShardRecord[] = [];
    const storedSymbols = new Map<number, SymbolRecord | undefined>();
    for (const record of addedShards) stored.push(await shards.store(record, "text"));
    for (const record of addedHistory) storedHistory.push(await shards.store(record, "history"));
    for (const [id, record] of symbols ?? [])
      if (catalog.shard(id) !== undefined)
        storedSymbols.set(id, record === undefined ? undefined : await shards.storeSymbols(id, record));
    return { ...change, addedShards: stored, addedHistory: storedHistory, symbols: storedSymbols };
  }

  async #decide(change: Flip, staged: StagedChange): Promise<void> {
    const { records, leases, log } = this.#services;
    const flip = await this.#toShared(change, staged);
    const lease = this.#lease;
    if (lease === undefined || !leases.holds(lease)) throw new RefusedFlip();
    const { epoch, timeline } = lease;
    const fence = { holder: leases.holder, epoch, timeline, version: this.position.version };
    let isMade: boolean;
    try {
      isMade = await records.flip(fence, flip);
    } catch (error) {
      if (!(error instanceof DatabaseError) || !error.isUnknown) throw error;
      log.warn({ flip: flip.id, error: errorMessage(error) }, "it is not known whether a flip was made");
      this.#doubt = { fence, flipId: flip.id };
      this.#lease = undefined;
      leases.forget(lease);
      isMade = await records.wasMade(fence, flip.id);
      this.#doubt = undefined;
      if (!isMade) throw error;
    }
    if (!isMade) throw new RefusedFlip();
    const { addedShards = [], addedHistory = [] } = change.change;
    const names = [...addedShards, ...addedHistory].map((one) => [nameShard(one), one.id] as const);
    this.#decided = { names, removed: flip.removedShards };
  }

  /** Finds out what an earlier attempt could not. Rejects while the database does not say. */
  async #settleDoubt(): Promise<void> {
    const doubt = this.#doubt;
    if (doubt !== undefined) {
      await this.#services.records.wasMade(doubt.fence, doubt.flipId);
      this.#doubt = undefined;
    }
    // Its outcome was learnt, by raising the epoch.
    if (this.#lease === undefined && this.#hadLease) await this.#claim();
  }

  async #claim(): Promise<boolean> {
    const { leases, records, catalog } = this.#services;
    const lease = await leases.claim(String(records.partition));
    this.#lease = undefined;
    this.#hadLease = lease !== undefined;
    if (lease === undefined) return false;
    try {
      await this.#follow();
      const state = await records.state();
      if (state !== undefined && state.nextRepositoryId > 1) catalog.reserveRepositoryId(state.nextRepositoryId - 1);
    } catch (error) {
      // Another node may be able to.
      this.#hadLease = false;
      await leases.release(lease).catch(() => undefined);
      throw error;
    }
    this.#lease = lease;
    return true;
  }

  async #follow(): Promise<boolean> {
    const { records } = this.#services;
    const before = this.position;
    for (;;) {
      const from = this.position;
      const flips = await records.flipsAfter(from.version, from.flipId);
      if (flips?.length === 0) return this.position !== before;
      try {
        if (flips === undefined) await this.#takeSnapshot(from);
        else await this.#makeAll(flips, from);
      } catch (error) {
        // A flip of this node, whose outcome was not known, was made meanwhile.
        if (!(error instanceof Outrun)) throw error;
      }
    }
  }

  async #makeAll(flips: readonly LoggedFlip[], from: Position): Promise<void> {
    let before = from;
    for (const { version, id, change } of flips) {
      assert(version === before.version + 1, "flips are logged without gaps");
      const position = { version, flipId: id };
      await this.#make(change, before, position);
      before = position;
    }
  }

  /** Called in the turn of the catalog. */
  #requireStill(before: Position): void {
    const { version, flipId } = this.position;
    if (version !== before.version || flipId !== before.flipId) throw new Outrun();
  }

  /** Makes a flip of the log here. */
  async #make(text: string, before: Position, position: Position): Promise<void> {
    const { catalog } = this.#services;
    const value = await resultWhileYielding(parseFlip(text));
    // Before anything is fetched for it.
    await resultWhileYielding(decodeChange(value, { find: () => undefined, take: () => 0 }));
    const brought = new Map<string, number>();
    const lookup: ShardIds = {
      find: (name) => this.#ids.get(name),
      take: (name) => {
        const id = brought.get(name);
        assert(id !== undefined, "a shard is brought before it becomes live");
        return id;
      },
    };
    const { shards } = this.#services;
    for (const [kind, entries = []] of [
      ["text", value.addedShards],
      ["history", value.addedHistory],
    ] as const)
      await eachAtOnce(entries as readonly [string, NamedRecord][], async ([name, record]) => {
        brought.set(name, await shards.bring(name, record, kind));
      });
    const change = await resultWhileYielding(decodeChange(value, lookup));
    await eachAtOnce([...(change.symbols ?? [])], async ([id, record]) => {
      if (record !== undefined) await shards.bringSymbols(id, record);
    });
    const found = catalog.findPartition(change);
    if (found !== undefined && found !== this.#partition) throw this.#foreign(`change ${position.version}`);
    const repositories = await resultWhileYielding(mapInSteps(change.repositories ?? [], withoutErrors));
    await catalog.follow(
      () => {
        this.#requireStill(before);
        return { ...change, repositories };
      },
      position,
      this.#partition,
    );
    for (const name of [...(value.removedShards ?? []), ...(value.removedHistory ?? [])] as string[])
      this.#ids.delete(name);
    for (const [name, id] of brought) this.#ids.set(name, id);
    shards.keep(brought.keys());
  }

  /** Makes the catalog what the database has, whatever it had. */
  async #takeSnapshot(before: Position): Promise<void> {
    const { catalog, records, shards, log } = this.#services;
    const repositories: SharedRepository[] = [];
    const ids = new Set<number>();
    const found = new Map<string, SharedShard>();
    const state = await records.snapshot((someRepositories, someShards) => {
      repositories.push(...someRepositories);
      for (const { id } of someRepositories) ids.add(id);
      for (const one of someShards) found.set(one.name, one);
    });
    if (repositories.some(({ id }) => !this.#isMine(id))) throw this.#foreign("a repository");
    const position = { version: state?.version ?? 0, flipId: state?.flipId ?? "" };
    log.warn({ partition: records.partition, before, after: position }, "the manifest was read anew");
    const removed = await resultWhileYielding(filterInSteps([...this.#ids], ([name]) => !found.has(name)));
    const addedShards: ShardRecord[] = [];
    const addedHistory: HistoryShardRecord[] = [];
    const restored = new Map<number, RestoredShard>();
    const names: [string, number][] = [];
    const take = (
      { name, kind, tombstones }: SharedShard,
      record: NamedRecord,
      known: number | undefined,
      id: number,
    ) => {
      names.push([name, id]);
      if (kind === "history") {
        if (known === undefined) addedHistory.push({ ...(record as Omit<HistoryShardRecord, "id">), id });
        return;
      }
      const whole = { ...(record as Omit<ShardRecord, "id">), id };
      if (known === undefined) addedShards.push(whole);
      restored.set(id, { record: whole, tombstones: tombstones === null ? undefined : toWords(tombstones) });
    };
    const fetched: {
      readonly shared: SharedShard;
      readonly record: NamedRecord;
      readonly known: number | undefined;
    }[] = [];
    await resultWhileYielding(
      eachInSteps([...found.values()], (shared) => {
        const record = parse(shared.record) as NamedRecord;
        const known = this.#ids.get(shared.name);
        const symbols = symbolsIn(record)?.object;
        const hasAll =
          known !== undefined && (symbols === undefined || symbols === catalog.shard(known)?.record.symbols?.object);
        if (hasAll) take(shared, record, known, known);
        else fetched.push({ shared, record, known });
      }),
    );
    await eachAtOnce(fetched, async ({ shared, record, known }) => {
      const id = known ?? (await shards.bring(shared.name, record, shared.kind));
      const symbols = symbolsIn(record);
      if (known !== undefined && symbols !== undefined) await shards.bringSymbols(known, symbols);
      take(shared, record, known, id);
    });
    const live = (id: number): boolean => catalog.shard(id) !== undefined;
    await catalog.follow(
      async () => {
        this.#requireStill(before);
        return {
          repositories: await resultWhileYielding(
            mapInSteps(repositories, ({ record }) => withoutErrors(parse(record) as Repository)),
          ),
          removedRepositoryIds: (
            await resultWhileYielding(
              filterInSteps([...catalog.repositories()], ({ id }) => this.#isMine(id) && !ids.has(id)),
            )
          ).map(({ id }) => id),
          addedShards,
          addedHistory,
          removedShardIds: removed.map(([, id]) => id).filter(live),
          removedHistoryIds: removed.map(([, id]) => id).filter((id) => !live(id)),
          restored,
        };
      },
      position,
      this.#partition,
    );
    for (const [name] of removed) this.#ids.delete(name);
    await resultWhileYielding(eachInSteps(names, ([name, id]) => void this.#ids.set(name, id)));
    shards.keep(found.keys());
  }

  /** What must not be applied: other copies of the other partition would not have it. */
  #foreign(what: string): TrawlError {
    return new TrawlError(
      "storage",
      `the database has ${what} of partition ${this.#partition} that is about another one`,
    );
  }

  /** All that the database keeps of a flip. */
  async #toShared({ id, change }: Flip, staged: StagedChange): Promise<SharedFlip> {
    const { catalog } = this.#services;
    const added = new Map([...(change.addedShards ?? []), ...(change.addedHistory ?? [])].map((one) => [one.id, one]));
    const nameId = (shardId: number): string => {
      const record = added.get(shardId) ?? catalog.shard(shardId)?.record ?? catalog.historyShard(shardId);
      // What is not live here is not live anywhere: a change ignores it.
      return record === undefined ? `unknown ${shardId}` : nameShard(record);
    };
    const rows: SharedShard[] = [];
    for (const [shardId, after] of staged.shards) {
      const before = catalog.shard(shardId);
      if (before !== undefined && before.record === after.record && before.tombstones === after.tombstones) continue;
      rows.push(toSharedShard(after.record, "text", after.tombstones));
    }
    for (const record of change.addedHistory ?? []) rows.push(toSharedShard(record, "history"));
    const names = new Set(rows.map(({ name }) => name));
    assert(names.size === rows.length, "shards of one flip have different names");
    const removed = [...(change.removedShardIds ?? []), ...staged.removedHistoryIds].map(nameId);
    for (const { id: addedId } of added.values()) {
      const name = nameId(addedId);
      assert(!this.#ids.has(name) || removed.includes(name), "a shard that is added is not live already");
    }
    const whole = { ...change, removedHistoryIds: staged.removedHistoryIds };
    const toRow = (one: Repository): string => JSON.stringify(toSharedRepository(one));
    const text = await resultWhileYielding(encodeChange(whole, nameId));
    const repositories = await resultWhileYielding(mapInSteps(change.repositories ?? [], toRow));
    const shardRows = await resultWhileYielding(mapInSteps(rows, (row) => JSON.stringify(row)));
    const characters = [text, ...repositories, ...shardRows].reduce((sum, { length }) => sum + length, 0);
    if (characters > flipCharactersMax)
      throw new TrawlError(
        "content-too-large",
        `a change of the index has ${characters} characters, and ${flipCharactersMax} are possible: add fewer repositories at once`,
      );
    return {
      id,
      change: text,
      repositories: `[${repositories.join(",")}]`,
      removedRepositoryIds: change.removedRepositoryIds ?? [],
      shards: `[${shardRows.join(",")}]`,
      // A shard that is built again as it was has the same name.
      removedShards: removed.filter((name) => !names.has(name)),
      nextRepositoryId: catalog.nextRepositoryId,
    };
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => undefined);
    return done;
  }
}

/** Some at a time. After an error nothing more is begun, and it rejects when what was begun has ended. */
async function eachAtOnce<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const failures: unknown[] = [];
  const run = async (): Promise<void> => {
    for (const item of left) {
      if (failures.length > 0) return;
      await work(item).catch((error: unknown) => void failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: broughtAtOnce }, run));
  if (failures.length > 0) throw failures[0];
}

/** The errors of another node's attempts, which it takes back in its memory only. */
function withoutErrors(repository: Repository): Repository {
  if (repository.lastError === "" && repository.historyError === undefined) return repository;
  return { ...repository, lastError: "", historyError: undefined };
}

/** A shard as the database has it. Caller guarantees: it is stored as an object. */
function toSharedShard(
  record: ShardRecord | HistoryShardRecord,
  kind: SharedShard["kind"],
  tombstones?: Uint32Array,
): SharedShard {
  const words = tombstones === undefined ? null : toBase64(tombstones);
  return { name: nameShard(record), kind, record: withoutId(record), tombstones: words };
}

/** All of an index with one partition; its rows can be read once. Caller guarantees: all shards are stored as objects. */
export function describeIndex(catalog: Catalog): ImportedIndex {
  return {
    position: catalog.position,
    nextRepositoryId: catalog.nextRepositoryId,
    repositories: sharedRepositories(catalog),
    shards: sharedShards(catalog),
  };
}

function* sharedRepositories(catalog: Catalog): Generator<SharedRepository, void> {
  for (const repository of catalog.repositories()) yield toSharedRepository(repository);
}

function* sharedShards(catalog: Catalog): Generator<SharedShard, void> {
  for (const { record, tombstones } of catalog.shards()) yield toSharedShard(record, "text", tombstones);
  for (const record of catalog.historyShards()) yield toSharedShard(record, "history");
}

function toSharedRepository(repository: Repository): SharedRepository {
  const { id, name } = repository;
  return { id, name, record: JSON.stringify(repository) };
}

function withoutId({ id: _, ...record }: ShardRecord | HistoryShardRecord): string {
  return JSON.stringify(record);
}

function toBase64(words: Uint32Array): string {
  return Buffer.from(new Uint8Array(words.buffer, words.byteOffset, words.byteLength)).toString("base64");
}

/** In shared memory, as the catalog has them. */
function toWords(text: string): Uint32Array {
  const bytes = Buffer.from(text, "base64");
  if (bytes.length % 4 !== 0) throw new TrawlError("storage", "the database has tombstones of a wrong length");
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return new Uint32Array(shared.buffer);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TrawlError("storage", `the database has a record that is not JSON: ${errorMessage(cause)}`, { cause });
  }
}

/** The symbols of a shard; undefined if it has none, or is one of histories. */
export function symbolsIn(record: NamedRecord): SymbolRecord | undefined {
  return "repositoryId" in record ? undefined : record.symbols;
}
