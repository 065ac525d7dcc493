import { join } from "node:path";
import { callAfter, callEvery, type PendingCall } from "../base/deadline.js";
import { errorMessage, type TrawlError } from "../base/errors.js";
import { eachInSteps, resultWhileYielding } from "../base/yielding.js";
import type { HistoryStatus } from "../model/history-record.js";
import type { Repository, RepositoryConfig } from "../model/repository.js";
import type { RepositoryStatus } from "../model/repository-status.js";
import { SecretFiles } from "../store/secret-files.js";
import type { SyncActivities } from "./services/activity.js";
import { Compaction } from "./housekeeping/compaction.js";
import { configureRepositories } from "./repositories/configure.js";
import type { RemovalGuard } from "./repositories/configured-repositories.js";
import { HistoryIndexing } from "./housekeeping/history-indexing.js";
import { HistoryRepairs } from "./housekeeping/history-repairs.js";
import { IndexGauges } from "./housekeeping/index-gauges.js";
import { IndexTasks } from "./queue/index-tasks.js";
import { LossJudge } from "./runner/loss.js";
import { MirrorFolders } from "./services/mirror-folders.js";
import { MirrorMaintenance } from "./housekeeping/mirror-maintenance.js";
import { Quarantines } from "./runner/quarantines.js";
import { RepositoryCommands } from "./repositories/repository-commands.js";
import { RepositoryLocks } from "./queue/repository-locks.js";
import { RepositoryRemoval } from "./housekeeping/repository-removal.js";
import { RepositorySecrets, moveStoredSecrets } from "./services/repository-secrets.js";
import { findLookalikes, type LeftOut } from "./repositories/shared-names.js";
import {
  historyStatus,
  missingSymbols,
  type ReadersDescription,
  repositoryStatus,
} from "./repositories/repository-status.js";
import { ShardFlips } from "./housekeeping/shard-flips.js";
import { ShardRepairs, ShardRestores } from "./housekeeping/shard-repairs.js";
import { SymbolIndexing } from "./housekeeping/symbol-indexing.js";
import { SyncOutcomes } from "./runner/sync-outcomes.js";
import { SyncQueue } from "./queue/sync-queue.js";
import { SyncRunner } from "./runner/sync-runner.js";
import { SyncScheduler } from "./runner/sync-scheduler.js";
import type { FetchSecrets, SyncServices } from "./services/sync-settings.js";

/**
 * Syncs at startup wait this long: the user who started the daemon wants to search, and the first searches get the CPU
 * to themselves.
 */
const startDelayMs = 1_000;

/** While searches are running, they wait this many times as long at most. */
const startDelaysMax = 5;

/** Sentences about the name of one repository. */
const nameWarningsMax = 5;

/** One live shard is verified in the background per this period. */
const scrubPeriodMs = 60_000;

/**
 * Connects the parts of the sync: when to fetch and index, and the catalog flip when a worker has built shards.
 *
 * A repository is in at most one task at a time; a shard is merged only while none of its repositories is in a task.
 * Therefore each flip is computed against the state that it changes; where another node may change the index meanwhile, what was
 * computed before is not used. Shards written by a worker are unknown until the
 * transaction of the flip is on disk: a crash before that leaves orphans, which the next start deletes.
 */
export class SyncManager {
  readonly #services: SyncServices;
  readonly #tasks: IndexTasks;
  readonly #mirrors: MirrorFolders;
  readonly #locks: RepositoryLocks;
  readonly #queue: SyncQueue;
  readonly #judge: LossJudge;
  readonly #quarantines: Quarantines;
  readonly #secrets: RepositorySecrets;
  readonly #removal: RepositoryRemoval;
  readonly #gauges: IndexGauges;
  readonly #history: HistoryIndexing;
  readonly #compaction: Compaction;
  /** Repositories that other viewers see than before the last configuration. */
  readonly #toSeparate = new Set<number>();
  readonly #symbols: SymbolIndexing;
  readonly #scheduler: SyncScheduler;
  /** Activities of running syncs. */
  readonly activities: SyncActivities;
  /** Commands for single repositories. */
  readonly commands: RepositoryCommands;
  /** Checks and repairs of shards. */
  readonly repairs: ShardRepairs;
  /** The same for history shards. */
  readonly historyRepairs: HistoryRepairs;
  /** The ids of shards, and the deletion of shards that are not live. */
  readonly shards: ShardFlips;
  #leftOut: readonly LeftOut[] = [];
  /** Sentences about repositories that may be confused, by name. */
  #lookalikes: ReadonlyMap<string, readonly string[]> = new Map();
  /** Called when a repository that was added by hand is removed, and a listed one has its name. */
  onNameFreed: () => Promise<void> = () => Promise.resolve();
  readonly #runner: SyncRunner;
  #scrubTimer: PendingCall | undefined;
  #startTimer: PendingCall | undefined;
  /** Whether everything was queued once. */
  #hasBegun = false;
  /** The partitions of which everything was queued since this node changes them. */
  #begun: ReadonlySet<number> = new Set();

  constructor(services: SyncServices) {
    const { catalog, pool, settings, activities, log, metrics } = services;
    const tasks = new IndexTasks(log);
    const mirrors = new MirrorFolders(services);
    const locks = new RepositoryLocks(catalog, tasks, activities, mirrors);
    const queue = new SyncQueue(catalog, tasks, locks, services.share);
    const flips = new ShardFlips(services, tasks);
    const restores = new ShardRestores(services, tasks, flips);
    const repairs = new ShardRepairs(services, tasks, queue, restores);
    const judge = new LossJudge(settings.program);
    const quarantines = new Quarantines(services, judge, tasks);
    const maintenance = new MirrorMaintenance(services, tasks, locks);
    const symbols = new SymbolIndexing(services, tasks, flips, repairs);
    const compaction = new Compaction(services, tasks, locks, flips, repairs, symbols);
    const history = new HistoryIndexing(services, tasks, flips);
    const outcomes = new SyncOutcomes(services, queue, maintenance, history);
    this.#compaction = compaction;
    catalog.onVisibilityChanged = (id) => {
      compaction.suspect(id);
      this.#toSeparate.add(id);
    };
    history.onBroken = (repository, brokenCount) => outcomes.recordBrokenHistory(repository, brokenCount);
    const parts = { tasks, locks, queue, flips, repairs, outcomes, judge, quarantines };
    const runner = new SyncRunner(services, parts);
    this.#runner = runner;
    const scheduler = new SyncScheduler(
      pool,
      tasks,
      queue,
      runner,
      [symbols, history, restores],
      [compaction, maintenance],
    );
    scheduler.isHeld = true;
    tasks.useStarter(() => scheduler.startWaiting());
    this.#scheduler = scheduler;
    this.#services = services;
    this.#tasks = tasks;
    this.#mirrors = mirrors;
    this.#locks = locks;
    this.#queue = queue;
    this.#judge = judge;
    this.#quarantines = quarantines;
    this.#secrets = new RepositorySecrets(new SecretFiles(join(settings.dataFolder, "secrets")));
    this.#removal = new RepositoryRemoval(services, { tasks, locks, queue, repairs, mirrors, secrets: this.#secrets });
    this.#gauges = new IndexGauges(catalog, metrics, (repository) => judge.current(repository));
    this.activities = activities;
    this.#history = history;
    this.#symbols = symbols;
    this.commands = new RepositoryCommands(
      services,
      queue,
      this.#secrets,
      quarantines,
      this.#removal,
      history,
      compaction,
      (freed) => this.#namesChanged(freed),
    );
    this.repairs = repairs;
    this.historyRepairs = new HistoryRepairs(services, tasks, history, restores);
    this.shards = flips;
  }

  /** Earlier versions stored the secrets of URLs in the catalog. Resolves when none is left there. */
  async moveSecrets(): Promise<void> {
    await moveStoredSecrets(this.#services, this.#secrets);
  }

  /** Syncs all repositories after a short delay, except those synced by then, and from then on as scheduled. */
  start(): void {
    this.repairs.count();
    this.#scrubTimer = callEvery(scrubPeriodMs, () => {
      this.repairs.scrub();
      this.historyRepairs.scrub();
      if (!this.#tasks.isPaused) this.#tasks.track(this.#removal.removeExpired());
    });
    if (this.#services.catalog.shards().length === 0) this.#resume();
    this.#startTimer = callAfter(startDelayMs, () => this.#begin(startDelaysMax));
  }

  #resume(): void {
    this.#scheduler.isHeld = false;
    this.#tasks.pump();
  }

  /** Waits for running searches, up to `delayCount` times. */
  #begin(delayCount: number): void {
    if (delayCount > 1 && this.#services.isSearching()) {
      this.#startTimer = callAfter(startDelayMs, () => this.#begin(delayCount - 1));
      return;
    }
    this.#resume();
    this.#tasks.track(this.#mirrors.removeUnknown());
    this.#tasks.track(this.repairs.verify(this.#services.catalog.shards(), "headers"));
    this.#tasks.track(this.historyRepairs.verifyHeaders());
    this.#hasBegun = true;
    this.#begun = new Set(this.#services.share.partitions());
    this.#tasks.track(this.#enqueueAll(false, this.#begun));
  }

  async #enqueueAll(isAgain: boolean, partitions: ReadonlySet<number>): Promise<void> {
    const { catalog } = this.#services;
    await resultWhileYielding(
      eachInSteps([...catalog.repositories()], ({ id }) => {
        const repository = catalog.repository(id);
        if (!partitions.has(catalog.partitions.find(id))) return;
        if (repository?.removedAt === "") {
          const isOutdated = this.#quarantines.isOutdated(repository);
          if (isAgain) this.#queue.enqueue(id, isOutdated);
          else this.#queue.enqueueFirst(id, isOutdated);
        }
        // It may have been interrupted, and the remote may not answer.
        this.#history.enqueue(id);
      }),
    );
  }

  /**
   * Makes the catalog contain exactly the configured repositories, those of the file and of these connections, in addition to
   * those added by hand; if several have a name, one of them, see `chooseByName`. New or changed repositories are synced immediately; those no longer configured are hidden
   * immediately, and deleted when the grace period ends. What happens if most of a list is missing is up to the guard.
   */
  async configure(
    configured: readonly RepositoryConfig[],
    connections: ReadonlySet<string>,
    guard: RemovalGuard,
  ): Promise<void> {
    this.#toSeparate.clear();
    const parts = { secrets: this.#secrets, queue: this.#queue, removal: this.#removal };
    this.#leftOut = await configureRepositories(this.#services, parts, configured, connections, this.#leftOut, guard);
    await this.#findLookalikes();
    for (const id of this.#toSeparate)
      await this.#compaction.separate(id).catch((error: unknown) => {
        // It is done again when there is time.
        const { log, catalog } = this.#services;
        log.error({ repository: catalog.repository(id)?.name, error: errorMessage(error) }, "text was not moved yet");
      });
    this.repairs.count();
    this.#tasks.pump();
    await this.#removal.removeExpired();
  }

  /** The repositories that connections list, and that are left out because another one has their name. */
  get leftOut(): readonly LeftOut[] {
    return this.#leftOut;
  }

  async #namesChanged(freed: string | undefined): Promise<void> {
    if (this.#leftOut.some(({ name }) => name === freed)) await this.onNameFreed();
    await this.#findLookalikes();
  }

  /** Logs each sentence once. */
  async #findLookalikes(): Promise<void> {
    const { catalog, log } = this.#services;
    const found = await resultWhileYielding(findLookalikes([...catalog.repositories()]));
    for (const [name, sentences] of found)
      for (const sentence of sentences)
        if (this.#lookalikes.get(name)?.includes(sentence) !== true) log.warn({ repository: name }, sentence);
    this.#lookalikes = found;
  }

  set fetchSecrets(secrets: FetchSecrets) {
    this.#runner.secrets = secrets;
  }

  /** What is said about the readers of a repository that others decide about. */
  describeReaders: (repository: Repository) => ReadersDescription = () => ({ readersFrom: "", warnings: [] });

  statuses(): RepositoryStatus[] {
    const { catalog, settings } = this.#services;
    const warnings = new Map(this.#lookalikes);
    for (const { name, forRepository } of this.#leftOut) {
      const sentences = warnings.get(name) ?? [];
      if (sentences.length < nameWarningsMax) warnings.set(name, [...sentences, forRepository]);
    }
    return [...catalog.repositories()].map((repository) =>
      repositoryStatus(
        repository,
        warnings.get(repository.name) ?? [],
        this.describeReaders(repository),
        this.#queue.waits.reason(repository),
        this.activities,
        this.#judge,
        this.historyStatus(repository),
        missingSymbols(repository, catalog, settings.symbols.enabled),
        settings.removalGraceMs,
      ),
    );
  }

  /** Of a repository of which this node has nothing, from the record that another one has told: it says little of its index. */
  statusElsewhere(repository: Repository): RepositoryStatus {
    const history = {
      wanted: repository.history,
      isUpToDate: true,
      reachableCount: null,
      indexedCount: 0,
      storedBytes: 0,
    };
    return repositoryStatus(
      repository,
      [],
      { readersFrom: "", warnings: [] },
      undefined,
      this.activities,
      this.#judge,
      { ...history, error: repository.historyError ?? "" },
      { shardCount: 0, textCount: 0, files: [] },
      this.#services.settings.removalGraceMs,
    );
  }

  /** How much of the history of the repository is indexed. */
  historyStatus(repository: Repository): HistoryStatus {
    return historyStatus(repository, this.#services.catalog, this.#history);
  }

  /** Whether the symbols of live shards are being extracted, or will be soon. */
  get hasPendingSymbols(): boolean {
    return this.#services.catalog.shards().some((shard) => this.#symbols.isPending(shard));
  }

  /** Number of repositories that are waiting for their sync. */
  get waitingCount(): number {
    return this.#queue.waitingCount;
  }

  /** Updates the metrics about repositories and shards. */
  refreshGauges(): Promise<void> {
    return this.#gauges.refresh();
  }

  /**
   * Runs `work` while no task accesses the repository or its mirror. Rejects with `shutting-down` if the daemon stops
   * first.
   */
  exclusively<T>(id: number, work: () => Promise<T>): Promise<T> {
    return this.#locks.exclusively(id, work);
  }

  /** Set when the daemon stops, for work outside sync tasks. */
  get stopWord(): Int32Array {
    return this.#tasks.stopWord;
  }

  /**
   * From now on, no work that would write is started; callers that wait for it get the reason. Running work ends, and
   * fails when it writes.
   */
  suspend(error: TrawlError): void {
    this.#tasks.suspend(error);
    this.#queue.suspend(this.#tasks.suspended ?? error);
  }

  /**
   * What this node does not change any more, another node fetches and indexes: nothing of it is started, and callers that wait for it get
   * the reason; that of everything is `reason`.
   */
  pause(reason: () => TrawlError): void {
    const { share, catalog } = this.#services;
    if (share.partitions().length === 0) this.#tasks.pause(reason);
    this.#begun = new Set(share.partitions().filter((partition) => this.#begun.has(partition)));
    this.#queue.rejectOthers();
    // The node that fetches from now on finds out what is wrong, and this one would not learn when it is over.
    catalog.forgetErrors((id) => !share.has(id));
  }

  /** Fetches and indexes what this node changes from now on, everything of it at first: another node may have done so until now. */
  resume(): void {
    const { share } = this.#services;
    const gained = new Set(share.partitions().filter((partition) => !this.#begun.has(partition)));
    if (!this.#tasks.isPaused && gained.size === 0) return;
    if (this.#tasks.isPaused) this.#tasks.resume();
    this.repairs.count();
    if (!this.#hasBegun) return;
    this.#begun = new Set(share.partitions());
    this.#tasks.track(this.#enqueueAll(true, gained));
  }

  /** Stops timers and running tasks; resolves when the latter have ended. */
  async close(): Promise<void> {
    this.#tasks.stop();
    this.#scrubTimer?.cancel();
    this.#startTimer?.cancel();
    this.#queue.close();
    await this.#tasks.idle();
  }
}
