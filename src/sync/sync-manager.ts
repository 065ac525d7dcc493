import { join } from "node:path";
import { callAfter, callEvery, type PendingCall } from "../base/deadline.js";
import type { TrawlError } from "../base/errors.js";
import { eachInSteps, resultWhileYielding } from "../base/yielding.js";
import type { RepositoryConfig } from "../model/repository.js";
import type { RepositoryStatus } from "../model/repository-status.js";
import { SecretFiles } from "../store/secret-files.js";
import type { SyncActivities } from "./activity.js";
import { Compaction } from "./housekeeping/compaction.js";
import { configureRepositories } from "./repositories/configure.js";
import { IndexGauges } from "./housekeeping/index-gauges.js";
import { IndexTasks } from "./queue/index-tasks.js";
import { LossJudge } from "./runner/loss.js";
import { MirrorFolders } from "./housekeeping/mirror-folders.js";
import { MirrorMaintenance } from "./housekeeping/mirror-maintenance.js";
import { Quarantines } from "./runner/quarantines.js";
import { RepositoryCommands } from "./repositories/repository-commands.js";
import { RepositoryLocks } from "./queue/repository-locks.js";
import { RepositoryRemoval } from "./housekeeping/repository-removal.js";
import { RepositorySecrets } from "./repositories/repository-secrets.js";
import { repositoryStatus } from "./repositories/repository-status.js";
import { ShardFlips } from "./housekeeping/shard-flips.js";
import { ShardRepairs } from "./housekeeping/shard-repairs.js";
import { moveStoredSecrets } from "./repositories/stored-secrets.js";
import { SyncOutcomes } from "./runner/sync-outcomes.js";
import { SyncQueue } from "./queue/sync-queue.js";
import { SyncRunner } from "./runner/sync-runner.js";
import { SyncScheduler } from "./queue/sync-scheduler.js";
import type { SyncServices } from "./sync-settings.js";

/**
 * Syncs of the start wait this long: whoever asked for it wants to search, and the first answers have the processor to
 * themselves.
 */
const startDelayMs = 1_000;

/** One live shard is verified in the background each time this long has passed. */
const scrubPeriodMs = 60_000;

/**
 * The parts of the sync put together: when to fetch and index, and the flip of the catalog when a worker has built the
 * shards.
 *
 * A repository is in one task at a time; a shard is merged only while none of its repositories is in a task. So each
 * flip is computed against the state that it changes. What a worker has written stays unknown until the flip's
 * transaction is on disk: a crash before it leaves orphans, which the next start deletes.
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
  /** What running syncs do. */
  readonly activities: SyncActivities;
  /** What people order for one repository. */
  readonly commands: RepositoryCommands;
  /** Checks and repairs of shards. */
  readonly repairs: ShardRepairs;
  /** The ids of shards, and the deletion of those that are not live. */
  readonly shards: ShardFlips;
  #scrubTimer: PendingCall | undefined;
  #startTimer: PendingCall | undefined;

  constructor(services: SyncServices) {
    const { catalog, pool, settings, activities, log, metrics } = services;
    const tasks = new IndexTasks(log);
    const mirrors = new MirrorFolders(services);
    const locks = new RepositoryLocks(catalog, tasks, activities, mirrors);
    const queue = new SyncQueue(catalog, tasks, locks);
    const flips = new ShardFlips(services, tasks);
    const repairs = new ShardRepairs(services, tasks, queue);
    const judge = new LossJudge(settings.program);
    const quarantines = new Quarantines(catalog, judge, tasks);
    const maintenance = new MirrorMaintenance(services, tasks, locks);
    const compaction = new Compaction(services, tasks, locks, flips, repairs);
    const outcomes = new SyncOutcomes(services, queue, maintenance);
    const parts = { tasks, locks, queue, flips, repairs, outcomes, judge, quarantines };
    const runner = new SyncRunner(services, parts);
    const scheduler = new SyncScheduler(pool, tasks, queue, runner, compaction, maintenance);
    tasks.useStarter(() => scheduler.startWaiting());
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
    this.commands = new RepositoryCommands(catalog, queue, this.#secrets, quarantines, this.#removal);
    this.repairs = repairs;
    this.shards = flips;
  }

  /** Programs before this one kept the secrets of URLs in the catalog. Resolves when none is there. */
  async moveSecrets(): Promise<void> {
    await moveStoredSecrets(this.#services.catalog, this.#secrets, this.#services.log);
  }

  /** Syncs all repositories, a moment later, and from then on whenever it is time to. */
  start(): void {
    this.repairs.count();
    this.#scrubTimer = callEvery(scrubPeriodMs, () => {
      this.repairs.scrub();
      this.#tasks.track(this.#removal.removeExpired());
    });
    this.#startTimer = callAfter(startDelayMs, () => {
      this.#tasks.track(this.#mirrors.removeUnknown());
      this.#tasks.track(this.repairs.verify(this.#services.catalog.shards(), "headers"));
      this.#tasks.track(this.#enqueueAll());
    });
  }

  async #enqueueAll(): Promise<void> {
    const { catalog } = this.#services;
    await resultWhileYielding(
      eachInSteps([...catalog.repositories()], ({ id }) => {
        const repository = catalog.repository(id);
        if (repository?.removedAt === "") this.#queue.enqueue(id, this.#quarantines.isOutdated(repository));
      }),
    );
  }

  /**
   * Makes the catalog hold exactly the configured repositories, beside those added by hand. Those that are new or
   * differ are synced at once; those that vanished are hidden at once, and deleted when the grace period ends. Rejects
   * with `conflict` when most of them vanished, unless `mayRemoveMost`.
   */
  async configure(configured: readonly RepositoryConfig[], mayRemoveMost: boolean): Promise<void> {
    await configureRepositories(this.#services, this.#secrets, this.#queue, configured, mayRemoveMost);
    this.repairs.count();
    this.#tasks.pump();
    await this.#removal.removeExpired();
  }

  statuses(): RepositoryStatus[] {
    const { catalog, settings } = this.#services;
    return [...catalog.repositories()].map((repository) =>
      repositoryStatus(repository, this.activities, this.#judge, settings.removalGraceMs),
    );
  }

  /** Repositories that wait for their sync. */
  get waitingCount(): number {
    return this.#queue.waitingCount;
  }

  /** Brings the metrics about repositories and shards up to date. */
  refreshGauges(): Promise<void> {
    return this.#gauges.refresh();
  }

  /**
   * Runs `work` while no task touches the repository or its mirror. Rejects with `shutting-down` when it comes to that
   * first.
   */
  exclusively<T>(id: number, work: () => Promise<T>): Promise<T> {
    return this.#locks.exclusively(id, work);
  }

  /** Set when the daemon stops: for what runs beside tasks of this. */
  get stopWord(): Int32Array {
    return this.#tasks.stopWord;
  }

  /**
   * From here on nothing begins that would write; whoever waits for it is told why. What runs ends, and fails where it
   * writes.
   */
  suspend(error: TrawlError): void {
    this.#tasks.suspend(error);
    this.#queue.suspend(this.#tasks.suspended ?? error);
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
