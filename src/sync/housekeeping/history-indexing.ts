import { monotonicMs } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { HistoryShardRecord, HistoryState } from "../../model/history-record.js";
import type { Repository } from "../../model/repository.js";
import { IngestLoss } from "../../pool/ingest-pool.js";
import type { IndexHistoryTaskResult } from "../../protocol/ingest-messages.js";
import type { IndexTasks } from "../queue/index-tasks.js";
import { reportStoreLoss, type SyncServices } from "../sync-settings.js";
import type { ShardFlips } from "./shard-flips.js";

/** After a failure, the history of the repository is not tried again for this long. */
const retryMs = 10 * 60_000;

/** With this many small shards, they are replaced by one. */
const smallCountMax = 8;

/** A smaller history shard counts as small. */
const smallTextBytes = 8 << 20;

/**
 * Indexes histories, one history shard at a time, when no sync is waiting: the newest commits first, and after a fetch
 * the new ones. Small shards of earlier fetches are replaced by one, which leaves out the commits that no branch reaches
 * any more.
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
  /** Repositories whose history may not be completely indexed. */
  readonly #waiting = new Set<number>();
  /** By repository: before this time on the monotonic clock it is not tried again. */
  readonly #againMs = new Map<number, number>();
  #isRunning = false;

  constructor(services: SyncServices, tasks: IndexTasks, flips: ShardFlips) {
    this.#services = services;
    this.#tasks = tasks;
    this.#flips = flips;
  }

  /** Must be called when a repository may have other commits than before, or less of them indexed. */
  enqueue(repositoryId: number): void {
    this.#waiting.add(repositoryId);
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
        repositories: repository === undefined ? [] : [{ ...repository, history: undefined }],
      };
    });
    this.enqueue(record.repositoryId);
    this.#tasks.pump();
  }

  /** Returns false if there is currently nothing to index. */
  start(): boolean {
    if (this.#isRunning || this.#services.settings.historyBytesMax === 0) return false;
    const repository = this.#takeNext();
    if (repository === undefined) return false;
    this.#isRunning = true;
    this.#tasks.track(
      this.#index(repository).finally(() => {
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
      else if (this.#isOutdated(repository)) return repository;
    }
    return undefined;
  }

  #isOutdated(repository: Repository): boolean {
    if (repository.indexedBranches.length === 0) return false;
    if (listTips(repository).join() === repository.history?.tips.join()) return false;
    return this.#textBytes(repository) < this.#services.settings.historyBytesMax;
  }

  #textBytes({ id }: Repository): number {
    return this.#services.catalog.historyOf(id).reduce((sum, { textBytes }) => sum + textBytes, 0);
  }

  async #index(repository: Repository): Promise<void> {
    const { catalog, pool, log } = this.#services;
    const all = catalog.historyOf(repository.id);
    const small = all.filter(({ textBytes }) => textBytes < smallTextBytes);
    const replaced = small.length >= smallCountMax ? small : [];
    const doneTips = repository.history?.tips ?? [];
    try {
      const result = await pool.history({
        kind: "history",
        repository,
        tips: listTips(repository),
        doneTips: replaced.length === 0 && doneTips.length > 0 ? doneTips : undefined,
        kept: all.filter((record) => !replaced.includes(record)).map(({ id, checksum }) => ({ id, checksum })),
        shardIds: this.#flips.shardIds,
        stop: this.#tasks.stopWord,
      });
      await this.#flip(repository, result, replaced);
      this.#againMs.delete(repository.id);
      if (result.leftCount > 0) this.enqueue(repository.id);
      log.debug(
        { repository: repository.name, commits: result.shard?.commitCount ?? 0, left: result.leftCount },
        "history indexed",
      );
    } catch (error) {
      await this.#handleFailure(repository, error);
    }
  }

  async #flip(
    before: Repository,
    { shard, listedCount, leftCount, brokenCount }: IndexHistoryTaskResult,
    replaced: readonly HistoryShardRecord[],
  ): Promise<void> {
    const { catalog } = this.#services;
    let isUsed = false;
    try {
      await catalog.commit(() => {
        const repository = catalog.repository(before.id);
        if (repository === undefined) return {};
        isUsed = true;
        const isWhole = before.history === undefined || before.history.tips.length === 0 || replaced.length > 0;
        const history: HistoryState = {
          tips: leftCount === 0 ? listTips(before) : [],
          reachableCount: isWhole ? listedCount : (before.history?.reachableCount ?? 0) + listedCount,
          brokenCount: (isWhole ? 0 : (before.history?.brokenCount ?? 0)) + brokenCount,
        };
        return {
          repositories: [{ ...repository, history }],
          addedHistory: shard === undefined ? [] : [shard],
          removedHistoryIds: replaced.map(({ id }) => id),
        };
      });
    } finally {
      if (shard !== undefined && (!isUsed || catalog.historyShard(shard.id) === undefined))
        this.#flips.retire([shard.id]);
    }
  }

  async #handleFailure({ id, name }: Repository, error: unknown): Promise<void> {
    const { settings, log, catalog, pool } = this.#services;
    reportStoreLoss(settings, error);
    if (error instanceof TrawlError && error.code === "cancelled") return;
    if (catalog.repository(id) === undefined) return;
    this.#againMs.set(id, error instanceof IngestLoss ? Infinity : monotonicMs() + retryMs);
    if (error instanceof IngestLoss) this.#flips.retire(error.doing.shardIds);
    log.warn({ repository: name }, `its history could not be indexed: ${errorMessage(error)}`);
    this.enqueue(id);
    if (!(error instanceof TrawlError) || error.code !== "corrupt-shard") return;
    const shards = catalog.historyOf(id).map(({ id: shardId, checksum }) => ({ id: shardId, checksum }));
    const check = { kind: "check", shards, isHistory: true, part: "whole", stop: this.#tasks.stopWord } as const;
    for (const { shardId } of (await pool.check(check)).failures) await this.drop(shardId);
    this.#againMs.delete(id);
  }
}

/** The commits of the indexed branches. */
function listTips({ indexedBranches }: Repository): string[] {
  return [...new Set(indexedBranches.map(({ commit }) => commit))].sort();
}
