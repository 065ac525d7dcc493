import { monotonicMs } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { oneLine } from "../../base/text.js";
import type { Repository } from "../../model/repository.js";
import { IngestLoss } from "../../pool/ingest-pool.js";
import type { IndexHistoryTaskResult } from "../../protocol/ingest-messages.js";
import type { IndexTasks } from "../queue/index-tasks.js";
import { reportStoreLoss, type SyncServices } from "../sync-settings.js";
import { HistoryPolicy, type PlannedWork } from "./history-policy.js";
import type { ShardFlips } from "./shard-flips.js";

/** After a failure, the history of the repository is not tried again for this long. */
const retryMs = 10 * 60_000;

/** Maximum length of an error in a status. */
const errorCharsMax = 1_000;

/**
 * Indexes histories, one history shard at a time, in a thread of its own: the newest commits first, and after a fetch
 * the new ones. Small shards of earlier fetches are replaced by one, and shards with none of the wanted commits are
 * removed. The task waits while texts are being indexed.
 *
 * The repository is not locked meanwhile, because that would delay its next sync by half a minute: like a search, the task
 * only reads the mirror, and fails if that is replaced.
 *
 * Commits that are in no history shard, for whatever reason, are read from the mirror by searches: the index decides how
 * fast they are found, not whether.
 */
export class HistoryIndexing {
  readonly #services: SyncServices;
  readonly #tasks: IndexTasks;
  readonly #flips: ShardFlips;
  readonly #policy: HistoryPolicy;
  /** Repositories whose history may not be completely indexed. */
  readonly #waiting = new Set<number>();
  /** By repository: before this time on the monotonic clock it is not tried again. */
  readonly #againMs = new Map<number, number>();
  /** Called when more commits of a repository than before could not be read completely. */
  onBroken: (repository: Repository, brokenCount: number) => void = () => undefined;
  #isRunning = false;

  constructor(services: SyncServices, tasks: IndexTasks, flips: ShardFlips) {
    this.#services = services;
    this.#tasks = tasks;
    this.#flips = flips;
    this.#policy = new HistoryPolicy(services.catalog, services.settings.historyBytesMax);
  }

  /** 1 while a history is being indexed, otherwise 0. */
  get runningCount(): number {
    return this.#isRunning ? 1 : 0;
  }

  /** Whether the index of the repository is as it shall be. */
  isUpToDate(repository: Repository): boolean {
    return this.#policy.next(repository) === "nothing";
  }

  /** Must be called when a repository may have other commits than before, or others of them are to be indexed. */
  enqueue(repositoryId: number): void {
    const repository = this.#services.catalog.repository(repositoryId);
    if (repository !== undefined && !this.isUpToDate(repository)) this.#waiting.add(repositoryId);
  }

  /** The same, and starts now if nothing else runs. */
  request(repositoryId: number): void {
    this.enqueue(repositoryId);
    this.#tasks.pump();
  }

  /** A history shard failed verification: its commits are indexed again. */
  async drop(shardId: number): Promise<void> {
    const { catalog } = this.#services;
    const record = catalog.historyShard(shardId);
    if (record === undefined) return;
    await catalog.commit(() => {
      const repository = catalog.repository(record.repositoryId);
      return {
        removedHistoryIds: [shardId],
        repositories: repository === undefined ? [] : [{ ...repository, historyState: undefined }],
      };
    });
    this.request(record.repositoryId);
  }

  /**
   * Everything of the repository was fetched again: if commits could not be read completely before, its history is
   * indexed anew, because its shards have these commits without what was missing.
   */
  forgetBroken(repositoryId: number): void {
    this.#tasks.track(this.#forgetBroken(repositoryId));
  }

  async #forgetBroken(repositoryId: number): Promise<void> {
    const { catalog } = this.#services;
    await catalog.commit(() => {
      const repository = catalog.repository(repositoryId);
      if (repository === undefined || (repository.historyState?.brokenCount ?? 0) === 0) return {};
      return {
        removedHistoryIds: catalog.historyOf(repositoryId).map(({ id }) => id),
        repositories: [{ ...repository, historyState: undefined }],
      };
    });
    this.request(repositoryId);
  }

  /** Returns false if there is currently nothing to index. */
  start(): boolean {
    if (this.#isRunning) return false;
    const repository = this.#takeNext();
    if (repository === undefined) return false;
    this.#isRunning = true;
    const work = this.#policy.next(repository) === "remove" ? this.#remove(repository) : this.#index(repository);
    this.#tasks.track(
      work.finally(() => {
        this.#isRunning = false;
      }),
    );
    return true;
  }

  #takeNext(): Repository | undefined {
    const nowMs = monotonicMs();
    for (const id of this.#waiting) {
      if (nowMs < (this.#againMs.get(id) ?? 0)) continue;
      this.#waiting.delete(id);
      const repository = this.#services.catalog.repository(id);
      if (repository === undefined) this.#againMs.delete(id);
      else if (!this.isUpToDate(repository)) return repository;
    }
    return undefined;
  }

  /** Its history is not to be indexed any more. */
  async #remove({ id }: Repository): Promise<void> {
    const { catalog } = this.#services;
    await catalog.commit(() => {
      const repository = catalog.repository(id);
      if (repository === undefined || this.#policy.next(repository) !== "remove") return {};
      const removedHistoryIds = catalog.historyOf(id).map((shard) => shard.id);
      return { repositories: [{ ...repository, historyState: undefined }], removedHistoryIds };
    });
    catalog.recordHistoryError(id, "");
  }

  async #index(repository: Repository): Promise<void> {
    const { catalog, pool, log, activities } = this.#services;
    const { id, name } = repository;
    const planned = this.#policy.work(repository);
    try {
      const result = await pool.history({
        kind: "history",
        repositoryId: id,
        ...planned.work,
        shardIds: this.#flips.shardIds,
        hold: activities.indexingWord,
        stop: this.#tasks.stopWord,
      });
      await this.#flip(repository, planned, result);
      catalog.recordHistoryError(id, "");
      const brokenCount = catalog.repository(id)?.historyState?.brokenCount ?? 0;
      if (brokenCount > (repository.historyState?.brokenCount ?? 0)) this.onBroken(repository, brokenCount);
      this.#againMs.delete(id);
      this.enqueue(id);
      log.debug(
        { repository: name, commits: result.shard?.commitCount ?? 0, left: result.leftCount },
        "history indexed",
      );
    } catch (error) {
      await this.#handleFailure(repository, error);
    }
  }

  async #flip(before: Repository, planned: PlannedWork, result: IndexHistoryTaskResult): Promise<void> {
    const { catalog } = this.#services;
    const { shard } = result;
    try {
      await catalog.commit(() => {
        const repository = catalog.repository(before.id);
        // It was removed, something else is to be indexed now, or its mirror has got more history meanwhile: what was built
        // is dropped.
        const hasChanged = repository !== undefined && (repository.cut ?? "") !== (before.cut ?? "");
        if (repository === undefined || hasChanged || this.#policy.limits(repository) !== this.#policy.limits(before))
          return {};
        return this.#policy.change(repository, planned, result);
      });
    } finally {
      if (shard !== undefined && catalog.historyShard(shard.id) === undefined) this.#flips.retire([shard.id]);
    }
  }

  async #handleFailure({ id, name }: Repository, error: unknown): Promise<void> {
    const { settings, log, catalog, pool } = this.#services;
    reportStoreLoss(settings, error);
    if (error instanceof TrawlError && error.code === "cancelled") return;
    if (catalog.repository(id) === undefined) return;
    this.#againMs.set(id, error instanceof IngestLoss ? Infinity : monotonicMs() + retryMs);
    if (error instanceof IngestLoss) this.#flips.retire(error.doing.shardIds);
    const message = oneLine(errorMessage(error), errorCharsMax);
    catalog.recordHistoryError(id, message);
    log.warn({ repository: name }, `its history could not be indexed: ${message}`);
    this.#waiting.add(id);
    if (!(error instanceof TrawlError) || error.code !== "corrupt-shard") return;
    const shards = catalog.historyOf(id).map(({ id: shardId, checksum }) => ({ id: shardId, checksum }));
    const check = { kind: "check", shards, isHistory: true, part: "whole", stop: this.#tasks.stopWord } as const;
    for (const { shardId } of (await pool.check(check)).failures) await this.drop(shardId);
    this.#againMs.delete(id);
  }
}
