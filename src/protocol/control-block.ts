/** Words of the control block, of 32 bits each. */
const words = {
  /** One of `stopReasons`. First, as the addon and the readers of git take the block as a stop flag. */
  stop: 0,
  /** The next row in the list of shards to take. */
  nextShard: 1,
  /** Bytes that may still be sent before the client must read; workers subtract, the main thread adds. */
  credit: 2,
  /** Matches found, also past the limit. */
  matchCount: 3,
  /** Matches written, never past the display limit. */
  displayCount: 4,
  /** 1 when a match was left out because of a limit. */
  limitHit: 5,
  /** Milliseconds that a worker waits for credit before it gives way. */
  creditWaitMs: 6,
  /** One word for each slot: 1 more than the index of the shard that its slice is in, 0 for none. */
  firstSlot: 8,
} as const;

/** Why a search finds no more; a number other than 0 stops it as soon as possible. */
export const stopReasons = {
  none: 0,
  /** What is not sent yet is dropped. */
  cancelled: 1,
  /** What is counted is still written. */
  limit: 2,
} as const;

type StopReason = (typeof stopReasons)[keyof typeof stopReasons];

/**
 * What the threads of one search share: whether it is stopped, which shard is next, how much the client takes, and what
 * was found. In shared memory; each access is atomic.
 */
export class ControlBlock {
  /** The memory, which goes to the threads of the search. Its first word is the stop flag. */
  readonly memory: Int32Array;

  /** Reads and writes a block that `allocate` has made, in whichever thread. */
  constructor(memory: Int32Array) {
    this.memory = memory;
  }

  /** A block of a search that was not stopped and found nothing, for slices with slots below `slotCount`. */
  static allocate(slotCount: number, creditBytes: number, creditWaitMs: number): ControlBlock {
    const memory = new Int32Array(new SharedArrayBuffer(4 * (words.firstSlot + slotCount)));
    memory[words.credit] = creditBytes;
    memory[words.creditWaitMs] = creditWaitMs;
    return new ControlBlock(memory);
  }

  get stopReason(): StopReason {
    return Atomics.load(this.memory, words.stop) as StopReason;
  }

  /** True when nothing more is to be found, for whatever reason. */
  get isStopped(): boolean {
    return Atomics.load(this.memory, words.stop) !== stopReasons.none;
  }

  get isCancelled(): boolean {
    return Atomics.load(this.memory, words.stop) === stopReasons.cancelled;
  }

  /** Nothing more is found, and what is not sent is dropped. */
  cancel(): void {
    Atomics.store(this.memory, words.stop, stopReasons.cancelled);
  }

  /** Records that a limit is reached, and stops the search unless it is stopped already. */
  stopAtLimit(): void {
    this.recordLimitHit();
    Atomics.compareExchange(this.memory, words.stop, stopReasons.none, stopReasons.limit);
  }

  recordLimitHit(): void {
    Atomics.store(this.memory, words.limitHit, 1);
  }

  get isLimitHit(): boolean {
    return Atomics.load(this.memory, words.limitHit) !== 0;
  }

  /** Index of the next shard to search, which no other slice takes. It may be past the last one. */
  takeShard(): number {
    return Atomics.add(this.memory, words.nextShard, 1);
  }

  /** How many shards were taken. */
  get takenShardCount(): number {
    return Atomics.load(this.memory, words.nextShard);
  }

  /** The next shard to take is the first one again. */
  restartShards(): void {
    Atomics.store(this.memory, words.nextShard, 0);
  }

  /** Index of the shard that the slice of a slot is in; -1 when it is in none. */
  shardOfSlot(slot: number): number {
    return Atomics.load(this.memory, words.firstSlot + slot) - 1;
  }

  /** Records the shard that the slice of a slot is in; -1 for none. */
  setShardOfSlot(slot: number, index: number): void {
    Atomics.store(this.memory, words.firstSlot + slot, index + 1);
  }

  /** Bytes that may be sent before the client must read. */
  get credit(): number {
    return Atomics.load(this.memory, words.credit);
  }

  /**
   * Whether the client has read enough for more results to be made. Without credit the calling thread waits up to
   * `creditWaitMs` first: a client that keeps up gives credit back within that, and to leave the shard and come back
   * costs more.
   */
  waitForCredit(): boolean {
    const left = Atomics.load(this.memory, words.credit);
    if (left > 0) return true;
    const waitMs = Atomics.load(this.memory, words.creditWaitMs);
    if (waitMs > 0) Atomics.wait(this.memory, words.credit, left, waitMs);
    return Atomics.load(this.memory, words.credit) > 0;
  }

  takeCredit(byteCount: number): void {
    Atomics.sub(this.memory, words.credit, byteCount);
  }

  /** Gives credit back, and wakes the threads that wait for it. */
  giveCredit(byteCount: number): void {
    Atomics.add(this.memory, words.credit, byteCount);
    Atomics.notify(this.memory, words.credit);
  }

  /** Matches found, also past the limit. */
  get matchCount(): number {
    return Atomics.load(this.memory, words.matchCount);
  }

  /** Counts matches as found; returns how many there were before. */
  addMatches(count: number): number {
    return Atomics.add(this.memory, words.matchCount, count);
  }

  /** Counts matches as written; returns how many there were before. */
  addDisplayed(count: number): number {
    return Atomics.add(this.memory, words.displayCount, count);
  }
}
