import { callAfter } from "../../base/deadline.js";
import { errorMessage } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { CatalogView } from "../../catalog/live-shards.js";
import {
  checkBatch,
  checkSearchResult,
  checkWork,
  isOrdered,
  type BatchMessage,
  type CountedDocuments,
  type Lane,
  type RankedPart,
  type ResumePosition,
  type SearchTask,
  type SearchTaskResult,
  type ShardFailure,
} from "../../protocol/messages.js";
import type { ShardWork } from "../../protocol/rank-messages.js";
import { creditOfBatch, type ResultBatch } from "../../protocol/result-batch.js";
import { type ControlBlock, stopReasons, pressureWords } from "../../protocol/control-block.js";
import type { SearchPool } from "../../pool/search-pool.js";
import type { ClientPace, SourceListener } from "../source/search-source.js";
import type { FinishedWork } from "../../protocol/messages.js";
import { assert } from "../../base/assert.js";
import type { SearchOptions } from "../../protocol/search-options.js";
import { requiredLiterals, trigramBytes, type Leaf, type TextNode } from "../../query/plan/plan.js";
import { FairQueue } from "../../base/fair-semaphore.js";

/** What the slices of one phase search. */
export interface SlicedWork extends ShardWork {
  readonly ranked: RankedPart | undefined;
}

/** The services that slices use. */
export interface SliceServices {
  readonly pool: SearchPool;
  readonly scheduler: SliceScheduler;
  readonly log: Log;
}

/** The search to which the slices belong. */
export interface SlicedSearch {
  readonly id: number;
  readonly view: CatalogView;
  readonly control: ControlBlock;
  readonly lane: Lane;
  readonly client: string;
}

/** Who gets what slices find, as the threads post it. */
export interface SliceListener extends Pick<SourceListener, "scheduled" | "advanced" | "parked"> {
  batch(batch: ResultBatch, release: () => void): void;
  work(work: FinishedWork): void;
  /** Something could not be searched: one sentence. */
  failed(sentence: string): void;
}

/** Who gets what the slices find, and how far its client is. */
export interface SliceOwner {
  readonly listener: SliceListener;
  readonly pace: Pick<ClientPace, "unreadBytes">;
}

/**
 * A phase tolerates this many losses in a row of workers that had not begun a shard, with no shard taken in between. Without
 * the limit, a worker that cannot start would be replaced without end.
 */
const fruitlessLossesMax = 3;

/** The slices of one search: at most one per worker at a time. */
export class SearchSlices {
  readonly #search: SlicedSearch;
  readonly #services: SliceServices;
  readonly #owner: SliceOwner;
  #work: SlicedWork | undefined;
  /** Slices that are running or waiting for a worker. */
  #activeCount = 0;
  /** Called when the running phase is done. */
  #resolve: () => void = () => undefined;
  #isGivenUp = false;
  /** True while only the first slice of the phase has been scheduled. */
  #isAlone = false;
  readonly #parked: { readonly slot: number; readonly row: ResumePosition }[] = [];
  #sliceCount = 0;
  /** Losses of workers before their first shard since the last shard was taken, and how many were taken by then. */
  #fruitlessLosses = { count: 0, takenShardCount: 0 };
  readonly #batches: SliceBatches;
  /** Bytes subtracted from the workers' credit that the sink has not accepted yet. */
  #owedBytes = 0;
  /** Of all slices so far. */
  readonly counted: { readonly shards: number[]; readonly documents: CountedDocuments[] } = {
    shards: [],
    documents: [],
  };

  constructor(search: SlicedSearch, services: SliceServices, owner: SliceOwner) {
    this.#search = search;
    this.#services = services;
    this.#owner = owner;
    this.#batches = new SliceBatches(
      (batch, release) => this.#takeBatch(batch, release),
      (byteCount) => search.control.giveCredit(byteCount),
    );
    services.pool.receive(search.id, {
      onBatch: (message, release) => {
        this.#batches.receive(message, release);
        owner.listener.advanced();
        this.#settle();
      },
      onHelpWanted: () => this.#addSlices(),
    });
  }

  get isActive(): boolean {
    return this.#activeCount > 0;
  }

  get isParked(): boolean {
    return this.#parked.length > 0;
  }

  /** Ids of the shards that slices are currently searching. */
  shardsInWork(): number[] {
    const work = this.#work;
    if (work === undefined || !(this.isActive || this.isParked)) return [];
    const slots = Array.from({ length: this.#services.pool.workerCount }, (_, slot) => slot);
    return slots.flatMap((slot) => this.#shardId(slot, work) ?? []);
  }

  /**
   * Searches `work` from its first shard on, unless the search is stopped. Resolves when all slices have ended and all
   * their batches have arrived. Work that may be small begins with one slice, as in `mayBeSmall`.
   */
  async run(work: SlicedWork): Promise<void> {
    checkWork(work, this.#search.view.table.count);
    const { control, lane } = this.#search;
    const { pool, scheduler } = this.#services;
    this.#work = work;
    control.restartShards();
    this.#fruitlessLosses = { count: 0, takenShardCount: 0 };
    this.#isAlone = isOrdered(work.ranked) || mayBeSmall(work) || mustStayAlone(scheduler, lane);
    const countMax = this.#isAlone ? 1 : pool.workerCount;
    const sliceCount = control.isStopped ? 0 : Math.min(countMax, work.rows.length);
    await new Promise<void>((resolve) => {
      this.#resolve = resolve;
      for (let slot = 0; slot < sliceCount; slot++) this.#schedule(slot, work, undefined);
      this.#settle();
    });
  }

  /**
   * The number of a slice that a task runs besides other work: its batches are held until `continue` or `dropHeld`, which
   * must be called before `run`.
   */
  holdSlice(): number {
    this.#work = undefined;
    const slice = this.#sliceCount++;
    this.#batches.hold(slice);
    return slice;
  }

  /** Like `run`, for work that the held slice has begun, with its result. */
  async continue(work: SlicedWork, result: SearchTaskResult): Promise<void> {
    checkWork(work, this.#search.view.table.count);
    this.#work = work;
    this.#isAlone = true;
    await new Promise<void>((resolve) => {
      this.#resolve = resolve;
      this.#take(0, work, this.#batches.takeHeld(), result);
      this.#settle();
    });
  }

  /** The batches of the held slice are not wanted. */
  dropHeld(): void {
    this.#batches.dropHeld();
  }

  /** Returns credit to the workers for everything that the socket has accepted. */
  grantCredit(): void {
    const free = this.#owedBytes - this.#owner.pace.unreadBytes;
    if (free <= 0) return;
    this.#owedBytes -= free;
    this.#search.control.giveCredit(free);
  }

  /** Whether there is credit and, for work in a given order, all that was sent has arrived. */
  get #mayResume(): boolean {
    return this.#search.control.credit > 0 && !(isOrdered(this.#work?.ranked) && !this.#batches.isComplete);
  }

  /** Lets parked slices continue, if they may. */
  goOn(): void {
    if (this.#work === undefined || !this.#mayResume) return;
    for (const { slot, row } of this.#parked.splice(0)) this.#schedule(slot, this.#work, row);
  }

  /** Abandons parked slices. */
  drop(): void {
    this.#parked.length = 0;
    this.#settle();
  }

  /** Abandons parked slices, and stops waiting for batches, because they are no longer wanted. */
  giveUp(): void {
    this.#isGivenUp = true;
    this.drop();
  }

  recordLostWorker(where: string, shardId: number | undefined, error: unknown): void {
    this.#owner.listener.failed(`a search worker crashed ${where}: ${errorMessage(error)}`);
    this.#services.log.error(
      { shard: shardId, error: errorMessage(error) },
      "a search worker crashed; it was replaced",
    );
  }

  /** Schedules the slices that have not been scheduled yet. */
  #addSlices(): void {
    const { control, lane } = this.#search;
    const { pool, scheduler } = this.#services;
    const work = this.#work;
    if (work === undefined || !this.#isAlone || !this.isActive || control.isStopped) return;
    if (mustStayAlone(scheduler, lane)) return void callAfter(helpRetryMs, () => this.#addSlices());
    this.#isAlone = false;
    const left = Math.max(0, work.rows.length - control.takenShardCount);
    const count = Math.min(pool.workerCount, left + 1);
    for (let slot = 1; slot < count; slot++) this.#schedule(slot, work, undefined);
  }

  #schedule(slot: number, work: SlicedWork, row: ResumePosition | undefined): void {
    const { lane, client } = this.#search;
    this.#activeCount++;
    this.#owner.listener.scheduled();
    this.#services.scheduler.schedule(lane, client, () => this.#run(slot, work, row));
  }

  async #run(slot: number, work: SlicedWork, row: ResumePosition | undefined): Promise<void> {
    if (!this.#isWanted(row)) return this.#endSlice();
    const { id, view, control, lane } = this.#search;
    const slice = this.#sliceCount++;
    const { options, rows, cached, ranked } = work;
    try {
      // A property that is named after a spread takes 2 µs of the main thread.
      const task: SearchTask = {
        searchId: id,
        slice,
        options,
        rows,
        cached,
        ranked,
        table: view.table.memory,
        filter: view.filter.memory,
        control: control.memory,
        slot,
        isAlone: this.#isAlone,
        lane,
        resume: row,
        explain: false,
      };
      const result = await this.#services.pool.run(task);
      checkSearchResult(result, task);
      this.#take(slot, work, slice, result);
    } catch (error) {
      this.#loseWorker(slot, work, slice, error);
    }
    this.#endSlice();
  }

  #endSlice(): void {
    this.#activeCount--;
    this.#settle();
  }

  /** Ends the phase when all of its slices and batches are done. */
  #settle(): void {
    if (this.isActive) return;
    if (this.isParked) return this.#owner.listener.parked();
    if (this.#batches.isComplete || this.#isGivenUp) this.#resolve();
  }

  /** False if a slice that continues at `row` has nothing to do: after the limit, only counted results are written. */
  #isWanted(row: ResumePosition | undefined): boolean {
    const { stopReason } = this.#search.control;
    return stopReason === stopReasons.none || (stopReason === stopReasons.limit && row?.position.counted !== undefined);
  }

  #take(slot: number, work: SlicedWork, slice: number, result: SearchTaskResult): void {
    if (result.lastBatch !== undefined && !this.#isGivenUp) this.#takeBatch(result.lastBatch, () => undefined);
    this.#batches.expect(slice, result.batchCount);
    this.counted.shards.push(...result.countedShards);
    this.counted.documents.push(...result.countedDocuments);
    this.#owner.listener.work(result);
    if (result.resume === undefined || !this.#isWanted(result.resume)) return;
    if (this.#mayResume) return this.#schedule(slot, work, result.resume);
    this.#parked.push({ slot, row: result.resume });
    this.#owner.listener.advanced();
  }

  /**
   * Handles a worker crash in this slice: results of its current shard that it had not sent are lost, and another slice
   * continues with the remaining shards. If no slice does, they are not searched, which the recorded failure tells.
   */
  #loseWorker(slot: number, work: SlicedWork, slice: number, error: unknown): void {
    const { control } = this.#search;
    const shardId = this.#shardId(slot, work);
    this.recordLostWorker(shardId === undefined ? "before its first shard" : `in shard ${shardId}`, shardId, error);
    this.#batches.lose(slice);
    control.setShardOfSlot(slot, -1);
    if (control.takenShardCount >= work.rows.length || control.isStopped) return;
    if (shardId !== undefined || this.#mayTryAgain(control.takenShardCount)) this.#schedule(slot, work, undefined);
  }

  #mayTryAgain(takenShardCount: number): boolean {
    const before = this.#fruitlessLosses;
    const count = before.takenShardCount === takenShardCount ? before.count + 1 : 1;
    this.#fruitlessLosses = { count, takenShardCount };
    return count <= fruitlessLossesMax;
  }

  /** The shard that the slice in a slot is searching. */
  #shardId(slot: number, { rows, cached: kept }: SlicedWork): number | undefined {
    const { table } = this.#search.view;
    const row = rows[this.#search.control.shardOfSlot(slot)] as number | undefined;
    if (row === undefined) return undefined;
    return row < table.count ? table.shardId(row) : kept[row - table.count]?.id;
  }

  #takeBatch(batch: ResultBatch, release: () => void): void {
    this.#owedBytes += creditOfBatch(batch);
    try {
      checkBatch(batch);
    } catch (error) {
      release();
      this.#owner.listener.failed(errorMessage(error));
      return;
    }
    this.#owner.listener.batch(batch, release);
  }
}

/** Receives a batch. `release` must be called when its bytes are no longer needed. */
type BatchReceiver = (batch: ResultBatch, release: () => void) => void;

interface HeldSlice {
  readonly slice: number;
  readonly batches: { readonly batch: ResultBatch; readonly release: () => void }[];
}

/**
 * The batches of the slices of one search. They arrive on another channel than the results of their slices, before or
 * after them.
 *
 * Those of one slice may be held until it is known whether they are wanted: its results may be sent only after others,
 * and not at all if its worker crashes.
 */
export class SliceBatches {
  readonly #onBatch: BatchReceiver;
  readonly #onDropped: (byteCount: number) => void;
  /** By slice: batches that it reports to have posted, minus those that have arrived, unless that is zero. */
  readonly #missing = new Map<number, number>();
  /** Slices whose worker crashed: their batches are not awaited, because their number is unknown. */
  readonly #lost = new Set<number>();
  /** Slices whose batches are not wanted. */
  readonly #unwanted = new Set<number>();
  #held: HeldSlice | undefined;

  /** `onDropped` is called with the credit of each batch that is not passed on. */
  constructor(onBatch: BatchReceiver, onDropped: (byteCount: number) => void) {
    this.#onBatch = onBatch;
    this.#onDropped = onDropped;
  }

  /** Whether all batches have arrived that slices report to have posted. */
  get isComplete(): boolean {
    return this.#missing.size === 0;
  }

  receive({ slice, batch }: BatchMessage, release: () => void): void {
    if (this.#unwanted.has(slice)) return this.#drop(batch, release);
    if (slice === this.#held?.slice) this.#held.batches.push({ batch, release });
    else this.#pass(slice, batch, release);
  }

  /** Records the number of batches that a slice reports to have posted. */
  expect(slice: number, count: number): void {
    this.#count(slice, count);
  }

  lose(slice: number): void {
    this.#missing.delete(slice);
    this.#lost.add(slice);
  }

  /** Holds the batches of a slice, until `takeHeld` or `dropHeld`. The client's credit limits their size. */
  hold(slice: number): void {
    this.#held = { slice, batches: [] };
  }

  /** Passes on the batches that are held, and from now on those of the slice. Returns the slice. */
  takeHeld(): number {
    assert(this.#held !== undefined, "a slice is held");
    const { slice, batches } = this.#held;
    this.#held = undefined;
    for (const { batch, release } of batches) this.#pass(slice, batch, release);
    return slice;
  }

  /** Drops the batches that are held, and those of the slice that are to come. */
  dropHeld(): void {
    if (this.#held === undefined) return;
    const { slice, batches } = this.#held;
    this.#held = undefined;
    this.#unwanted.add(slice);
    for (const { batch, release } of batches) this.#drop(batch, release);
  }

  #pass(slice: number, batch: ResultBatch, release: () => void): void {
    this.#count(slice, -1);
    this.#onBatch(batch, release);
  }

  #drop(batch: ResultBatch, release: () => void): void {
    release();
    this.#onDropped(creditOfBatch(batch));
  }

  #count(slice: number, count: number): void {
    if (this.#lost.has(slice)) return;
    const missing = (this.#missing.get(slice) ?? 0) + count;
    if (missing === 0) this.#missing.delete(slice);
    else this.#missing.set(slice, missing);
  }
}

/** A search that asks for more threads while others wait is considered again after this time. */
export const helpRetryMs = 20;

/** While other interactive searches wait, a second thread for one of them delays those, and takes time to wake. */
export function mustStayAlone(scheduler: Pick<SliceScheduler, "waitingIn">, lane: Lane): boolean {
  return lane === "interactive" && scheduler.waitingIn("interactive") > 0;
}

/** With more shards, their look-ups alone are worth a second thread: each takes 10 to 20 µs. */
const smallRowCountMax = 64;

/**
 * Whether a search of these shards may be too small to be worth more than one thread: there are few, and their posting
 * lists tell what has to be read.
 */
export function mayBeSmall({
  options,
  rows,
}: {
  readonly options: SearchOptions;
  readonly rows: Uint32Array;
}): boolean {
  return (
    rows.length <= smallRowCountMax &&
    options.useIndex &&
    options.plan.basicQueries.every(({ text }) => text?.pattern !== undefined && isBounded(text.pattern, text.leaves))
  );
}

/** Whether the index bounds the candidates of the node: it has a literal that each of them contains. */
function isBounded(node: TextNode, leaves: readonly Leaf[]): boolean {
  switch (node.kind) {
    case "leaf":
      return requiredLiterals(leaves[node.leaf]).clauses.some((clause) =>
        clause.every(({ length }) => length >= trigramBytes),
      );
    case "not":
      return false;
    case "and":
      return node.children.some((child) => isBounded(child, leaves));
    case "or":
      return node.children.every((child) => isBounded(child, leaves));
  }
}

/**
 * Every n-th slice is taken from the exhaustive lane while any waits there, so that interactive searches cannot starve
 * it.
 */
const exhaustiveShare = 4;

/**
 * Decides which slice runs next. Goals: (1) an interactive search starts as soon as a worker yields, (2) exhaustive
 * searches share the rest round-robin, (3) neither lane starves, (4) within each lane clients are served round-robin,
 * so that many searches of one client delay another client no more than one search does. Not a goal: fairness by bytes.
 *
 * The pressure words tell running slices that others are waiting; each yields between two blocks, after its lane's
 * time. A slice that yielded goes to the end of its lane, which makes each lane round-robin.
 */
export class SliceScheduler {
  readonly #workerCount: number;
  readonly #pressure: Int32Array;
  readonly #waiting: Readonly<Record<Lane, FairQueue<() => Promise<void>>>> = {
    interactive: new FairQueue(),
    exhaustive: new FairQueue(),
  };
  #running = 0;
  #turn = 0;

  constructor(workerCount: number, pressure: Int32Array) {
    this.#workerCount = workerCount;
    this.#pressure = pressure;
  }

  /** Runs `start` when its turn comes. `start` never rejects; its promise resolves when the slice ends. */
  schedule(lane: Lane, client: string, start: () => Promise<void>): void {
    this.#waiting[lane].push(client, start);
    this.#fill();
  }

  /** Runs `task` when its turn comes, and returns its result. */
  run<T>(lane: Lane, client: string, task: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.schedule(lane, client, () => task().then(resolve, reject));
    });
  }

  waitingIn(lane: Lane): number {
    return this.#waiting[lane].size;
  }

  /** True if no slice is running or waiting. */
  get isIdle(): boolean {
    return this.#running === 0 && this.waitingCount === 0;
  }

  get waitingCount(): number {
    return this.#waiting.interactive.size + this.#waiting.exhaustive.size;
  }

  #fill(): void {
    while (this.#running < this.#workerCount) {
      const start = this.#next();
      if (start === undefined) break;
      this.#running++;
      void start().finally(() => {
        this.#running--;
        this.#fill();
      });
    }
    Atomics.store(this.#pressure, pressureWords.all, this.waitingCount);
    Atomics.store(this.#pressure, pressureWords.interactive, this.#waiting.interactive.size);
  }

  #next(): (() => Promise<void>) | undefined {
    const { interactive, exhaustive } = this.#waiting;
    this.#turn++;
    if (exhaustive.size > 0 && (interactive.size === 0 || this.#turn % exhaustiveShare === 0)) return exhaustive.take();
    return interactive.take();
  }
}

export interface ShardRepairs {
  readonly log: Log;
  /** Requests that the shard is built again. */
  readonly onShardFailure: (shardId: number) => void;
}

/** Logs that a shard could not be read, and requests a rebuild if that may help. */
export function recordShardFailure({ log, onShardFailure }: ShardRepairs, { shardId, error }: ShardFailure): void {
  log.error({ shard: shardId, code: error.code }, error.message);
  // Any other error is a bug in this program: a rebuild would not help, and every search would request another.
  if (error.code === "corrupt-shard" || error.code === "format-version") onShardFailure(shardId);
}
