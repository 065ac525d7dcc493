import { freemem } from "node:os";
import { callEvery, monotonicMs, sleep, type PendingCall } from "../../base/deadline.js";
import { errorMessage } from "../../base/errors.js";
import type { CatalogView } from "../../catalog/live-shards.js";
import type { LiveShard } from "../../model/shard-record.js";
import type { WarmPart, WarmTaskResult } from "../../protocol/messages.js";
import type { Catalog } from "../../catalog/catalog.js";
import { type SliceServices, recordShardFailure, type ShardRepairs } from "../slices/search-slices.js";

/** The interval at which the warmer checks whether the live shards have changed. */
const lookMs = 1_000;

/** The delay before a task that yielded to a search is retried. */
const retryMs = 200;

/**
 * The limit on the time of one task, after which its thread is replaced. Reading one part of a shard takes 0.1 s from a
 * disk that reads 1 GB/s.
 */
const taskMs = 60_000;

export interface WarmerOptions {
  /** The number of faults of the store so far; shards that were verified before the last one are verified again. */
  readonly faultCount: () => number;
  /** The fraction of the available memory, from 0 to 1, that shards read ahead may fill. */
  readonly memoryShare: number;
  /** Called after a pass, with the live shards as they are then. */
  readonly afterPass: (view: CatalogView) => Promise<void>;
  /** Called when the warmer is closed: ends what `afterPass` has begun. */
  readonly onClose: () => void;
}

interface WarmerEnvironment extends SliceServices, ShardRepairs {
  readonly catalog: Catalog;
}

/**
 * Verifies live shards before a search needs them, and reads them into the page cache: first the indexes of all shards,
 * then the contents, then the symbols, up to a fraction of the available memory. The remaining shards are verified when
 * they are first searched.
 *
 * Warms one shard at a time, so that the other workers stay free for searches, and yields to slices that wait for a
 * worker.
 */
export class ShardWarmer {
  readonly #environment: WarmerEnvironment;
  readonly #options: WarmerOptions;
  readonly #stop = new Int32Array(new SharedArrayBuffer(4));
  /** The shards of the last complete pass. */
  #warm: CatalogView["shards"] = [];
  /** By shard: the checksum of its symbols when they were read. */
  readonly #warmSymbols = new Map<number, number>();
  #pass: Promise<void> | undefined;
  #looks: PendingCall | undefined;

  constructor(environment: WarmerEnvironment, options: WarmerOptions) {
    this.#environment = environment;
    this.#options = options;
  }

  /** Starts the first pass, and another one whenever the live shards have changed. */
  start(): void {
    this.#looks = callEvery(lookMs, () => this.#look());
    this.#look();
  }

  /** Stops the warmer; resolves when its last task has ended. */
  async close(): Promise<void> {
    this.#looks?.cancel();
    Atomics.store(this.#stop, 0, 1);
    this.#options.onClose();
    await this.#pass;
  }

  get #isStopped(): boolean {
    return Atomics.load(this.#stop, 0) !== 0;
  }

  #isCurrent(view: CatalogView): boolean {
    return !this.#isStopped && this.#environment.catalog.shards() === view.shards;
  }

  #look(): void {
    const { catalog, log } = this.#environment;
    const shards = catalog.shards();
    if (this.#pass !== undefined || shards === this.#warm) return;
    this.#pass = this.#run()
      .catch((error: unknown) => {
        log.warn(`shards could not be verified ahead of searches: ${errorMessage(error)}`);
        // A disk that does not respond is not tried again until the live shards change.
        this.#warm = shards;
      })
      .finally(() => {
        this.#pass = undefined;
      });
  }

  /** Makes one pass over the live shards; ends early if they change. */
  async #run(): Promise<void> {
    const startedMs = monotonicMs();
    const view = this.#environment.catalog.view();
    try {
      const taskCount = await this.#warmView(view);
      if (!this.#isCurrent(view)) return;
      this.#warm = view.shards;
      const ms = Math.round(monotonicMs() - startedMs);
      if (taskCount > 0)
        this.#environment.log.debug({ shards: view.shards.length, ms }, "shards are verified and in memory");
      if (taskCount > 0) await this.#options.afterPass(view);
    } finally {
      view.release();
    }
  }

  /** Resolves with the number of parts that were warmed. */
  async #warmView(view: CatalogView): Promise<number> {
    let freeBytes = availableBytes() * this.#options.memoryShare;
    let taskCount = 0;
    this.#forgetSymbols(view);
    for (const part of ["index", "content", "symbols"] as const) {
      for (let row = 0; row < view.shards.length; row++) {
        const { record } = view.shards[row];
        freeBytes -= countBytes(record, part);
        if (freeBytes < 0) return taskCount;
        // What earlier passes have read counts too: it is in the page cache, which the available memory includes.
        if (this.#isWarm(view, row, part)) continue;
        const isDone = await this.#warmPart(view, row, part);
        taskCount++;
        // A pass that ends early must not make the next one read them again.
        if (isDone && part === "symbols" && record.symbols !== undefined)
          this.#warmSymbols.set(record.id, record.symbols.checksum);
        if (!this.#isCurrent(view)) return taskCount;
      }
    }
    return taskCount;
  }

  /** Forgets the symbols of shards that are not live. */
  #forgetSymbols({ shards }: CatalogView): void {
    const live = new Set(shards.map(({ record }) => record.id));
    for (const id of this.#warmSymbols.keys()) if (!live.has(id)) this.#warmSymbols.delete(id);
  }

  #isWarm(view: CatalogView, row: number, part: WarmPart): boolean {
    if (part !== "symbols") return view.table.isVerified(row, part, this.#options.faultCount());
    const { id, symbols } = view.shards[row].record;
    return symbols === undefined || this.#warmSymbols.get(id) === symbols.checksum;
  }

  /**
   * Warms one part of a shard, retrying tasks that yielded; ends early if the shards change. Resolves with whether the
   * task ended by itself.
   */
  async #warmPart(view: CatalogView, row: number, part: WarmPart): Promise<boolean> {
    for (;;) {
      const { isDone, failures } = await this.#schedule(view, row, part);
      for (const failure of failures) recordShardFailure(this.#environment, failure);
      if (isDone || !this.#isCurrent(view)) return isDone;
      await sleep(retryMs);
      if (!this.#isCurrent(view)) return false;
    }
  }

  #schedule(view: CatalogView, row: number, part: WarmPart): Promise<WarmTaskResult> {
    const { pool, scheduler } = this.#environment;
    const task = { table: view.table.memory, filter: view.filter.memory, row, part, stop: this.#stop };
    return scheduler.run("exhaustive", "", () => pool.warm(task, monotonicMs() + taskMs));
  }
}

function countBytes({ storedBytes, contentBytes, symbols }: LiveShard["record"], part: WarmPart): number {
  if (part === "symbols") return symbols?.storedBytes ?? 0;
  return part === "content" ? contentBytes : storedBytes - contentBytes;
}

/** The free memory of the machine, or the limit of the process's control group if that is less. */
function availableBytes(): number {
  return Math.min(freemem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}
