import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { callAfter, callEvery, monotonicMs, type PendingCall } from "../base/deadline.js";
import { errorMessage, TrawlError, deserializeError } from "../base/errors.js";
import { eachInSteps, filterInSteps, resultWhileYielding } from "../base/yielding.js";
import { oneLine } from "../base/text.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import type { Catalog, CatalogChange } from "../catalog/catalog.js";
import type { LiveShard, ShardRecord } from "../model/shard-record.js";
import { redactUrl } from "../git/mirror/remote-url.js";
import { checkCredential, isSameOrigin } from "../git/mirror/url-secret.js";
import type { MetadataChange } from "../model/metadata-change.js";
import {
  attributesIn,
  type Repository,
  type RepositoryConfig,
  type RepositoryAttributes,
} from "../model/repository.js";
import { quarantineSentences, type Quarantine } from "../model/quarantine.js";
import { repositoryState, type RepositoryStatus } from "../model/repository-status.js";
import type {
  CheckTask,
  FetchSettings,
  IndexLimits,
  SyncInput,
  SyncOutcome,
  SyncProgress,
  SyncTaskResult,
} from "../protocol/messages.js";
import { IngestLoss, type IngestPool } from "../pool/pools.js";
import { SecretFiles } from "../store/secret-files.js";
import { RepositorySecrets } from "./repository-secrets.js";
import { IndexGauges } from "./index-gauges.js";
import { LossJudge } from "./loss.js";
import { changedMetadata, withChange } from "./metadata.js";
import { configuredRecords, requireFewRemovals } from "./configured-repositories.js";
import { chooseCompaction } from "./compaction-policy.js";

const dayMs = 86_400_000;

/** The error of a repository is no longer than this. */
const errorCharsMax = 1_000;

/** A line of the log names this many repositories. */
const namedRepositoriesMax = 20;

/** At most this many repositories are synced by one task. */
const batchCountMax = 64;

/**
 * Syncs of the start wait this long: whoever asked for it wants to search, and the first answers have the processor to
 * themselves.
 */
const startDelayMs = 1_000;

/** One live shard is verified in the background each time this long has passed. */
const scrubPeriodMs = 60_000;

/** After a failed sync the next try waits at least this long, and twice as long each time it fails again. */
const retryMsMin = 10_000;

/** After a merge failed (no room on the disk, a damaged shard), the next waits this long. */
const compactRetryMs = 60_000;

export interface SyncSettings {
  readonly dataFolder: string;
  readonly limits: IndexLimits;
  readonly fetch: FetchSettings;
  /** Shortest and longest time between two syncs of one repository. */
  readonly intervalMsMin: number;
  readonly intervalMsMax: number;
  /** From when a repository vanishes from the configuration until it is deleted. */
  readonly removalGraceMs: number;
  /** The version of the program: what another one did not get past is tried again. */
  readonly program: string;
  /** Told why nobody knows any more what the disk has of the shards. */
  readonly onStoreLost: (reason: string) => void;
}

export type SyncResult = "unchanged" | "indexed";

interface Schedule {
  /** Syncs in a row that changed nothing, or failed. */
  quietCount: number;
  timer: PendingCall | undefined;
  /** Those who wait for the next task to begin, and those who wait for the running one to end. */
  waiters: Waiter[];
  attending: Waiter[];
  /** True until all of it has been indexed anew. */
  rebuild: boolean;
  /** True until a task has begun to fetch everything anew. */
  recreate: boolean;
}

interface Waiter {
  readonly resolve: (result: SyncResult) => void;
  readonly reject: (error: TrawlError) => void;
}

/**
 * Decides when to fetch and index, and flips the catalog when a worker has built the shards.
 *
 * A repository is in one task at a time; a shard is merged only while none of its repositories is in a task. So each
 * flip is computed against the state that it changes. What a worker has written stays unknown until the flip's
 * transaction is on disk: a crash before it leaves orphans, which the next start deletes.
 */
export class SyncManager {
  readonly #catalog: Catalog;
  readonly #pool: IngestPool;
  readonly #settings: SyncSettings;
  readonly #log: Log;
  readonly #metrics: Metrics;
  readonly #shardIds = new Int32Array(new SharedArrayBuffer(4));
  readonly #stop = new Int32Array(new SharedArrayBuffer(4));
  readonly #schedules = new Map<number, Schedule>();
  /** What running syncs do, by repository. */
  readonly #activities = new Map<number, string>();
  readonly #watchers = new Set<{ readonly name: string; readonly watch: (activity: string) => void }>();
  /** Repositories that wait for a task: those that somebody waits for, and the rest. */
  readonly #urgent = new Set<number>();
  readonly #queued = new Set<number>();
  /** Repositories whose mirrors grew since they were last looked after. */
  readonly #unmaintained = new Set<number>();
  readonly #busy = new Set<number>();
  /** Repositories that get a task of their own until one succeeds: a thread was lost in their last one. */
  readonly #alone = new Set<number>();
  /** Of those, the ones whose remote takes its time: they have threads of their own, so that nobody waits for it. */
  readonly #slow = new Set<number>();
  #slowTaskCount = 0;
  readonly #judge: LossJudge;
  readonly #gauges: IndexGauges;
  readonly #secrets: RepositorySecrets;
  /** Shards that a thread did not merge. */
  readonly #unmergeable = new Set<number>();
  /** Repositories that were fetched anew because their mirrors lacked objects: once in the life of the process. */
  readonly #refetched = new Set<number>();
  /** Those whose running task fetches everything anew. */
  readonly #recreating = new Set<number>();
  readonly #tasks = new Set<Promise<void>>();
  #isCompacting = false;
  /** After a merge that failed, none is tried before this time on the monotonic clock. */
  #compactAgainMs = 0;
  /** Live shards that failed their checks and wait to be built again. */
  readonly #damaged = new Set<number>();
  /** Why nothing is synced any more. */
  #suspended: TrawlError | undefined;
  #scrubbed = 0;
  #scrubTimer: PendingCall | undefined;
  #startTimer: PendingCall | undefined;

  constructor(catalog: Catalog, pool: IngestPool, settings: SyncSettings, log: Log, metrics: Metrics) {
    this.#catalog = catalog;
    this.#pool = pool;
    this.#settings = settings;
    this.#judge = new LossJudge(settings.program);
    this.#gauges = new IndexGauges(catalog, metrics, (repository) => this.#judge.current(repository));
    this.#secrets = new RepositorySecrets(new SecretFiles(join(settings.dataFolder, "secrets")));
    this.#log = log;
    this.#metrics = metrics;
  }

  /** New shards get ids from this one on: something with a smaller one may still be stored. */
  reserveShardIds(nextShardId: number): void {
    this.#shardIds[0] = nextShardId;
  }

  /** Syncs all repositories, a moment later, and from then on whenever it is time to. */
  start(): void {
    this.#countRepairs();
    this.#scrubTimer = callEvery(scrubPeriodMs, () => {
      this.#scrub();
      this.#track(this.#deleteRemoved());
    });
    this.#startTimer = callAfter(startDelayMs, () => {
      this.#track(this.#removeUnknownMirrors());
      this.#track(this.#verify(this.#catalog.shards(), "headers"));
      this.#track(this.#enqueueAll());
    });
  }

  async #enqueueAll(): Promise<void> {
    await resultWhileYielding(
      eachInSteps([...this.#catalog.repositories()], ({ id }) => {
        const repository = this.#catalog.repository(id);
        if (repository?.removedAt === "") this.#enqueue(id, this.#isOutdated(repository));
      }),
    );
  }

  /**
   * Makes the catalog hold exactly the configured repositories, beside those added by hand. Those that are new or
   * differ are synced at once; those that vanished are hidden at once, and deleted when the grace period ends. Rejects
   * with `conflict` when most of them vanished, unless `mayRemoveMost`.
   */
  async configure(configured: readonly RepositoryConfig[], mayRemoveMost: boolean): Promise<void> {
    const { configs, changedNames } = await this.#secrets.movedAll(configured);
    const { repositories } = await this.#catalog.commit(() => {
      if (!mayRemoveMost) requireFewRemovals(this.#catalog, configs);
      return { repositories: configuredRecords(this.#catalog, configs, new Date().toISOString()) };
    });
    for (const name of changedNames) this.#enqueue(this.#named(name).id, false);
    for (const { id, removedAt } of repositories) {
      if (removedAt === "") this.#enqueue(id, false);
      else this.#unschedule(id);
    }
    this.#logRemovals(repositories.filter(({ removedAt }) => removedAt !== ""));
    this.#countRepairs();
    this.#pump();
    await this.#deleteRemoved();
  }

  #logRemovals(removed: readonly Repository[]): void {
    if (removed.length === 0) return;
    const days = this.#settings.removalGraceMs / dayMs;
    this.#log.warn(
      {
        repositories: removed.slice(0, namedRepositoriesMax).map(({ name }) => name),
        count: removed.length,
        graceDays: days,
      },
      "repositories that the configuration no longer lists are hidden, and deleted when the grace period ends unless they are listed again",
    );
  }

  /** Deletes the repositories whose grace period has ended. */
  async #deleteRemoved(): Promise<void> {
    if (this.#suspended !== undefined) return;
    const nowMs = new Date().getTime();
    for (const repository of [...this.#catalog.repositories()]) {
      if (repository.removedAt === "" || Date.parse(repository.removedAt) + this.#settings.removalGraceMs > nowMs)
        continue;
      this.#log.info(
        { repository: repository.name, removedAt: repository.removedAt },
        "a repository that was removed from the configuration is deleted",
      );
      await this.#remove(repository);
    }
  }

  /**
   * Adds a repository and waits until it is searchable. Rejects with `conflict`, or with what its first sync failed
   * with.
   */
  async add(config: RepositoryConfig): Promise<Repository> {
    // Before anything is kept of it: a name that is taken has a secret of its own.
    this.#catalog.requireFree(config.name);
    const { config: without } = await this.#secrets.moved(config);
    const {
      repositories: [repository],
    } = await this.#catalog.commit(() => ({ repositories: [this.#catalog.newRepository(without, false)] as const }));
    await this.#syncSoon(repository.id);
    return this.#catalog.repository(repository.id) ?? repository;
  }

  /** Changes what is said about a repository. Rejects with `conflict` where the configuration file says it. */
  async setFacts(name: string, facts: Partial<RepositoryAttributes>): Promise<void> {
    await this.#catalog.commit(() => ({ repositories: [{ ...this.#addedByHand(name), ...facts }] }));
  }

  /**
   * What is searchable stays so until the new remote has been fetched. What is undefined stays, but for the secret of
   * another host. Rejects like `setFacts`, and with what the fetch failed with.
   */
  async setRemote(name: string, url: string | undefined, credential: string | undefined): Promise<SyncResult> {
    const known = this.#addedByHand(name);
    const isKept = url === undefined || isSameOrigin(known.url, url);
    const wanted = { name, url: url ?? known.url, credential: credential ?? "" };
    checkCredential(wanted.url, wanted.credential);
    const { config } = await this.#secrets.moved(wanted);
    const remote = {
      url: config.url,
      credential: credential === undefined && config.credential === "" && isKept ? known.credential : config.credential,
    };
    const {
      repositories: [{ id }],
    } = await this.#catalog.commit(() => ({ repositories: [{ ...this.#addedByHand(name), ...remote }] as const }));
    if (remote.credential !== known.credential) await this.#secrets.forget(known.credential);
    return await this.#syncSoon(id);
  }

  /** Programs before this one kept the secrets of URLs in the catalog. Resolves when none is there. */
  async moveSecrets(): Promise<void> {
    const withSecret = await resultWhileYielding(
      filterInSteps([...this.#catalog.repositories()], ({ url }) => url.includes("@")),
    );
    for (const repository of withSecret) {
      try {
        await this.#moveSecret(repository);
      } catch (error) {
        // A URL that this program refuses costs its repository alone, whose fetches say the same.
        if (!(error instanceof TrawlError) || error.code !== "bad-config") throw error;
        this.#log.warn({ repository: repository.name }, error.message);
      }
    }
  }

  async #moveSecret(repository: Repository): Promise<void> {
    const { config } = await this.#secrets.moved(repository);
    if (config === repository) return;
    await this.#catalog.commit(() => ({
      repositories: [
        { ...(this.#catalog.repository(repository.id) ?? repository), url: config.url, credential: config.credential },
      ],
    }));
    this.#log.warn(
      { repository: repository.name },
      "the user and password of its URL are kept in the folder secrets of the data directory, and no longer in the catalog",
    );
  }

  #addedByHand(name: string): Repository {
    const repository = this.#named(name);
    if (!repository.configured) return repository;
    throw new TrawlError(
      "conflict",
      `${JSON.stringify(name)} is listed in the configuration file or on the command line: change it there`,
    );
  }

  /**
   * Changes one pair of a repository's metadata. Rejects with `conflict` for one that the configuration file says, for
   * a key that is added twice, and with `not-found` for a key that is not there.
   */
  async changeMetadata(name: string, change: MetadataChange): Promise<void> {
    await this.#catalog.commit(() => {
      const repository = this.#named(name);
      const metadata = changedMetadata(repository, change);
      const addedMetadata = repository.configured
        ? withChange(repository.addedMetadata, change)
        : repository.addedMetadata;
      return { repositories: [{ ...repository, metadata, addedMetadata }] };
    });
  }

  /** Takes a name from the readers of repositories; those of the configuration file stay as it says. */
  async removeReader(name: string): Promise<void> {
    const isOther = (reader: string): boolean => reader.toLowerCase() !== name.toLowerCase();
    await this.#catalog.commit(() => ({
      repositories: [...this.#catalog.repositories()]
        .filter(({ configured, readers }) => !configured && !readers.every(isOther))
        .map((repository) => ({ ...repository, readers: repository.readers.filter(isOther) })),
    }));
  }

  /** Removes a repository with its documents and its mirror. */
  async remove(name: string): Promise<void> {
    await this.#remove(this.#named(name));
  }

  /** Fetches and indexes now; resolves once what was fetched is searchable. */
  sync(name: string): Promise<SyncResult> {
    return this.#syncSoon(this.#named(name).id);
  }

  /**
   * The same, for whoever does not wait for it. However often it is asked for before it begins, it is done once; asked
   * for while one runs, another one follows, since what is new may have come too late for the first.
   */
  request(repositoryId: number): void {
    if (this.#catalog.repository(repositoryId)?.removedAt !== "" || Atomics.load(this.#stop, 0) !== 0) return;
    this.#urgent.add(repositoryId);
    this.#pump();
  }

  /** Indexes all of it anew, from its mirror. Does not wait, like `request`. */
  requestIndexing(repositoryId: number): void {
    if (this.#catalog.repository(repositoryId) !== undefined) this.#schedule(repositoryId).rebuild = true;
    this.#liftQuarantine(repositoryId);
    this.request(repositoryId);
  }

  /** Empties its mirror and fetches everything; what can be searched stays meanwhile. Does not wait, like `request`. */
  requestCloning(repositoryId: number): void {
    if (this.#catalog.repository(repositoryId) !== undefined) this.#schedule(repositoryId).recreate = true;
    this.#liftQuarantine(repositoryId);
    this.request(repositoryId);
  }

  statuses(): RepositoryStatus[] {
    return [...this.#catalog.repositories()].map((repository) => ({
      name: repository.name,
      url: redactUrl(repository.url),
      state: repositoryState(repository),
      activity: this.#activities.get(repository.id) ?? "",
      error: repository.lastError,
      deletedAfter:
        repository.removedAt === ""
          ? ""
          : new Date(Date.parse(repository.removedAt) + this.#settings.removalGraceMs).toISOString(),
      lastFetched: repository.lastFetched,
      branches: repository.indexedBranches.map(({ name, commit }) => ({ name, commit })),
      documentCount: repository.documentCount,
      contentBytes: repository.contentBytes,
      skippedCounts: repository.skippedCounts,
      quarantine: quarantineSentences(this.#judge.current(repository)),
      ...attributesIn(repository),
    }));
  }

  /** What the sync of a repository does; "" when there is none. */
  activity(repositoryId: number): string {
    return this.#activities.get(repositoryId) ?? "";
  }

  /** Repositories that wait for their sync. */
  get waitingCount(): number {
    return this.#urgent.size + this.#queued.size;
  }

  recordProgress(progress: SyncProgress): void {
    const share = progress.total > 0 ? ` ${Math.floor((progress.done * 100) / progress.total)} %` : "";
    const activity = `${progress.phase}${share}`;
    this.#activities.set(progress.repositoryId, activity);
    const name = this.#catalog.repository(progress.repositoryId)?.name;
    for (const watcher of this.#watchers) if (watcher.name === name) watcher.watch(activity);
  }

  /** Calls `watch` with each activity of the repository until the returned function is called. */
  onActivity(name: string, watch: (activity: string) => void): () => void {
    const watcher = { name, watch };
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Builds a damaged shard's repositories again and waits for it. */
  async rebuild(shardId: number): Promise<void> {
    const ids = this.#catalog.shard(shardId)?.record.repositoryIds.filter((id) => id !== 0) ?? [];
    for (const id of ids) this.#schedule(id).rebuild = true;
    await Promise.all(ids.map((id) => this.#syncSoon(id)));
  }

  /** A shard failed its checks: its repositories are built again from their mirrors. */
  repair(shardId: number): void {
    const shard = this.#catalog.shard(shardId);
    if (shard === undefined || this.#damaged.has(shardId)) return;
    this.#damaged.add(shardId);
    this.#metrics.shardsDamaged.inc();
    this.#countRepairs();
    for (const id of shard.record.repositoryIds) if (id !== 0) this.#enqueue(id, true);
    this.#pump();
  }

  /**
   * Runs `work` while no task touches the repository or its mirror. Rejects with `shutting-down` when it comes to that
   * first.
   */
  async exclusively<T>(id: number, work: () => Promise<T>): Promise<T> {
    while (this.#busy.has(id) && this.#tasks.size > 0) await Promise.race(this.#tasks);
    if (Atomics.load(this.#stop, 0) !== 0) throw new TrawlError("shutting-down", "the daemon is stopping");
    this.#busy.add(id);
    try {
      return await work();
    } finally {
      this.#release([id]);
      this.#pump();
    }
  }

  /** Set when the daemon stops: for what runs beside tasks of this. */
  get stopWord(): Int32Array {
    return this.#stop;
  }

  /**
   * From here on nothing begins that would write; whoever waits for it is told why. What runs ends, and fails where it
   * writes.
   */
  suspend(error: TrawlError): void {
    this.#suspended ??= error;
    this.#urgent.clear();
    this.#queued.clear();
    for (const schedule of this.#schedules.values()) {
      schedule.timer?.cancel();
      for (const waiter of schedule.waiters.splice(0)) waiter.reject(this.#suspended);
    }
  }

  /** Resolves when nothing is queued or running: for commands that wait, and for tests. */
  async idle(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.all(this.#tasks);
  }

  /** Verifies every live shard; yields what is damaged. */
  async *check(): AsyncGenerator<{ readonly shardId: number; readonly error: TrawlError | undefined }> {
    for (const { record } of [...this.#catalog.shards()]) {
      const { failures } = await this.#pool.check({ kind: "check", shards: [record], part: "whole", stop: this.#stop });
      if (this.#catalog.shard(record.id) === undefined) continue;
      const [failure] = failures;
      yield { shardId: record.id, error: failure === undefined ? undefined : deserializeError(failure.error) };
    }
  }

  /** Deletes retired shards. */
  retire(shardIds: readonly number[]): void {
    if (shardIds.length === 0 || this.#suspended !== undefined) return;
    this.#track(
      this.#pool.remove({ kind: "remove", shardIds }).catch((error: unknown) => {
        this.#endIfLost(error);
        this.#log.warn(
          { shards: shardIds, error: errorMessage(error) },
          "retired shards could not be deleted; the next start tries again",
        );
      }),
    );
  }

  /** Stops timers and running tasks; resolves when the latter have ended. */
  async close(): Promise<void> {
    Atomics.store(this.#stop, 0, 1);
    this.#scrubTimer?.cancel();
    this.#startTimer?.cancel();
    this.#urgent.clear();
    this.#queued.clear();
    for (const schedule of this.#schedules.values()) {
      schedule.timer?.cancel();
      for (const waiter of listWaiters(schedule))
        waiter.reject(new TrawlError("shutting-down", "the daemon is stopping"));
    }
    await this.idle();
  }

  #named(name: string): Repository {
    const repository = this.#catalog.repositoryByName(name);
    if (repository !== undefined) return repository;
    throw new TrawlError(
      "not-found",
      `there is no repository named ${JSON.stringify(name)}; \`trawl repo list\` shows those there are`,
    );
  }

  async #remove(repository: Repository): Promise<void> {
    await this.#catalog.commit(() => {
      const alone = this.#catalog
        .shardsForRepository(repository.id)
        .filter((shard) => shard.record.repositoryIds.every((id) => id === repository.id || id === 0));
      return { removedRepositoryIds: [repository.id], removedShardIds: alone.map((shard) => shard.record.id) };
    });
    this.#unschedule(repository.id);
    await this.#secrets.forget(repository.credential);
    // A task may be writing to the mirror; it is deleted when that has ended.
    if (!this.#busy.has(repository.id)) await this.#removeMirror(`${repository.id}.git`);
    this.#countRepairs();
  }

  /** No task of this repository begins any more. */
  #unschedule(id: number): void {
    const schedule = this.#schedule(id);
    schedule.timer?.cancel();
    for (const waiter of listWaiters(schedule))
      waiter.reject(new TrawlError("not-found", "the repository was removed"));
    this.#schedules.delete(id);
    this.#alone.delete(id);
    this.#slow.delete(id);
    this.#urgent.delete(id);
    this.#queued.delete(id);
  }

  async #removeMirror(folder: string): Promise<void> {
    await rm(join(this.#settings.dataFolder, "mirrors", folder), { recursive: true, force: true }).catch(
      (error: unknown) =>
        this.#log.warn(
          { mirror: folder, error: errorMessage(error) },
          "a mirror that is not needed could not be deleted; the next start tries again",
        ),
    );
  }

  /** Deletes what a removal that was cut short left behind. */
  async #removeUnknownMirrors(): Promise<void> {
    for (const folder of await readdir(join(this.#settings.dataFolder, "mirrors"))) {
      if (this.#catalog.repository(Number.parseInt(folder, 10)) === undefined) await this.#removeMirror(folder);
    }
  }

  /** Ends the time in which only one task may touch these repositories. */
  #release(ids: readonly number[]): void {
    for (const id of ids) {
      this.#busy.delete(id);
      this.#activities.delete(id);
      if (this.#catalog.repository(id) === undefined) this.#track(this.#removeMirror(`${id}.git`));
    }
  }

  #schedule(id: number): Schedule {
    let schedule = this.#schedules.get(id);
    if (schedule === undefined) {
      schedule = { quietCount: 0, timer: undefined, waiters: [], attending: [], rebuild: false, recreate: false };
      this.#schedules.set(id, schedule);
    }
    return schedule;
  }

  #syncSoon(id: number): Promise<SyncResult> {
    if (this.#suspended !== undefined) return Promise.reject(this.#suspended);
    if (this.#catalog.repository(id)?.removedAt !== "")
      return Promise.reject(new TrawlError("not-found", "the repository was removed"));
    const done = new Promise<SyncResult>((resolve, reject) => this.#schedule(id).waiters.push({ resolve, reject }));
    this.#urgent.add(id);
    this.#pump();
    return done;
  }

  #enqueue(id: number, rebuild: boolean): void {
    const schedule = this.#schedule(id);
    schedule.timer?.cancel();
    schedule.rebuild ||= rebuild;
    this.#queued.add(id);
  }

  /** Starts tasks while there is a worker for them. */
  #pump(): void {
    if (this.#suspended !== undefined) return;
    this.#startSlowSyncs();
    while (this.#tasks.size - this.#slowTaskCount < this.#pool.workerCount && Atomics.load(this.#stop, 0) === 0) {
      const batch = this.#takeBatch();
      if (batch.length > 0) this.#track(this.#runSync(batch, false));
      else if (!this.#startCompaction() && !this.#startMaintenance()) return;
    }
    this.#startUrgentBeside();
  }

  #startSlowSyncs(): void {
    for (const id of this.#slow) {
      if (this.#slowTaskCount >= this.#pool.slowWorkerCount || Atomics.load(this.#stop, 0) !== 0) return;
      if (!this.#busy.has(id) && (this.#urgent.has(id) || this.#queued.has(id))) this.#startBeside(id, true);
    }
  }

  /**
   * All other threads may be waiting for remotes that are not known to be slow yet: what somebody waits for goes beside
   * them.
   */
  #startUrgentBeside(): void {
    while (this.#slowTaskCount < this.#pool.slowWorkerCount && Atomics.load(this.#stop, 0) === 0) {
      const id = findFirst(this.#urgent, (urgent) => !this.#busy.has(urgent) && !this.#slow.has(urgent));
      if (id === undefined) return;
      this.#startBeside(id, false);
    }
  }

  #startBeside(id: number, isPatient: boolean): void {
    this.#slowTaskCount++;
    this.#track(
      this.#runSync(this.#take([id]), isPatient).finally(() => {
        this.#slowTaskCount--;
      }),
    );
  }

  #track(task: Promise<void>): void {
    const tracked = task
      .catch((error: unknown) => this.#log.error({ error: errorMessage(error) }, "a task of the index failed"))
      .finally(() => {
        this.#tasks.delete(tracked);
        this.#pump();
      });
    this.#tasks.add(tracked);
  }

  /**
   * The next repositories to sync: one that is waited for alone, of the rest as many as leave each worker several
   * batches.
   */
  #takeBatch(): Repository[] {
    for (const id of this.#urgent) {
      if (this.#busy.has(id) || this.#slow.has(id)) continue;
      return this.#take([id]);
    }
    const free = [...this.#queued].filter((id) => !this.#busy.has(id) && !this.#slow.has(id));
    if (this.#alone.has(free[0])) return this.#take(free.slice(0, 1));
    const together = free.filter((id) => !this.#alone.has(id));
    const count = Math.min(batchCountMax, Math.ceil(together.length / (this.#pool.workerCount * 4)));
    return this.#take(together.slice(0, count));
  }

  #take(ids: readonly number[]): Repository[] {
    for (const id of ids) {
      this.#urgent.delete(id);
      this.#queued.delete(id);
    }
    const repositories = ids.flatMap((id) => this.#catalog.repository(id) ?? []);
    for (const { id } of repositories) this.#busy.add(id);
    return repositories;
  }

  async #runSync(repositories: readonly Repository[], isPatient: boolean): Promise<void> {
    const startedMs = performance.now();
    const inputs = repositories.map((repository) => this.#toInput(repository));
    try {
      const result = await this.#pool.sync({
        kind: "sync",
        shardIds: this.#shardIds,
        limits: this.#settings.limits,
        fetch: this.#settings.fetch,
        isPatient,
        stop: this.#stop,
        repositories: inputs,
      });
      await this.#flip(result.shards, () => this.#toChange(result));
      for (const outcome of result.outcomes) this.#settle(outcome, startedMs);
    } catch (error) {
      const failure = error instanceof TrawlError ? error : new TrawlError("internal", errorMessage(error));
      if (failure instanceof IngestLoss && Atomics.load(this.#stop, 0) === 0) await this.#takeLoss(inputs, failure);
      else for (const { id } of repositories) this.#recordFailure(id, failure);
    } finally {
      this.#release(repositories.map(({ id }) => id));
      this.#countRepairs();
    }
  }

  #toInput(repository: Repository): SyncInput {
    const schedule = this.#schedule(repository.id);
    const { rebuild, recreate } = schedule;
    schedule.recreate = false;
    if (recreate) this.#recreating.add(repository.id);
    schedule.attending.push(...schedule.waiters.splice(0));
    const isOutdated = this.#isOutdated(repository);
    const shards = this.#catalog
      .shardsForRepository(repository.id)
      .map(({ record: { id, checksum }, tombstones }) => ({ id, checksum, tombstones }));
    return {
      repository: isOutdated ? { ...repository, quarantine: undefined } : repository,
      shards,
      rebuild,
      recreate,
      mayRefetch: !this.#refetched.has(repository.id),
    };
  }

  /**
   * The thread of a task is gone. Whom it was not about goes on in another task; what it did not get past is not tried
   * again.
   */
  async #takeLoss(inputs: readonly SyncInput[], loss: IngestLoss): Promise<void> {
    this.retire(loss.doing.shardIds);
    const suspects = this.#judge.suspects(
      inputs.map(({ repository }) => repository.id),
      loss,
    );
    for (const {
      repository: { id },
      recreate,
    } of inputs) {
      if (recreate) this.#schedule(id).recreate = true;
      if (suspects.length === 1 && suspects[0] === id) await this.#takeVerdict(id, loss);
      else this.#tryAgain(id, suspects.includes(id));
    }
  }

  async #takeVerdict(id: number, loss: IngestLoss): Promise<void> {
    const repository = this.#catalog.repository(id);
    if (repository === undefined) return;
    const verdict = this.#judge.judge(repository, loss);
    const { path, oid, phase } = loss.doing;
    this.#log.error(
      { repository: repository.name, phase, path, blob: oid, reason: loss.reason, verdict: verdict.kind },
      loss.message,
    );
    if (verdict.kind === "failed") return this.#recordFailure(id, loss);
    try {
      if (verdict.kind === "quarantine") await this.#setQuarantine(id, verdict.quarantine);
      this.#tryAgain(id, true);
    } catch (error) {
      this.#recordFailure(id, error instanceof TrawlError ? error : new TrawlError("internal", errorMessage(error)));
    }
  }

  async #setQuarantine(id: number, quarantine: Quarantine | undefined): Promise<void> {
    await this.#catalog.commit(() => {
      const repository = this.#catalog.repository(id);
      return { repositories: repository === undefined ? [] : [{ ...repository, quarantine }] };
    });
  }

  /** Whoever ordered it wants all of it tried again. */
  #liftQuarantine(id: number): void {
    if (this.#catalog.repository(id)?.quarantine !== undefined) this.#track(this.#setQuarantine(id, undefined));
  }

  /** Whether another program left something out of it. */
  #isOutdated(repository: Repository): boolean {
    return repository.quarantine !== undefined && this.#judge.current(repository) === undefined;
  }

  /** Those who wait for it wait on. It is not released yet, so no task takes it before this one is over. */
  #tryAgain(id: number, isAlone: boolean): void {
    if (this.#catalog.repository(id)?.removedAt !== "") return;
    const schedule = this.#schedule(id);
    if (this.#suspended !== undefined) {
      for (const waiter of schedule.attending.splice(0)) waiter.reject(this.#suspended);
      return;
    }
    schedule.waiters.push(...schedule.attending.splice(0));
    if (isAlone) this.#alone.add(id);
    if (schedule.waiters.length > 0) this.#urgent.add(id);
    else this.#queued.add(id);
  }

  /** One catalog flip. Of the shards written for it, those that it does not use are deleted. */
  async #flip(written: readonly ShardRecord[], makeChange: () => CatalogChange): Promise<void> {
    let used: readonly ShardRecord[] = [];
    try {
      ({ addedShards: used = [] } = await this.#catalog.commit(makeChange));
    } finally {
      this.retire(written.map((record) => record.id).filter((id) => !used.some((record) => record.id === id)));
    }
  }

  /** Repositories that failed, or were removed meanwhile, are hidden in the shards that hold a part of them. */
  #toChange(result: SyncTaskResult): CatalogChange {
    const changed = result.outcomes.filter(
      (outcome) => outcome.kind === "changed" && this.#catalog.repository(outcome.repositoryId) !== undefined,
    ) as ChangedOutcome[];
    const changedIds = new Set(changed.map((outcome) => outcome.repositoryId));
    const addedShards = withOnly(result.shards, (id) => changedIds.has(id));
    const replaced = new Set(changed.filter((outcome) => outcome.replaces).map((outcome) => outcome.repositoryId));
    const hidden = new Map<number, number[]>();
    const removedShardIds: number[] = [];
    for (const { record } of this.#catalog.shards()) {
      const gone = record.repositoryIds.filter((id) => replaced.has(id));
      if (gone.length === 0) continue;
      if (record.repositoryIds.every((id) => id === 0 || replaced.has(id))) removedShardIds.push(record.id);
      else hidden.set(record.id, gone);
    }
    const tombstones = new Map<number, number[]>();
    for (const outcome of changed) {
      for (const [shardId, documents] of outcome.tombstones)
        tombstones.set(shardId, [...(tombstones.get(shardId) ?? []), ...documents]);
    }
    return {
      repositories: changed.flatMap((outcome) => this.#updated(outcome)),
      addedShards,
      removedShardIds,
      hidden,
      tombstones,
    };
  }

  #updated(outcome: ChangedOutcome): Repository[] {
    const repository = this.#catalog.repository(outcome.repositoryId);
    if (repository === undefined) return [];
    const { defaultBranch, indexedBranches, documentCount, contentBytes, skippedCounts, fetched } = outcome;
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
        quarantine: this.#judge.afterSync(repository),
      },
    ];
  }

  #settle(outcome: SyncOutcome, startedMs: number): void {
    const repository = this.#catalog.repository(outcome.repositoryId);
    if (repository === undefined) return;
    const schedule = this.#schedule(outcome.repositoryId);
    if (outcome.kind === "failed") {
      this.#recordFailure(outcome.repositoryId, deserializeError(outcome.error));
      return;
    }
    if (outcome.kind === "deferred") {
      this.#slow.add(outcome.repositoryId);
      return this.#tryAgain(outcome.repositoryId, true);
    }
    if (outcome.kind === "lacking") {
      this.#refetch(repository);
      return this.#tryAgain(repository.id, false);
    }
    this.#alone.delete(outcome.repositoryId);
    this.#slow.delete(outcome.repositoryId);
    this.#recreating.delete(outcome.repositoryId);
    const result = outcome.kind === "changed" ? "indexed" : "unchanged";
    if (outcome.kind === "unchanged") this.#catalog.recordFetched(outcome.repositoryId, outcome.fetched);
    if (outcome.kind === "changed" && outcome.replaces) schedule.rebuild = false;
    if (outcome.kind === "changed") this.#unmaintained.add(outcome.repositoryId);
    schedule.quietCount = outcome.kind === "changed" ? 0 : schedule.quietCount + 1;
    this.#metrics.syncs.inc({ outcome: result });
    this.#metrics.syncSeconds.observe((performance.now() - startedMs) / 1000);
    if (outcome.kind === "changed") {
      const { reads, replaces } = outcome;
      this.#metrics.syncReadBlobs.inc(reads.blobCount);
      this.#metrics.syncReadBytes.inc(reads.byteCount);
      this.#log.info(
        {
          repository: repository.name,
          documents: repository.documentCount,
          contentBytes: repository.contentBytes,
          whole: replaces,
          blobsRead: reads.blobCount,
          ms: Math.round(performance.now() - startedMs),
        },
        "indexed",
      );
    }
    for (const waiter of schedule.attending.splice(0)) waiter.resolve(result);
    if (outcome.kind === "changed" && outcome.lacksObjects && !this.#refetched.has(repository.id)) {
      this.#refetch(repository);
      return this.#enqueue(repository.id, true);
    }
    this.#scheduleNext(repository, this.#intervalMs(repository, schedule.quietCount));
  }

  /** What was searchable stays so, with what could be read of the mirror; the rest may come from the remote. */
  #refetch(repository: Repository): void {
    this.#log.warn(
      { repository: repository.name, missing: repository.skippedCounts["missing"] },
      "objects are missing from its mirror: everything is fetched anew",
    );
    this.#refetched.add(repository.id);
    const schedule = this.#schedule(repository.id);
    schedule.recreate = true;
    schedule.rebuild = true;
  }

  #recordFailure(id: number, failure: TrawlError): void {
    // git's words have several lines, and may have characters that no terminal should get.
    const error = new TrawlError(failure.code, oneLine(failure.message, errorCharsMax));
    const repository = this.#catalog.repository(id);
    if (repository === undefined) return;
    const schedule = this.#schedule(id);
    schedule.quietCount++;
    if (this.#recreating.delete(id)) schedule.recreate = true;
    this.#metrics.syncs.inc({ outcome: "failed" });
    if (error.code !== "cancelled") this.#log.warn({ repository: repository.name, code: error.code }, error.message);
    if (error.code !== "cancelled") this.#catalog.recordFailed(id, error.message);
    this.#endIfLost(error);
    for (const waiter of schedule.attending.splice(0)) waiter.reject(error);
    this.#scheduleNext(
      repository,
      Math.min(this.#settings.intervalMsMax, retryMsMin * 2 ** Math.min(schedule.quietCount - 1, 20)),
    );
  }

  #endIfLost(error: unknown): void {
    if (error instanceof TrawlError && error.code === "store-lost") this.#settings.onStoreLost(error.message);
  }

  /** Doubles with each sync that found nothing, unless the interval is fixed. */
  #intervalMs(repository: Repository, quietCount: number): number {
    if (repository.intervalSeconds > 0) return repository.intervalSeconds * 1000;
    const { intervalMsMin, intervalMsMax } = this.#settings;
    return Math.min(intervalMsMax, intervalMsMin * 2 ** Math.min(Math.max(0, quietCount - 1), 20));
  }

  #scheduleNext(repository: Repository, delayMs: number): void {
    if (repository.removedAt !== "" || this.#suspended !== undefined) return;
    const schedule = this.#schedule(repository.id);
    schedule.timer?.cancel();
    schedule.timer = callAfter(delayMs, () => {
      this.#enqueue(repository.id, false);
      this.#pump();
    });
  }

  #startCompaction(): boolean {
    if (this.#isCompacting || monotonicMs() < this.#compactAgainMs) return false;
    const shards = chooseCompaction(
      this.#catalog.shards(),
      ({ record }) => this.#unmergeable.has(record.id) || record.repositoryIds.some((id) => this.#busy.has(id)),
    );
    if (shards.length === 0) return false;
    this.#isCompacting = true;
    this.#track(this.#compact(shards));
    return true;
  }

  async #compact(shards: readonly LiveShard[]): Promise<void> {
    const ids = [...new Set(shards.flatMap((shard) => shard.record.repositoryIds))].filter((id) => id !== 0);
    for (const id of ids) this.#busy.add(id);
    try {
      const result = await this.#pool.compact({
        kind: "compact",
        shardIds: this.#shardIds,
        stop: this.#stop,
        shards: shards.map(({ record, tombstones }) => ({
          id: record.id,
          checksum: record.checksum,
          tombstones,
          repositoryIds: record.repositoryIds,
        })),
      });
      await this.#flip(result.shards, () => ({
        addedShards: withOnly(result.shards, (id) => this.#catalog.repository(id) !== undefined),
        removedShardIds: shards.map((shard) => shard.record.id),
      }));
      this.#log.debug({ merged: shards.length, into: result.shards.length }, "shards merged");
    } catch (error) {
      this.#compactAgainMs = monotonicMs() + compactRetryMs;
      this.#endIfLost(error);
      if (error instanceof IngestLoss) this.#leaveUnmerged(shards, error);
      if (error instanceof TrawlError && error.code === "corrupt-shard") await this.#verify(shards, "whole");
      else if (!(error instanceof TrawlError && error.code === "cancelled"))
        this.#log.error({ error: errorMessage(error) }, "shards could not be merged");
    } finally {
      this.#release(ids);
      this.#isCompacting = false;
      this.#countRepairs();
    }
  }

  /** Until the next start. */
  #leaveUnmerged(shards: readonly LiveShard[], { doing }: IngestLoss): void {
    this.retire(doing.shardIds);
    for (const { record } of shards) this.#unmergeable.add(record.id);
  }

  /** Looks after one mirror when there is nothing else to do. */
  #startMaintenance(): boolean {
    const id = findFirst(this.#unmaintained, (waiting) => !this.#busy.has(waiting));
    if (id === undefined) return false;
    this.#unmaintained.delete(id);
    const repository = this.#catalog.repository(id);
    if (repository === undefined) return true;
    this.#busy.add(id);
    this.#track(
      this.#pool
        .maintain({ kind: "maintain", repository, fetch: this.#settings.fetch, stop: this.#stop })
        .catch((error: unknown) =>
          this.#log.warn({ repository: repository.name }, `its mirror could not be repacked: ${errorMessage(error)}`),
        )
        .finally(() => this.#release([id])),
    );
    return true;
  }

  /** Verifies the next live shard in turn. */
  #scrub(): void {
    if (this.#suspended !== undefined) return;
    const shards = this.#catalog.shards();
    const shard = shards[this.#scrubbed++ % Math.max(1, shards.length)];
    if (shard !== undefined) this.#track(this.#verify([shard], "whole"));
  }

  /** Those that are missing, foreign or damaged are built again. */
  async #verify(shards: readonly LiveShard[], part: CheckTask["part"]): Promise<void> {
    const stored = shards.map(({ record: { id, checksum } }) => ({ id, checksum }));
    const { failures } = await this.#pool.check({ kind: "check", shards: stored, part, stop: this.#stop });
    for (const failure of failures) {
      this.#log.error({ shard: failure.shardId }, failure.error.message);
      this.repair(failure.shardId);
    }
  }

  /** Brings the metrics about repositories and shards up to date. */
  refreshGauges(): Promise<void> {
    return this.#gauges.refresh();
  }

  #countRepairs(): void {
    for (const id of this.#damaged)
      if (this.#catalog.shard(id) === undefined && this.#damaged.delete(id)) this.#metrics.shardsRepaired.inc();
    this.#metrics.indexCorruptShards.set(this.#damaged.size);
  }
}

type ChangedOutcome = Extract<SyncOutcome, { kind: "changed" }>;

/** The shards with all other repositories hidden; those that show none are left out. */
function withOnly(shards: readonly ShardRecord[], isShown: (repositoryId: number) => boolean): ShardRecord[] {
  return shards
    .map((record) => ({ ...record, repositoryIds: record.repositoryIds.map((id) => (isShown(id) ? id : 0)) }))
    .filter((record) => record.repositoryIds.some((id) => id !== 0));
}

/** There may be thousands of values, and the first of them will mostly do. */
function findFirst(values: Iterable<number>, isGood: (value: number) => boolean): number | undefined {
  for (const value of values) if (isGood(value)) return value;
  return undefined;
}

function listWaiters(schedule: Schedule): Waiter[] {
  return [...schedule.waiters.splice(0), ...schedule.attending.splice(0)];
}
