import { assert } from "../base/assert.js";

/** Indexes of the header words of the record, in shared memory. */
const words = {
  /** Incremented while the task makes progress. */
  beats: 0,
  /** How long the task may run without a beat. */
  allowanceMs: 1,
  repositoryId: 2,
  phase: 3,
  /** Size of the texts below. */
  stateBytes: 4,
  oidBytes: 5,
  pathBytes: 6,
  /** One of `locks`. */
  lock: 7,
  shardCount: 8,
} as const;

/** Which of them may proceed: the thread that writes to a store, or the pool that terminates the thread. */
const locks = { open: 0, writing: 1, ending: 2 } as const;

const headerWords = 16;

/**
 * Limit on recorded shards, which are deleted if the thread is terminated; further ones are deleted at the next start.
 */
const shardCountMax = 1024;

const stateBytesMax = 64;
const oidBytesMax = 64;
const pathBytesMax = 1024;

const phases = [
  "starting",
  "fetching",
  "comparing",
  "reading",
  "indexing",
  "writing",
  "merging",
  "checking",
  "repacking",
  "copying",
  "symbols",
  "uploading",
] as const;

export type Phase = (typeof phases)[number];

/** What a thread was doing when it was terminated. */
export interface Doing {
  /** 0 if the task had not started with a repository. */
  readonly repositoryId: number;
  readonly phase: Phase;
  /** Identifies what was being indexed: branches and their commits; "" before they are known. */
  readonly state: string;
  /** The file; "" if none. */
  readonly oid: string;
  readonly path: string;
  /** Shards that had been written or were being written. */
  readonly shardIds: readonly number[];
}

/**
 * What a task is currently doing, in shared memory. The thread writes it; the pool reads it to detect whether the task
 * makes progress and, if not, what it is doing.
 *
 * A thread that is terminated during an LMDB write would leave its lock behind, and no other thread could write again.
 * Therefore writes are enclosed in `beginWrite` and `endWrite`, and the pool terminates a thread only after
 * `lockForEnd` has returned true.
 */
export class TaskActivity {
  readonly memory: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #shards: Int32Array;
  readonly #state: Buffer;
  readonly #oid: Buffer;
  readonly #path: Buffer;

  constructor(
    memory: SharedArrayBuffer = new SharedArrayBuffer(
      4 * (headerWords + shardCountMax) + stateBytesMax + oidBytesMax + pathBytesMax,
    ),
  ) {
    this.memory = memory;
    this.#words = new Int32Array(memory, 0, headerWords);
    this.#shards = new Int32Array(memory, 4 * headerWords, shardCountMax);
    const texts = 4 * (headerWords + shardCountMax);
    this.#state = Buffer.from(memory, texts, stateBytesMax);
    this.#oid = Buffer.from(memory, texts + stateBytesMax, oidBytesMax);
    this.#path = Buffer.from(memory, texts + stateBytesMax + oidBytesMax, pathBytesMax);
  }

  /** Signals progress. */
  beat(): void {
    Atomics.add(this.#words, words.beats, 1);
  }

  /** Starts a new phase, which may take `allowanceMs` without a beat; repository 0 means none. */
  enter(phase: Phase, repositoryId: number, state: string, allowanceMs: number): void {
    this.#words[words.phase] = phases.indexOf(phase);
    this.#words[words.repositoryId] = repositoryId;
    this.#words[words.stateBytes] = this.#state.write(state, "latin1");
    this.#words[words.oidBytes] = 0;
    this.#words[words.pathBytes] = 0;
    this.allow(allowanceMs);
  }

  /** Starts a file of the current repository. */
  enterFile(oid: string, path: Buffer, allowanceMs: number): void {
    this.#words[words.oidBytes] = this.#oid.write(oid, "latin1");
    this.#words[words.pathBytes] = path.copy(this.#path);
    this.allow(allowanceMs);
  }

  /** Sets how long the next step may take without a beat. */
  allow(allowanceMs: number): void {
    Atomics.store(this.#words, words.allowanceMs, allowanceMs);
    this.beat();
  }

  /** Call before a write to a store. Does not return if the pool is about to terminate this thread. */
  beginWrite(): void {
    const before = Atomics.compareExchange(this.#words, words.lock, locks.open, locks.writing);
    assert(before !== locks.writing, "one write at a time");
    if (before === locks.ending) Atomics.wait(this.#words, words.lock, locks.ending);
  }

  endWrite(): void {
    Atomics.store(this.#words, words.lock, locks.open);
    this.beat();
  }

  /** Call before a shard is written. */
  recordShard(shardId: number): void {
    const index = this.#words[words.shardCount];
    if (index >= shardCountMax) return;
    this.#shards[index] = shardId;
    this.#words[words.shardCount] = index + 1;
  }

  get beats(): number {
    return Atomics.load(this.#words, words.beats);
  }

  /** 0 before the task has reported anything. */
  get allowanceMs(): number {
    return Atomics.load(this.#words, words.allowanceMs);
  }

  /** Returns true if the thread is not writing and will not start to write: it may be terminated. */
  lockForEnd(): boolean {
    return Atomics.compareExchange(this.#words, words.lock, locks.open, locks.ending) !== locks.writing;
  }

  /** Meaningful only when the thread has ended or hangs. */
  doing(): Doing {
    const length = (word: number): number => this.#words[word];
    return {
      repositoryId: this.#words[words.repositoryId],
      phase: phases[this.#words[words.phase]],
      state: this.#state.toString("latin1", 0, length(words.stateBytes)),
      oid: this.#oid.toString("latin1", 0, length(words.oidBytes)),
      path: this.#path.toString("utf8", 0, length(words.pathBytes)),
      shardIds: Array.from(this.#shards.subarray(0, length(words.shardCount)), (id) => id >>> 0),
    };
  }
}
