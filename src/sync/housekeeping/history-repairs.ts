import { deserializeError, type TrawlError } from "../../base/errors.js";
import type { HistoryShardRecord } from "../../model/history-record.js";
import type { CheckTask, CheckTaskResult } from "../../protocol/ingest-messages.js";
import type { IndexTasks } from "../queue/index-tasks.js";
import type { SyncServices } from "../services/sync-settings.js";
import type { HistoryIndexing } from "./history-indexing.js";
import type { ShardRestores } from "./shard-repairs.js";

/** Verifies history shards. A damaged one is fetched again where others have it, or else dropped: its commits are read from the mirror until they are indexed again. */
export class HistoryRepairs {
  readonly #services: SyncServices;
  readonly #tasks: IndexTasks;
  readonly #indexing: HistoryIndexing;
  readonly #restores: ShardRestores;
  /** Damaged ones that are being fetched or dropped. */
  readonly #repairing = new Set<number>();
  #scrubbed = 0;

  constructor(services: SyncServices, tasks: IndexTasks, indexing: HistoryIndexing, restores: ShardRestores) {
    this.#services = services;
    this.#tasks = tasks;
    this.#indexing = indexing;
    this.#restores = restores;
  }

  /** A history shard failed verification. Does nothing for another shard. */
  repair(shardId: number): void {
    if (this.#services.catalog.historyShard(shardId) === undefined || this.#repairing.has(shardId)) return;
    this.#repairing.add(shardId);
    const work = (): Promise<void> => this.rebuild(shardId).finally(() => this.#repairing.delete(shardId));
    if (this.#services.restore === undefined) this.#tasks.track(work());
    else this.#restores.track(work);
  }

  /** Fetches a damaged history shard again, or drops it. */
  async rebuild(shardId: number): Promise<void> {
    const { catalog, share } = this.#services;
    const record = catalog.historyShard(shardId);
    if (record === undefined) return;
    if (this.#services.restore !== undefined) {
      const outcome = await this.#restores.restore(shardId, "history");
      // Where another node changes the index, it is tried again at the next check.
      if (outcome !== "damaged" || !share.has(record.repositoryId) || this.#tasks.isStopping) return;
    }
    await this.#indexing.drop(shardId);
  }

  /** Verifies every live history shard; yields the damaged ones. */
  async *check(): AsyncGenerator<{ readonly shardId: number; readonly error: TrawlError | undefined }> {
    const { catalog } = this.#services;
    for (const record of [...catalog.historyShards()]) {
      const { failures } = await this.#verify([record], "whole");
      if (catalog.historyShard(record.id) === undefined) continue;
      const [failure] = failures;
      yield { shardId: record.id, error: failure === undefined ? undefined : deserializeError(failure.error) };
    }
  }

  /** Verifies the next live history shard in turn. */
  scrub(): void {
    if (this.#tasks.suspended !== undefined) return;
    const shards = [...this.#services.catalog.historyShards()];
    const shard = shards[this.#scrubbed++ % Math.max(1, shards.length)];
    if (shard !== undefined) this.#tasks.track(this.#dropDamaged([shard], "whole"));
  }

  /** Drops history shards that are missing, foreign or of another version. */
  async verifyHeaders(): Promise<void> {
    const shards = [...this.#services.catalog.historyShards()];
    if (shards.length > 0) await this.#dropDamaged(shards, "headers");
  }

  async #dropDamaged(shards: readonly HistoryShardRecord[], part: CheckTask["part"]): Promise<void> {
    for (const { shardId, error } of (await this.#verify(shards, part)).failures) {
      this.#services.log.error({ shard: shardId }, error.message);
      if (this.#services.restore === undefined) await this.rebuild(shardId);
      else this.repair(shardId);
    }
  }

  #verify(shards: readonly HistoryShardRecord[], part: CheckTask["part"]): Promise<CheckTaskResult> {
    const stored = shards.map(({ id, checksum }) => ({ id, checksum }));
    const stop = this.#tasks.stopWord;
    return this.#services.pool.check({ kind: "check", shards: stored, isHistory: true, part, stop });
  }
}
