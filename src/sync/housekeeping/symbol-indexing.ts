import { monotonicMs } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { LiveShard, SymbolRecord } from "../../model/shard-record.js";
import { IngestLoss } from "../../pool/ingest-pool.js";
import type { IndexTasks } from "../queue/index-tasks.js";
import { hasShard, reportStoreLoss, type SyncServices } from "../services/sync-settings.js";
import type { ShardFlips } from "./shard-flips.js";
import type { ShardRepairs } from "./shard-repairs.js";

/** After a failed extraction (disk full, ctags broken), the next one waits this long. */
const retryMs = 60_000;

/** While ctags is missing, it is looked for again after this time. */
const searchAgainMs = 600_000;

/** Extracts the symbols of live shards that have none, or that another ctags found, one shard at a time. */
export class SymbolIndexing {
  readonly #services: SyncServices;
  readonly #tasks: IndexTasks;
  readonly #flips: ShardFlips;
  readonly #repairs: ShardRepairs;
  /** Shards on which a thread was lost. They are left alone until the next start. */
  readonly #leftAlone = new Set<number>();
  /** What extracts symbols; undefined before ctags was found. */
  #producer: string | undefined;
  /** Why symbols cannot be extracted; "" if they can, or if that is not known yet. */
  #lack = "";
  #isRunning = false;
  /** Nothing is tried before this time on the monotonic clock. */
  #againMs = 0;

  constructor(services: SyncServices, tasks: IndexTasks, flips: ShardFlips, repairs: ShardRepairs) {
    this.#services = services;
    this.#tasks = tasks;
    this.#flips = flips;
    this.#repairs = repairs;
  }

  /** Why symbols cannot be extracted, as a sentence; "" if nothing is known to prevent it. */
  get lack(): string {
    return this.#lack;
  }

  /** 1 while a shard is in work, otherwise 0. */
  get runningCount(): number {
    return this.#isRunning ? 1 : 0;
  }

  /** Whether the shard will get symbols soon. */
  isPending(shard: LiveShard): boolean {
    return this.#services.settings.symbols.enabled && monotonicMs() >= this.#againMs && this.#isWanted(shard);
  }

  /** Returns false if there is currently nothing to extract. */
  start(): boolean {
    if (!this.#services.settings.symbols.enabled || this.#isRunning || monotonicMs() < this.#againMs) return false;
    const shards = this.#services.catalog.shards();
    const shard = shards.find((live) => this.#isWanted(live));
    // Otherwise nobody would notice that an upgrade has replaced ctags, or the format of symbols.
    const isUnknown = this.#producer === undefined && shards.length > 0;
    if (shard === undefined && !isUnknown) return false;
    this.#isRunning = true;
    this.#tasks.track(this.#extract(shard));
    return true;
  }

  #isWanted({ record }: LiveShard): boolean {
    const { id, symbols } = record;
    if (this.#leftAlone.has(id) || !hasShard(this.#services.share, record)) return false;
    return symbols === undefined || (this.#producer !== undefined && symbols.producer !== this.#producer);
  }

  /** Without a shard, only looks for ctags. */
  async #extract(live: LiveShard | undefined): Promise<void> {
    const { pool, settings, log } = this.#services;
    try {
      const { command } = settings.symbols;
      const stop = this.#tasks.stopWord;
      const shard = live === undefined ? undefined : { id: live.record.id, checksum: live.record.checksum };
      const result = await pool.symbols({ kind: "symbols", command, shard, stop });
      if (result.kind === "found") {
        this.#lack = "";
        this.#producer = result.producer;
        if (shard !== undefined) await this.#record(shard.id, result.record);
        return;
      }
      if (this.#lack !== result.reason) log.warn(`symbols are not indexed: ${result.reason}`);
      this.#lack = result.reason;
      this.#againMs = monotonicMs() + searchAgainMs;
    } catch (error) {
      await this.#handleFailure(live?.record.id, error);
    } finally {
      this.#isRunning = false;
    }
  }

  async #record(id: number, record: SymbolRecord | undefined): Promise<void> {
    const { catalog, manifest, log } = this.#services;
    await manifest.publish(() => ({ symbols: new Map([[id, record]]) }));
    // It was removed meanwhile, and its symbols may have been written after that.
    if (catalog.shard(id) === undefined) this.#flips.retire([id]);
    log.debug({ shard: id, symbols: record?.symbolCount, failed: record?.failedCount }, "symbols indexed");
  }

  async #handleFailure(id: number | undefined, error: unknown): Promise<void> {
    this.#againMs = monotonicMs() + retryMs;
    reportStoreLoss(this.#services.settings, error);
    const shard = id === undefined ? undefined : this.#services.catalog.shard(id);
    if (id === undefined || shard === undefined) return;
    if (error instanceof IngestLoss) this.#leftAlone.add(id);
    if (error instanceof TrawlError && error.code === "corrupt-shard") await this.#repairs.verify([shard], "whole");
    else if (!(error instanceof TrawlError && error.code === "cancelled"))
      this.#services.log.error({ shard: id, error: errorMessage(error) }, "symbols could not be extracted");
  }
}
