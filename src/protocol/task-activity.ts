import { assert } from "../base/assert.js";

/** Header words of the record, in shared memory. */
const words = {
  /** Grows while the task goes on. */
  beats: 0,
  /** How long the task may go on without a beat. */
  allowanceMs: 1,
  repositoryId: 2,
  phase: 3,
  /** Bytes of the texts below. */
  stateBytes: 4,
  oidBytes: 5,
  pathBytes: 6,
  /** One of `locks`. */
  lock: 7,
  shardCount: 8,
} as const;

/** Who may go on: the thread that writes to a store, or the pool that ends the thread. */
const locks = { open: 0, writing: 1, ending: 2 } as const;

const headerWords = 16;

/** Shards that one task writes and that are deleted when its thread is ended; later ones wait for the next start. */
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
] as const;

export type Phase = (typeof phases)[number];

/** What a thread was doing when it was ended. */
export interface Doing {
  /** 0 when the task had not come to a repository. */
  readonly repositoryId: number;
  readonly phase: Phase;
  /** Names what was indexed of the repository: its branches and their commits; "" before they are known. */
  readonly state: string;
  /** The file; "" when it was at none. */
  readonly oid: string;
  readonly path: string;
  /** Shards that it had written, or begun to write. */
  readonly shardIds: readonly number[];
}

/**
 * What a task does at this moment, in shared memory: the thread writes it, and the pool reads it to see whether the
 * task goes on, and, when it does not, what it was at.
 *
 * A thread that is ended in the middle of a write to LMDB would leave its lock behind, and no other thread could write
 * again. So writes are between `beginWrite` and `endWrite`, and the pool ends a thread only after `lockForEnd` returned
 * true.
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

  /** The task goes on. */
  beat(): void {
    Atomics.add(this.#words, words.beats, 1);
  }

  /** The task begins with something else, which may take `allowanceMs` without a beat; repository 0 is none. */
  enter(phase: Phase, repositoryId: number, state: string, allowanceMs: number): void {
    this.#words[words.phase] = phases.indexOf(phase);
    this.#words[words.repositoryId] = repositoryId;
    this.#words[words.stateBytes] = this.#state.write(state, "latin1");
    this.#words[words.oidBytes] = 0;
    this.#words[words.pathBytes] = 0;
    this.allow(allowanceMs);
  }

  /** The task begins with a file of the repository that it is at. */
  enterFile(oid: string, path: Buffer, allowanceMs: number): void {
    this.#words[words.oidBytes] = this.#oid.write(oid, "latin1");
    this.#words[words.pathBytes] = path.copy(this.#path);
    this.allow(allowanceMs);
  }

  /** What the task does next may take so long without a beat. */
  allow(allowanceMs: number): void {
    Atomics.store(this.#words, words.allowanceMs, allowanceMs);
    this.beat();
  }

  /** Before a write to a store. Does not return once the pool is about to end this thread. */
  beginWrite(): void {
    const before = Atomics.compareExchange(this.#words, words.lock, locks.open, locks.writing);
    assert(before !== locks.writing, "one write at a time");
    if (before === locks.ending) Atomics.wait(this.#words, words.lock, locks.ending);
  }

  endWrite(): void {
    Atomics.store(this.#words, words.lock, locks.open);
    this.beat();
  }

  /** Before a shard is written. */
  recordShard(shardId: number): void {
    const index = this.#words[words.shardCount];
    if (index >= shardCountMax) return;
    this.#shards[index] = shardId;
    this.#words[words.shardCount] = index + 1;
  }

  get beats(): number {
    return Atomics.load(this.#words, words.beats);
  }

  /** 0 before the task has said anything. */
  get allowanceMs(): number {
    return Atomics.load(this.#words, words.allowanceMs);
  }

  /** True when the thread is not writing, and will not begin to: it may be ended. */
  lockForEnd(): boolean {
    return Atomics.compareExchange(this.#words, words.lock, locks.open, locks.ending) !== locks.writing;
  }

  /** Meaningful once the thread has ended or is stuck. */
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
