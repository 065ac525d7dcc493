import { monotonicMs } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { LiveShard } from "../../model/shard-record.js";
import { IngestLoss } from "../../pool/ingest-pool.js";
import type { SyncTaskResult } from "../../protocol/ingest-messages.js";
import { chooseCompaction } from "./compaction-policy.js";
import type { IndexTasks } from "../queue/index-tasks.js";
import type { RepositoryLocks } from "../queue/repository-locks.js";
import { withOnly, type ShardFlips } from "./shard-flips.js";
import type { ShardRepairs } from "./shard-repairs.js";
import type { SymbolIndexing } from "./symbol-indexing.js";
import { reportStoreLoss, type SyncServices } from "../sync-settings.js";

/** After a failed merge (disk full, a damaged shard), the next one waits this long. */
const retryMs = 60_000;

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
  }

  /** Returns false if there is currently nothing to merge. */
  start(): boolean {
    if (this.#isRunning || monotonicMs() < this.#againMs) return false;
    const shards = chooseCompaction(
      this.#services.catalog.shards(),
      // The symbols of merged shards are copied, unless those of one of them are missing.
      (shard) => this.#symbols.isPending(shard) || this.#isInUse(shard),
    );
    if (shards.length === 0) return false;
    this.#isRunning = true;
    this.#tasks.track(this.#merge(shards));
    return true;
  }

  #isInUse({ record }: LiveShard): boolean {
    return this.#unmergeable.has(record.id) || record.repositoryIds.some((id) => this.#locks.isBusy(id));
  }

  async #merge(shards: readonly LiveShard[]): Promise<void> {
    const ids = [...new Set(shards.flatMap((shard) => shard.record.repositoryIds))].filter((id) => id !== 0);
    this.#locks.lock(ids);
    try {
      const result = await this.#services.pool.compact({
        kind: "compact",
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
      await this.#replace(shards, result.shards);
    } catch (error) {
      await this.#handleFailure(shards, error);
    } finally {
      this.#locks.release(ids);
      this.#isRunning = false;
      this.#repairs.count();
    }
  }

  async #replace(shards: readonly LiveShard[], merged: SyncTaskResult["shards"]): Promise<void> {
    const { catalog, log } = this.#services;
    await this.#flips.flip(merged, () => ({
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
    else if (!(error instanceof TrawlError && error.code === "cancelled"))
      this.#services.log.error({ error: errorMessage(error) }, "shards could not be merged");
  }

  #leaveUnmerged(shards: readonly LiveShard[], { doing }: IngestLoss): void {
    this.#flips.retire(doing.shardIds);
    for (const { record } of shards) this.#unmergeable.add(record.id);
  }
}
