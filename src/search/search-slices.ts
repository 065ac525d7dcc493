import { errorMessage } from "../base/errors.js";
import type { CatalogView } from "../catalog/live-shards.js";
import type { ResultBatch } from "../protocol/result-batch.js";
import { addStats, noStats, type SearchOptions } from "../protocol/search-options.js";
import { type ControlBlock, stopReasons } from "../protocol/control-block.js";
import type {
  BatchMessage,
  CachedShardRange,
  Lane,
  ExcludedFile,
  ResumePosition,
  SearchTaskResult,
} from "../protocol/messages.js";
import type { SearchEnvironment } from "./search-environment.js";

/**
 * Bytes of results that a search may have made and its client not read. With at most one more batch from each worker,
 * and buffers at most twice as large as what they hold, a stream that nobody reads stays below 2 MiB on two cores.
 */
export const creditBytes = 512 * 1024;

/** A worker without credit waits this long for it: a client that keeps up is rarely slower. */
export const creditWaitMs = 5;

/** What the slices of one phase search. */
export interface SlicedWork {
  readonly options: SearchOptions;
  /** Of the shards: in the view's table, then in the kept ones. */
  readonly rows: Uint32Array;
  readonly cached: readonly CachedShardRange[];
}

/** The search that the slices are of. */
export interface SlicedSearch {
  readonly id: number;
  readonly environment: SearchEnvironment;
  readonly view: CatalogView;
  readonly control: ControlBlock;
  readonly lane: Lane;
  readonly client: string;
  /** Bytes of results that the client has not taken. */
  readonly unreadBytes: () => number;
  readonly onFailure: (sentence: string) => void;
  /** Told what only the workers find out about a query: RE2 refuses a regexp as too large. */
  readonly onBadQuery: (sentence: string) => void;
  readonly onLeftOut: (files: readonly ExcludedFile[]) => void;
  readonly onBatch: (batch: ResultBatch, release: () => void) => void;
  /** Before a slice is scheduled. */
  readonly onScheduled: () => void;
  /** When the client may have read: what is parked is to be asked to go on. */
  readonly onProgress: () => void;
  /** When slices are parked, and none runs: the client has to read before they go on. */
  readonly onParked: () => void;
}

/**
 * The slices of one search: at most one for each worker at a time.
 *
 * Batches come on a channel of their own, before or after the result of their slice. Those of a slice whose worker died
 * are taken, and not awaited, as nobody knows how many there are.
 */
export class SearchSlices {
  readonly stats = noStats();
  readonly #search: SlicedSearch;
  #work: SlicedWork | undefined;
  /** Slices that have a worker or wait for one. */
  #activeCount = 0;
  /** Called when the phase that runs is done. */
  #resolve: () => void = () => undefined;
  #isGivenUp = false;
  readonly #parked: { readonly slot: number; readonly row: ResumePosition }[] = [];
  #sliceCount = 0;
  /** By slice: batches that it says it has posted, less those that arrived. Slices that are even are not in it. */
  readonly #missingBatches = new Map<number, number>();
  /** Slices whose worker died. */
  readonly #lost = new Set<number>();
  /** Bytes that the workers' credit lacks and the sink has not taken yet. */
  #owedBytes = 0;

  constructor(search: SlicedSearch) {
    this.#search = search;
    search.environment.pool.onBatch(search.id, (message, release) => this.#receive(message, release));
  }

  get isActive(): boolean {
    return this.#activeCount > 0;
  }

  get isParked(): boolean {
    return this.#parked.length > 0;
  }

  /** Ids of the shards that slices are in at this moment. */
  shardsInWork(): number[] {
    const work = this.#work;
    if (work === undefined) return [];
    const ids: number[] = [];
    for (let slot = 0; slot < this.#search.environment.pool.workerCount; slot++) {
      const id = this.#shardId(slot, work);
      if (id !== undefined) ids.push(id);
    }
    return ids;
  }

  /**
   * Searches this, from its first shard on, unless the search is stopped. Resolves when all slices have ended and all
   * their batches have come; never rejects.
   */
  run(work: SlicedWork): Promise<void> {
    const { control, environment } = this.#search;
    this.#work = work;
    control.restartShards();
    const sliceCount = control.isStopped ? 0 : Math.min(environment.pool.workerCount, work.rows.length);
    return new Promise((resolve) => {
      this.#resolve = resolve;
      for (let slot = 0; slot < sliceCount; slot++) this.#schedule(slot, work, undefined);
      this.#settle();
    });
  }

  /** Gives the workers back the credit of all that the socket took. */
  grantCredit(): void {
    const free = this.#owedBytes - this.#search.unreadBytes();
    if (free <= 0) return;
    this.#owedBytes -= free;
    this.#search.control.giveCredit(free);
  }

  /** Lets parked slices go on, if there is credit. */
  goOn(): void {
    if (this.#work === undefined || this.#search.control.credit <= 0) return;
    for (const { slot, row } of this.#parked.splice(0)) this.#schedule(slot, this.#work, row);
  }

  /** Gives up what is parked. */
  drop(): void {
    this.#parked.length = 0;
    this.#settle();
  }

  /** Gives up what is parked, and waits for no more batches: nobody takes them. */
  giveUp(): void {
    this.#isGivenUp = true;
    this.drop();
  }

  /** Adds up what a worker did, and notes the shards that failed. */
  addWork({ stats, failures, leftOut }: Pick<SearchTaskResult, "stats" | "failures" | "leftOut">): void {
    const { environment, onFailure, onLeftOut, onBadQuery } = this.#search;
    onLeftOut(leftOut);
    addStats(this.stats, stats);
    for (const { shardId, error } of failures) {
      if (error.code === "bad-query") {
        onBadQuery(error.message);
        continue;
      }
      onFailure(error.message);
      environment.log.error({ shard: shardId, code: error.code }, error.message);
      // Another error is a bug of ours: building the shard again would not help, and would repeat with each search.
      if (error.code === "corrupt-shard" || error.code === "format-version") environment.onShardFailure(shardId);
    }
  }

  recordLostWorker(where: string, shardId: number | undefined, error: unknown): void {
    const { environment, onFailure } = this.#search;
    onFailure(`a search worker died ${where}: ${errorMessage(error)}`);
    environment.log.error({ shard: shardId, error: errorMessage(error) }, "a search worker died; it is replaced");
  }

  #schedule(slot: number, work: SlicedWork, row: ResumePosition | undefined): void {
    const { environment, lane, client, onScheduled } = this.#search;
    this.#activeCount++;
    onScheduled();
    environment.scheduler.schedule(lane, client, () => this.#run(slot, work, row));
  }

  async #run(slot: number, work: SlicedWork, row: ResumePosition | undefined): Promise<void> {
    if (!this.#isWanted(row)) return this.#endSlice();
    const { id, environment, view, control, lane } = this.#search;
    const slice = this.#sliceCount++;
    try {
      const result = await environment.pool.run({
        searchId: id,
        slice,
        ...work,
        table: view.table.memory,
        filter: view.filter.memory,
        control: control.memory,
        slot,
        lane,
        resume: row,
        explain: false,
      });
      this.#countBatches(slice, result.batchCount);
      this.#takeResult(slot, work, result);
    } catch (error) {
      this.#loseWorker(slot, work, slice, error);
    }
    this.#endSlice();
  }

  #endSlice(): void {
    this.#activeCount--;
    this.#settle();
  }

  /** Ends the phase when nothing of it is left. */
  #settle(): void {
    if (this.isActive) return;
    if (this.isParked) return this.#search.onParked();
    if (this.#missingBatches.size === 0 || this.#isGivenUp) this.#resolve();
  }

  /**
   * False when a slice that goes on at `row` would have nothing to do: after the limit only what is counted is
   * written.
   */
  #isWanted(row: ResumePosition | undefined): boolean {
    const reason = this.#search.control.stopReason;
    return reason === stopReasons.none || (reason === stopReasons.limit && row?.position.counted !== undefined);
  }

  #takeResult(slot: number, work: SlicedWork, result: SearchTaskResult): void {
    this.addWork(result);
    if (result.resume === undefined || !this.#isWanted(result.resume)) return;
    if (this.#search.control.credit > 0) return this.#schedule(slot, work, result.resume);
    this.#parked.push({ slot, row: result.resume });
    this.#search.onProgress();
  }

  /** A worker died in this slice: what it had not sent of its shard is lost, and another slice takes the rest. */
  #loseWorker(slot: number, work: SlicedWork, slice: number, error: unknown): void {
    const { control } = this.#search;
    const shardId = this.#shardId(slot, work);
    this.recordLostWorker(shardId === undefined ? "before its first shard" : `in shard ${shardId}`, shardId, error);
    this.#missingBatches.delete(slice);
    this.#lost.add(slice);
    const hasMore = control.takenShardCount < work.rows.length;
    if (hasMore && !control.isStopped) this.#schedule(slot, work, undefined);
  }

  /** The shard that the slice of a slot is in. */
  #shardId(slot: number, { rows, cached: kept }: SlicedWork): number | undefined {
    const { table } = this.#search.view;
    const row = rows[this.#search.control.shardOfSlot(slot)] as number | undefined;
    if (row === undefined) return undefined;
    return row < table.count ? table.shardId(row) : kept[row - table.count]?.id;
  }

  #countBatches(slice: number, count: number): void {
    if (this.#lost.has(slice)) return;
    const missing = (this.#missingBatches.get(slice) ?? 0) + count;
    if (missing === 0) this.#missingBatches.delete(slice);
    else this.#missingBatches.set(slice, missing);
  }

  #receive({ slice, batch }: BatchMessage, release: () => void): void {
    this.#countBatches(slice, -1);
    this.#owedBytes += batch.bytes.length;
    this.#search.onBatch(batch, release);
    this.#search.onProgress();
    this.#settle();
  }
}
