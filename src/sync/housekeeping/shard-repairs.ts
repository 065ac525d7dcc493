import { deserializeError, errorMessage, type TrawlError } from "../../base/errors.js";
import type { HistoryShardRecord } from "../../model/history-record.js";
import type { LiveShard, ShardRecord } from "../../model/shard-record.js";
import type { CheckedShard, CheckTask } from "../../protocol/ingest-messages.js";
import type { IndexTasks } from "../queue/index-tasks.js";
import type { SyncQueue } from "../queue/sync-queue.js";
import { byPartition, hasShard, type SyncServices } from "../services/sync-settings.js";
import type { ShardFlips } from "./shard-flips.js";

function checkedShard({ id, checksum, symbols }: ShardRecord): CheckedShard {
  return { id, checksum, symbols: symbols?.checksum };
}

/** What fetching a shard again has led to: a shard that is gone is not live any more. */
export type RestoreOutcome = "whole" | "gone" | "damaged";

/**
 * Fetches shards again from where other nodes of the fleet have them, one at a time however many are damaged. It is work in addition to the other
 * tasks, like symbols: no sync waits for it.
 */
export class ShardRestores {
  readonly #services: SyncServices;
  readonly #tasks: IndexTasks;
  readonly #flips: Pick<ShardFlips, "retire">;
  /** By kind and id: what runs, and what waits for it. */
  readonly #asked = new Map<string, Promise<RestoreOutcome>>();
  /** Settles when the last of what was asked for is done. */
  #turn: Promise<unknown> = Promise.resolve();
  #runningCount = 0;

  constructor(services: SyncServices, tasks: IndexTasks, flips: Pick<ShardFlips, "retire">) {
    this.#services = services;
    this.#tasks = tasks;
    this.#flips = flips;
  }

  get runningCount(): number {
    return this.#runningCount;
  }

  /** There is nothing that waits: what finds damage asks for it. */
  start(): boolean {
    return false;
  }

  /** Counts work that waits for a restore until it ends. */
  track(work: () => Promise<void>): void {
    this.#runningCount++;
    this.#tasks.track(
      work().finally(() => {
        this.#runningCount--;
      }),
    );
  }

  /** Fetches a live shard again, with its symbols, when it is its turn. Resolves with "damaged" if it cannot be had. */
  restore(shardId: number, kind: "text" | "history"): Promise<RestoreOutcome> {
    const key = `${kind} ${shardId}`;
    const known = this.#asked.get(key);
    if (known !== undefined) return known;
    const done = this.#turn.then(() => this.#restore(shardId, kind)).finally(() => this.#asked.delete(key));
    this.#asked.set(key, done);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  #find(shardId: number, kind: "text" | "history"): ShardRecord | HistoryShardRecord | undefined {
    const { catalog } = this.#services;
    return kind === "text" ? catalog.shard(shardId)?.record : catalog.historyShard(shardId);
  }

  async #restore(shardId: number, kind: "text" | "history"): Promise<RestoreOutcome> {
    const { restore, log } = this.#services;
    const record = this.#find(shardId, kind);
    if (record === undefined) return "gone";
    if (restore === undefined || this.#tasks.isStopping) return "damaged";
    let isWhole = false;
    try {
      await restore(record, kind);
      isWhole = await this.#isWhole(shardId, kind);
    } catch (error) {
      log.error({ shard: shardId, error: errorMessage(error) }, "a shard could not be fetched again");
    }
    if (this.#find(shardId, kind) === undefined) {
      // It was removed meanwhile, and may have been written after that.
      this.#flips.retire([shardId]);
      return "gone";
    }
    if (isWhole) log.info({ shard: shardId }, "a shard was fetched again");
    return isWhole ? "whole" : "damaged";
  }

  /** Also false for a shard that is gone. */
  async #isWhole(shardId: number, kind: "text" | "history"): Promise<boolean> {
    const record = this.#find(shardId, kind);
    if (record === undefined) return false;
    const { id, checksum } = record;
    const { failures, lostSymbols } = await this.#services.pool.check({
      kind: "check",
      shards: ["repositoryIds" in record ? checkedShard(record) : { id, checksum }],
      isHistory: kind === "history",
      part: "whole",
      stop: this.#tasks.stopWord,
    });
    return failures.length === 0 && lostSymbols.length === 0;
  }
}

/** Verifies shards, and has damaged ones rebuilt from their mirrors. */
export class ShardRepairs {
  readonly #services: SyncServices;
  readonly #tasks: IndexTasks;
  readonly #queue: SyncQueue;
  readonly #restores: ShardRestores;
  /** Live shards that failed verification and are waiting to be rebuilt. */
  readonly #damaged = new Set<number>();
  #scrubbed = 0;

  constructor(services: SyncServices, tasks: IndexTasks, queue: SyncQueue, restores: ShardRestores) {
    this.#services = services;
    this.#tasks = tasks;
    this.#queue = queue;
    this.#restores = restores;
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
      this.#restores.track(async () => {
        if ((await this.#restore(shardId)) !== "damaged" || this.#tasks.isStopping) return;
        // Where another node changes the index, it is tried again when the shard is next found to be damaged.
        if (!hasShard(this.#services.share, shard.record)) this.#damaged.delete(shardId);
        else this.#rebuildLater(shard);
      });
  }

  #rebuildLater(shard: LiveShard): void {
    for (const id of shard.record.repositoryIds) if (id !== 0) this.#queue.enqueue(id, true);
    this.#tasks.pump();
  }

  async #restore(shardId: number): Promise<RestoreOutcome> {
    const outcome = await this.#restores.restore(shardId, "text");
    if (outcome === "whole" && this.#damaged.delete(shardId)) this.#services.metrics.shardsRepaired.inc();
    this.count();
    return outcome;
  }

  /** Rebuilds the repositories of a damaged shard, and waits for that. */
  async rebuild(shardId: number): Promise<void> {
    const record = this.#services.catalog.shard(shardId)?.record;
    if (this.#services.restore !== undefined && (await this.#restore(shardId)) !== "damaged") return;
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

  /** Their symbols are fetched or extracted again. */
  async #dropSymbols(shardIds: readonly number[]): Promise<void> {
    if (shardIds.length === 0) return;
    if (this.#services.restore === undefined) return this.#extractAgain(shardIds);
    for (const id of shardIds)
      this.#restores.track(async () => {
        const outcome = await this.#restore(id);
        // Where another node changes the index, it is tried again at the next check.
        if (outcome === "damaged" && !this.#tasks.isStopping) await this.#extractAgain([id]);
      });
  }

  async #extractAgain(shardIds: readonly number[]): Promise<void> {
    const { log, manifest, catalog, share } = this.#services;
    const records = shardIds.flatMap((id) => catalog.shard(id)?.record ?? []).filter((one) => hasShard(share, one));
    if (records.length === 0) return;
    const ids = records.map(({ id }) => id);
    log.error({ shards: ids }, "symbols of shards are missing or damaged: they are extracted again");
    const find = ({ repositoryIds }: ShardRecord): number =>
      catalog.partitions.find(repositoryIds.find((id) => id !== 0) ?? 0);
    for (const some of byPartition(records, find).values())
      await manifest.publish(() => ({ symbols: new Map(some.map(({ id }) => [id, undefined])) }));
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
