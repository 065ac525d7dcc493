import { monotonicMs } from "../base/deadline.js";
import { TrawlError } from "../base/errors.js";

/** Indexes of the 32-bit words of the control block. */
const words = {
  /** One of `stopReasons`. Must be word 0, because the addon and the git readers use the block as a stop flag. */
  stop: 0,
  /** Index of the next shard to take, in the list of shards. */
  nextShard: 1,
  /** Bytes that may still be sent before the client must read; workers subtract, the main thread adds. */
  credit: 2,
  /** 1 if a match was omitted because of a limit. */
  limitHit: 3,
  /** Milliseconds that a worker waits for credit before it yields. */
  creditWaitMs: 4,
  /** Matches that ranking has listed to be counted, at most 2^32 - 1. */
  rankedMatches: 5,
  /** Index of the next shard to rank, and how many shards are ranked by threads that have published what they found. */
  nextRanked: 6,
  publishedShards: 7,
  /** `wideWords`, from a multiple of 8 bytes on. */
  firstWide: 8,
  /** Results that another process has counted and not written, which this search has not found yet. */
  pendingSent: 20,
  /** 1 from when the limit is reached: then the search stops as soon as no results are pending. */
  isLimitReached: 21,
  /** One word per slot: the index of the shard that its slice is searching plus 1; 0 for none. */
  firstSlot: 22,
} as const;

/**
 * Indexes of the counts of 64 bits, which follow the words of 32: two terabytes of text have more KiB than 32 bits can count,
 * and may have more matches. An addition takes 59 ns instead of 26, for a document or a block of them.
 */
const wideWords = {
  /** Matches found, including those beyond the limit. */
  matchCount: 0,
  /** Matches written, and those that the display limit left out. */
  displayCount: 1,
  /** Text that was examined, in KiB. */
  scannedKib: 2,
  /** Time that search workers spent, in tenths of a millisecond. */
  workerTenths: 3,
  /** Results that refer to another one with the same content, and the matches in them. */
  duplicateCount: 4,
  duplicateMatches: 5,
} as const;

/** Why a search finds no more matches; any value other than 0 stops it as soon as possible. */
export const stopReasons = {
  none: 0,
  /** Results that have not been sent are discarded. */
  cancelled: 1,
  /** Results that have been counted are still written. */
  limit: 2,
} as const;

/** Bytes of text examined by the kernel or RE2, and time of search workers. */
export interface SearchCost {
  readonly scannedBytes: number;
  readonly workerMs: number;
}

/** Records what one slice costs, from its creation on. */
export class CostMeter {
  readonly #control: ControlBlock;
  #recordedMs = performance.now();
  #restBytes = 0;

  constructor(control: ControlBlock) {
    this.#control = control;
  }

  /** Records the time since the last call, and this many bytes. */
  record(scannedBytes: number): void {
    const bytes = this.#restBytes + scannedBytes;
    const scannedKib = Math.floor(bytes / 1024);
    const workerTenths = Math.floor((performance.now() - this.#recordedMs) * 10);
    this.#control.addCost(scannedKib, workerTenths);
    this.#restBytes = bytes - scannedKib * 1024;
    this.#recordedMs += workerTenths / 10;
  }
}

/** A slice without credit waits this many times as long if no other slice waits for its thread. */
const idleWaits = 4;

type StopReason = (typeof stopReasons)[keyof typeof stopReasons];

/**
 * State shared by the threads of one search: whether it is stopped, which shard is next, how much the client can
 * accept, and what was found. In shared memory; each access is atomic.
 */
export class ControlBlock {
  /** The memory, which is passed to the threads of the search. Its first word is the stop flag. */
  readonly memory: Int32Array;
  readonly #pressure: Int32Array | undefined;
  #wide: BigInt64Array | undefined;

  /** Accesses a block created by `allocate`, in any thread. With `pressure`, it is known whether other slices wait. */
  constructor(memory: Int32Array, pressure?: Int32Array) {
    this.memory = memory;
    this.#pressure = pressure;
  }

  /** A block for a search that is not stopped and has found nothing, for slots below `slotCount`. */
  static allocate(slotCount: number, creditBytes: number, creditWaitMs: number): ControlBlock {
    const memory = new Int32Array(new SharedArrayBuffer(4 * (words.firstSlot + slotCount)));
    memory[words.credit] = creditBytes;
    memory[words.creditWaitMs] = creditWaitMs;
    return new ControlBlock(memory);
  }

  /** Made when it is needed: a thread that needs only the stop flag may have only that. */
  get #counts(): BigInt64Array {
    const { buffer, byteOffset } = this.memory;
    return (this.#wide ??= new BigInt64Array(buffer, byteOffset + 4 * words.firstWide, Object.keys(wideWords).length));
  }

  #count(word: number): number {
    return Number(Atomics.load(this.#counts, word));
  }

  /** Returns the previous count. */
  #add(word: number, count: number): number {
    return Number(Atomics.add(this.#counts, word, BigInt(count)));
  }

  get stopReason(): StopReason {
    return Atomics.load(this.memory, words.stop) as StopReason;
  }

  /** True if the search has been stopped, for any reason. */
  get isStopped(): boolean {
    return Atomics.load(this.memory, words.stop) !== stopReasons.none;
  }

  get isCancelled(): boolean {
    return Atomics.load(this.memory, words.stop) === stopReasons.cancelled;
  }

  /** Stops the search and discards results that have not been sent. */
  cancel(): void {
    Atomics.store(this.memory, words.stop, stopReasons.cancelled);
  }

  /**
   * Records that a limit has been reached, and stops the search unless it is already stopped, or goes on to find results that
   * another process has counted.
   */
  stopAtLimit(): void {
    this.recordLimitHit();
    Atomics.store(this.memory, words.isLimitReached, 1);
    if (Atomics.load(this.memory, words.pendingSent) === 0) this.#stopAtLimit();
  }

  #stopAtLimit(): void {
    Atomics.compareExchange(this.memory, words.stop, stopReasons.none, stopReasons.limit);
  }

  /** The search goes on past its limit until this many results are found that another process has counted and not written. */
  awaitSent(count: number): void {
    Atomics.store(this.memory, words.pendingSent, count);
  }

  /** Some result of another process may still have to be found. */
  get hasPendingSent(): boolean {
    return Atomics.load(this.memory, words.pendingSent) > 0;
  }

  /** One of them is found. */
  settleSent(): void {
    // Whoever reaches the limit at the same moment sees that none is pending, or this sees that the limit is reached.
    if (Atomics.sub(this.memory, words.pendingSent, 1) === 1 && this.isLimitReached) this.#stopAtLimit();
  }

  /** No more matches are counted, although the search may go on. */
  get isLimitReached(): boolean {
    return Atomics.load(this.memory, words.isLimitReached) !== 0;
  }

  recordLimitHit(): void {
    Atomics.store(this.memory, words.limitHit, 1);
  }

  get isLimitHit(): boolean {
    return Atomics.load(this.memory, words.limitHit) !== 0;
  }

  /** Returns the index of the next shard to search, which no other slice takes. It may be past the last one. */
  takeShard(): number {
    return Atomics.add(this.memory, words.nextShard, 1);
  }

  /** How many shards have been taken. */
  get takenShardCount(): number {
    return Atomics.load(this.memory, words.nextShard);
  }

  /** Starts again with the first shard. */
  restartShards(): void {
    Atomics.store(this.memory, words.nextShard, 0);
  }

  /** Nothing is ranked yet. */
  beginRanking(): void {
    Atomics.store(this.memory, words.nextRanked, 0);
    Atomics.store(this.memory, words.publishedShards, 0);
    Atomics.store(this.memory, words.rankedMatches, 0);
  }

  /**
   * Like `takeShard`, of the shards to rank. They have their own counter: a thread that begins to rank late must find none
   * while another one already writes what was ranked.
   */
  takeRankedShard(): number {
    return Atomics.add(this.memory, words.nextRanked, 1);
  }

  /** The word that `takeRankedShard` counts up: the kernel takes shards, too. */
  get nextRanked(): Uint32Array {
    const { buffer, byteOffset } = this.memory;
    return new Uint32Array(buffer, byteOffset + 4 * words.nextRanked, 1);
  }

  /** How many shards have been taken to be ranked. */
  get rankedShardCount(): number {
    return Atomics.load(this.memory, words.nextRanked);
  }

  /** Adds shards of which others can read what was found. Returns how many there are. */
  publishShards(count: number): number {
    return Atomics.add(this.memory, words.publishedShards, count) + count;
  }

  /** The word that counts the matches which ranking has listed. */
  get rankedMatches(): Uint32Array {
    const { buffer, byteOffset } = this.memory;
    return new Uint32Array(buffer, byteOffset + 4 * words.rankedMatches, 1);
  }

  /** Index of the shard that the slice in a slot is searching; -1 if none. */
  shardOfSlot(slot: number): number {
    return Atomics.load(this.memory, words.firstSlot + slot) - 1;
  }

  /** Records the shard that the slice in a slot is searching; -1 for none. */
  setShardOfSlot(slot: number, index: number): void {
    Atomics.store(this.memory, words.firstSlot + slot, index + 1);
  }

  /** Bytes that may be sent before the client must read. */
  get credit(): number {
    return Atomics.load(this.memory, words.credit);
  }

  /**
   * Whether there is credit to produce more results. If not, the calling thread first waits up to `creditWaitMs`, and
   * `idleWaits` times as long if no other slice waits: a client that keeps up returns credit within that time, and
   * leaving the shard and returning to it costs more. The wait is not part of what the search costs.
   */
  waitForCredit(): boolean {
    if (this.credit > 0) return true;
    const startMs = monotonicMs();
    const hasCredit = this.#awaitCredit(startMs);
    const waitedTenths = Math.floor((monotonicMs() - startMs) * 10);
    this.addCost(0, -waitedTenths);
    return hasCredit;
  }

  /** What is returned may not cover what has been taken: then it waits again. */
  #awaitCredit(startMs: number): boolean {
    const waitMs = Atomics.load(this.memory, words.creditWaitMs);
    for (;;) {
      const left = this.credit;
      if (left > 0) return true;
      const restMs = startMs + waitMs * (this.#isIdle ? idleWaits : 1) - monotonicMs();
      if (restMs <= 0 || this.isCancelled) return false;
      Atomics.wait(this.memory, words.credit, left, Math.min(waitMs, restMs));
    }
  }

  /** False if other slices wait for a worker, or if that is not known. */
  get #isIdle(): boolean {
    return this.#pressure !== undefined && Atomics.load(this.#pressure, pressureWords.all) === 0;
  }

  takeCredit(byteCount: number): void {
    Atomics.sub(this.memory, words.credit, byteCount);
  }

  /** Adds credit, and wakes threads that wait for it. */
  giveCredit(byteCount: number): void {
    Atomics.add(this.memory, words.credit, byteCount);
    Atomics.notify(this.memory, words.credit);
  }

  /** Matches found, including those beyond the limit. */
  get matchCount(): number {
    return this.#count(wideWords.matchCount);
  }

  /** Adds to the matches found; returns the previous count. */
  addMatches(count: number): number {
    return this.#add(wideWords.matchCount, count);
  }

  /** Adds to the matches found, unless the sum would be more than `countMax`; returns false then. */
  addMatchesWithin(count: number, countMax: number): boolean {
    const counts = this.#counts;
    for (;;) {
      const before = Atomics.load(counts, wideWords.matchCount);
      if (Number(before) + count > countMax) return false;
      const after = before + BigInt(count);
      if (Atomics.compareExchange(counts, wideWords.matchCount, before, after) === before) return true;
    }
  }

  /** Counts results that refer to others with the same content, where they have this many matches. */
  addDuplicates(count: number, matchCount: number): void {
    this.#add(wideWords.duplicateCount, count);
    this.#add(wideWords.duplicateMatches, matchCount);
  }

  /** Results that refer to another one; each counts as one match towards the limit. */
  get duplicateCount(): number {
    return this.#count(wideWords.duplicateCount);
  }

  /** Matches of these results. */
  get duplicateMatches(): number {
    return this.#count(wideWords.duplicateMatches);
  }

  /** What the search has cost so far. Slices record it after each shard. */
  get cost(): SearchCost {
    return {
      scannedBytes: this.#count(wideWords.scannedKib) * 1024,
      workerMs: this.#count(wideWords.workerTenths) / 10,
    };
  }

  /** Adds to the cost; fractions of the units are for the caller to keep. */
  addCost(scannedKib: number, workerTenths: number): void {
    this.#add(wideWords.scannedKib, scannedKib);
    this.#add(wideWords.workerTenths, workerTenths);
  }

  /** Adds to the matches written; returns the previous count. */
  addDisplayed(count: number): number {
    return this.#add(wideWords.displayCount, count);
  }

  /** Results that were written, or would have been without the limit on them. */
  get displayedCount(): number {
    return this.#count(wideWords.displayCount);
  }
}

/** Shared memory that tells running slices how many others wait for a worker: of both lanes, and of the interactive one. */
export const pressureWords = { all: 0, interactive: 1 } as const;

export function makePressure(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(Object.keys(pressureWords).length * Int32Array.BYTES_PER_ELEMENT));
}

/**
 * Ends work on a stopped search from within: every loop over a text, a list of paths or a table calls `check` at least
 * every 5 ms. It takes 2 ns.
 */
export class StopCheck {
  readonly #control: ControlBlock;
  /** True while counted results are looked up again or written: the limit on matches does not end that work. */
  finishesCounted = false;

  /** `control` is the control block of the search. */
  constructor(control: ControlBlock) {
    this.#control = control;
  }

  /** Throws `cancelled` if the result of the work is no longer wanted. */
  check(): void {
    const reason = this.#control.stopReason;
    if (reason === stopReasons.none || (reason === stopReasons.limit && this.finishesCounted)) return;
    throw new TrawlError("cancelled", "the search was stopped");
  }
}

/**
 * Limits that apply only to some basic queries of a search, by index of their result options in the plan. In shared
 * memory, so that all threads together respect them.
 */
export interface ResultLimits {
  /** Maximum number of matches per result options; undefined if only the limit of the whole search applies. */
  readonly countMax: readonly (number | undefined)[];
  /** Matches taken, including those beyond the limit; `endedMark` or more if no more are wanted. */
  readonly taken: BigInt64Array;
}

/** Above any limit, and far enough from overflow that concurrent additions do no harm. */
const endedMark = 2 ** 60;

export function makeResultLimits(countMax: readonly (number | undefined)[]): ResultLimits {
  return { countMax, taken: new BigInt64Array(new SharedArrayBuffer(8 * countMax.length)) };
}

/** Takes up to `wanted` matches from what the limit leaves, and records in the control block if that is fewer. */
export function takeMatches(
  { countMax, taken }: ResultLimits,
  optionsIndex: number,
  wanted: number,
  control: ControlBlock,
): number {
  const limit = countMax[optionsIndex];
  const soFar = Number(Atomics.load(taken, optionsIndex));
  if (soFar >= endedMark) return 0;
  if (limit === undefined) return wanted;
  const before = soFar >= limit ? soFar : Number(Atomics.add(taken, optionsIndex, BigInt(wanted)));
  const left = Math.max(0, Math.min(wanted, limit - before));
  if (left < wanted) control.recordLimitHit();
  return left;
}

/** True if no further match will be taken. If this is true of all result options, the search may be complete. */
export function isOver({ countMax, taken }: ResultLimits, optionsIndex: number): boolean {
  return Number(Atomics.load(taken, optionsIndex)) > (countMax[optionsIndex] ?? endedMark - 1);
}

/** Ends these result options for a reason other than their limit. What was taken is still known. */
export function endTaking({ taken }: ResultLimits, optionsIndex: number): void {
  if (Number(Atomics.load(taken, optionsIndex)) < endedMark) Atomics.add(taken, optionsIndex, BigInt(endedMark));
}

/** Matches taken, including those beyond the limit. */
export function takenMatches({ taken }: ResultLimits, optionsIndex: number): number {
  return Number(Atomics.load(taken, optionsIndex) % BigInt(endedMark));
}
