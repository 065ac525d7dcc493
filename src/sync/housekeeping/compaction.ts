import { assert } from "../../base/assert.js";
import { monotonicMs } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Basis } from "../../catalog/catalog.js";
import type { LiveShard, ShardRecord } from "../../model/shard-record.js";
import { IngestLoss } from "../../pool/ingest-pool.js";
import type { SyncTaskResult } from "../../protocol/ingest-messages.js";
import { viewersKey } from "../../model/repository.js";
import { chooseCompaction, isImpure, repositoriesByVisibility, type CompactionSite } from "./compaction-policy.js";
import type { IndexTasks } from "../queue/index-tasks.js";
import type { RepositoryLocks } from "../queue/repository-locks.js";
import { OutdatedWork, withOnly, type ShardFlips } from "./shard-flips.js";
import type { ShardRepairs } from "./shard-repairs.js";
import type { SymbolIndexing } from "./symbol-indexing.js";
import { hasShard, reportStoreLoss, type SyncServices } from "../services/sync-settings.js";

/** After a failed merge (disk full, a damaged shard), the next one waits this long. */
const retryMs = 60_000;

/** A change of readers waits this long for shards that are in use. */
const separationMsMax = 60_000;
const separationStepMs = 1_000;

const stillTogether =
  "the readers are changed, but a shard still contains the repository's text beside that of others, because one of them " +
  "is being synced; it is rewritten as soon as that ends. Repeat the command to wait for it";

/** Merges shards, one group at a time, while none of their repositories is in another task. */
export class Compaction {
  readonly #services: SyncServices;
  readonly #tasks: IndexTasks;
  readonly #locks: RepositoryLocks;
  readonly #flips: ShardFlips;
  readonly #repairs: ShardRepairs;
  readonly #symbols: SymbolIndexing;
  /** Shards on which a thread failed to merge. They are left alone until the next start. */
  readonly #unmergeable = new Set<number>();
  /**
   * Ids of shards with hidden documents that may have had other viewers than the rest of the shard. At the start that is
   * every shard with hidden documents, since a crash may have come between a change of readers and the rewriting.
   */
  readonly #suspects: Set<number>;
  readonly #site: CompactionSite;
  #isRunning = false;
  /** After a failed merge, none is tried before this time on the monotonic clock. */
  #againMs = 0;

  constructor(
    services: SyncServices,
    tasks: IndexTasks,
    locks: RepositoryLocks,
    flips: ShardFlips,
    repairs: ShardRepairs,
    symbols: SymbolIndexing,
  ) {
    this.#symbols = symbols;
    this.#services = services;
    this.#tasks = tasks;
    this.#locks = locks;
    this.#flips = flips;
    this.#repairs = repairs;
    const { catalog } = services;
    const hiding = catalog.shards().filter(({ record }) => record.repositoryIds.includes(0));
    this.#suspects = new Set(hiding.map(({ record }) => record.id));
    this.#site = {
      // The symbols of merged shards are copied, unless those of one of them are missing.
      isBusy: (shard) =>
        !hasShard(services.share, shard.record) || this.#symbols.isPending(shard) || this.#isInUse(shard),
      partition: ({ record }) => {
        const id = record.repositoryIds.find((one) => one !== 0);
        return id === undefined ? -1 : catalog.partitions.find(id);
      },
      viewersKey: (id) => {
        const repository = catalog.repository(id);
        return repository === undefined ? "" : viewersKey(repository);
      },
      isSuspect: ({ record }) => this.#suspects.has(record.id),
    };
  }

  /** Returns false if there is currently nothing to merge. */
  start(): boolean {
    if (this.#isRunning || monotonicMs() < this.#againMs) return false;
    const shards = chooseCompaction(this.#services.catalog.shards(), this.#site);
    if (shards.length === 0) return false;
    this.#tasks.track(this.#merge(shards).catch((error: unknown) => this.#handleFailure(shards, error)));
    return true;
  }

  /** The visibility of a repository has changed: what is hidden beside it had its former viewers. */
  suspect(repositoryId: number): void {
    for (const { record } of this.#services.catalog.shards())
      if (record.repositoryIds.includes(repositoryId) && record.repositoryIds.includes(0))
        this.#suspects.add(record.id);
  }

  /**
   * Resolves when no live shard contains text of the repository beside text with other viewers, which is so after a
   * change of its readers. Rejects with the error of a rewriting that failed, with `shutting-down`, and with `conflict` if
   * a shard is still in use after a while; then it is rewritten later.
   */
  async separate(repositoryId: number): Promise<void> {
    // The node that indexes it does it.
    if (!this.#services.share.has(repositoryId)) return;
    // Also if this call changes nothing: an earlier one may have been interrupted.
    this.suspect(repositoryId);
    const shards = (): readonly LiveShard[] =>
      this.#services.catalog.shards().filter(({ record }) => record.repositoryIds.includes(repositoryId));
    const endMs = monotonicMs() + separationMsMax;
    for (;;) {
      const impure = shards().filter((shard) => isImpure(shard, this.#site));
      if (impure.length === 0) return;
      if (this.#tasks.suspended !== undefined) throw this.#tasks.suspended;
      if (this.#tasks.isStopping) throw new TrawlError("shutting-down", "the daemon is stopping");
      if (monotonicMs() > endMs) throw new TrawlError("conflict", stillTogether);
      const free = this.#isRunning ? undefined : impure.find((shard) => !this.#isInUse(shard));
      if (free === undefined) await this.#tasks.oneEndedWithin(separationStepMs);
      else await this.#mergeNow([free]);
    }
  }

  async #mergeNow(shards: readonly LiveShard[]): Promise<void> {
    const done = this.#merge(shards);
    this.#tasks.track(done.catch((error: unknown) => this.#handleFailure(shards, error)));
    await done;
  }

  #isInUse({ record }: LiveShard): boolean {
    return this.#unmergeable.has(record.id) || record.repositoryIds.some((id) => this.#locks.isBusy(id));
  }

  async #merge(shards: readonly LiveShard[]): Promise<void> {
    assert(!this.#isRunning, "shards are merged one group at a time");
    this.#isRunning = true;
    const groups = repositoriesByVisibility(shards, this.#site.viewersKey);
    const ids = groups.flat();
    const basis = this.#services.catalog.basis(ids[0] ?? 0);
    this.#locks.lock(ids);
    try {
      const result = await this.#services.pool.compact({
        kind: "compact",
        groups,
        shardIds: this.#flips.shardIds,
        stop: this.#tasks.stopWord,
        shards: shards.map(({ record, tombstones }) => ({
          id: record.id,
          checksum: record.checksum,
          tombstones,
          repositoryIds: record.repositoryIds,
          hasSymbols: record.symbols !== undefined,
        })),
      });
      await this.#replace(shards, result.shards, basis);
      this.#updateSuspects(new Set(result.shards.map(({ id }) => id)));
    } finally {
      this.#locks.release(ids);
      this.#isRunning = false;
      this.#repairs.count();
    }
  }

  /**
   * Forgets shards that are not live any more. What was hidden in a merged shard meanwhile may have had the former viewers
   * of the rest, if these have changed meanwhile.
   */
  #updateSuspects(mergedIds: ReadonlySet<number>): void {
    const before = new Set(this.#suspects);
    this.#suspects.clear();
    for (const { record } of this.#services.catalog.shards())
      if (record.repositoryIds.includes(0) && (before.has(record.id) || mergedIds.has(record.id)))
        this.#suspects.add(record.id);
  }

  async #replace(shards: readonly LiveShard[], merged: SyncTaskResult["shards"], basis: Basis): Promise<void> {
    const { catalog, log } = this.#services;
    assert(countDocuments(merged) <= countDocuments(shards.map(({ record }) => record)), "a merge makes no documents");
    await this.#flips.flip(merged, basis, () => ({
      addedShards: withOnly(merged, (id) => catalog.repository(id) !== undefined),
      removedShardIds: shards.map((shard) => shard.record.id),
    }));
    log.debug({ merged: shards.length, into: merged.length }, "shards merged");
  }

  async #handleFailure(shards: readonly LiveShard[], error: unknown): Promise<void> {
    this.#againMs = monotonicMs() + retryMs;
    reportStoreLoss(this.#services.settings, error);
    if (error instanceof IngestLoss) this.#leaveUnmerged(shards, error);
    if (error instanceof TrawlError && error.code === "corrupt-shard") await this.#repairs.verify(shards, "whole");
    else if (!(error instanceof OutdatedWork || (error instanceof TrawlError && error.code === "cancelled")))
      this.#services.log.error({ error: errorMessage(error) }, "shards could not be merged");
  }

  #leaveUnmerged(shards: readonly LiveShard[], { doing }: IngestLoss): void {
    this.#flips.retire(doing.shardIds);
    for (const { record } of shards) this.#unmergeable.add(record.id);
  }
}

function countDocuments(records: readonly ShardRecord[]): number {
  return records.reduce((sum, { documentCount }) => sum + documentCount, 0);
}
