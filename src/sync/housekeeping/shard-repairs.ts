import { deserializeError, errorMessage, type TrawlError } from "../../base/errors.js";
import type { LiveShard, ShardRecord } from "../../model/shard-record.js";
import type { CheckedShard, CheckTask } from "../../protocol/ingest-messages.js";
import type { IndexTasks } from "../queue/index-tasks.js";
import type { SyncQueue } from "../queue/sync-queue.js";
import type { SyncServices } from "../services/sync-settings.js";

function checkedShard({ id, checksum, symbols }: ShardRecord): CheckedShard {
  return { id, checksum, symbols: symbols?.checksum };
}

/** Verifies shards, and has damaged ones rebuilt from their mirrors. */
export class ShardRepairs {
  readonly #services: SyncServices;
  readonly #tasks: IndexTasks;
  readonly #queue: SyncQueue;
  /** Live shards that failed verification and are waiting to be rebuilt. */
  readonly #damaged = new Set<number>();
  #scrubbed = 0;

  constructor(services: SyncServices, tasks: IndexTasks, queue: SyncQueue) {
    this.#services = services;
    this.#tasks = tasks;
    this.#queue = queue;
  }

  /** A shard failed verification: it is fetched again where others have it, or else its repositories are rebuilt from their mirrors. */
  repair(shardId: number): void {
    const shard = this.#services.catalog.shard(shardId);
    if (shard === undefined || this.#damaged.has(shardId)) return;
    this.#damaged.add(shardId);
    this.#services.metrics.shardsDamaged.inc();
    this.count();
    if (this.#services.restore === undefined) this.#rebuildLater(shard);
    else
      this.#tasks.track(
        this.#restore(shard.record).then((isRestored) => {
          if (isRestored) return;
          // Where another node changes the index, it is tried again when the shard is next found to be damaged.
          if (this.#tasks.isPaused) this.#damaged.delete(shardId);
          else this.#rebuildLater(shard);
        }),
      );
  }

  #rebuildLater(shard: LiveShard): void {
    for (const id of shard.record.repositoryIds) if (id !== 0) this.#queue.enqueue(id, true);
    this.#tasks.pump();
  }

  /** Fetches a shard with its symbols again. Resolves with whether it is whole then. */
  async #restore(record: ShardRecord): Promise<boolean> {
    const { restore, pool, log, metrics } = this.#services;
    if (restore === undefined) return false;
    try {
      await restore(record, "text");
    } catch (error) {
      log.error({ shard: record.id, error: errorMessage(error) }, "a shard could not be fetched again");
      return false;
    }
    const stop = this.#tasks.stopWord;
    const { failures, lostSymbols } = await pool.check({
      kind: "check",
      shards: [checkedShard(record)],
      isHistory: false,
      part: "whole",
      stop,
    });
    if (failures.length > 0 || lostSymbols.length > 0) return false;
    log.info({ shard: record.id }, "a shard was fetched again");
    if (this.#damaged.delete(record.id)) metrics.shardsRepaired.inc();
    this.count();
    return true;
  }

  /** Rebuilds the repositories of a damaged shard, and waits for that. */
  async rebuild(shardId: number): Promise<void> {
    const record = this.#services.catalog.shard(shardId)?.record;
    if (record !== undefined && (await this.#restore(record))) return;
    const ids = record?.repositoryIds.filter((id) => id !== 0) ?? [];
    for (const id of ids) this.#queue.schedule(id).rebuild = true;
    await Promise.all(ids.map((id) => this.#queue.sync(id)));
  }

  /** Verifies every live shard; yields the damaged ones. */
  async *check(): AsyncGenerator<{ readonly shardId: number; readonly error: TrawlError | undefined }> {
    const { catalog, pool } = this.#services;
    for (const { record } of [...catalog.shards()]) {
      const { failures, lostSymbols } = await pool.check({
        kind: "check",
        shards: [checkedShard(record)],
        isHistory: false,
        part: "whole",
        stop: this.#tasks.stopWord,
      });
      await this.#dropSymbols(lostSymbols);
      if (catalog.shard(record.id) === undefined) continue;
      const [failure] = failures;
      yield { shardId: record.id, error: failure === undefined ? undefined : deserializeError(failure.error) };
    }
  }

  /** Verifies the next live shard in turn. */
  scrub(): void {
    if (this.#tasks.suspended !== undefined) return;
    const shards = this.#services.catalog.shards();
    const shard = shards[this.#scrubbed++ % Math.max(1, shards.length)];
    if (shard !== undefined) this.#tasks.track(this.verify([shard], "whole"));
  }

  /** Shards that are missing, foreign or damaged are rebuilt. */
  async verify(shards: readonly LiveShard[], part: CheckTask["part"]): Promise<void> {
    // Otherwise an empty daemon would start a thread for it.
    if (shards.length === 0) return;
    const { pool, log } = this.#services;
    const stored = shards.map(({ record }) => checkedShard(record));
    const { failures, lostSymbols } = await pool.check({
      kind: "check",
      shards: stored,
      isHistory: false,
      part,
      stop: this.#tasks.stopWord,
    });
    await this.#dropSymbols(lostSymbols);
    for (const failure of failures) {
      log.error({ shard: failure.shardId }, failure.error.message);
      this.repair(failure.shardId);
    }
  }

  /** Their symbols are extracted again. */
  async #dropSymbols(shardIds: readonly number[]): Promise<void> {
    const { catalog, restore } = this.#services;
    const lost: number[] = [];
    for (const id of shardIds) {
      const record = restore === undefined ? undefined : catalog.shard(id)?.record;
      if (record === undefined || !(await this.#restore(record))) lost.push(id);
    }
    if (lost.length === 0) return;
    this.#services.log.error({ shards: lost }, "symbols of shards are missing or damaged: they are extracted again");
    await this.#services.manifest.publish(() => ({ symbols: new Map(lost.map((id) => [id, undefined])) }));
    this.#tasks.pump();
  }

  /** Counts shards as repaired if they are no longer live. Must be called after each change of the live shards. */
  count(): void {
    const { catalog, metrics } = this.#services;
    for (const id of this.#damaged)
      if (catalog.shard(id) === undefined && this.#damaged.delete(id)) metrics.shardsRepaired.inc();
    metrics.indexCorruptShards.set(this.#damaged.size);
  }
}
