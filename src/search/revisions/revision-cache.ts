import { assert } from "../../base/assert.js";
import { BoundedMap } from "../../base/bounded-map.js";

/** A piece of the cache's memory: a shard, or the value of its symbols. */
export interface CachedBlock {
  readonly id: number;
  /** Byte offsets in the memory. */
  readonly from: number;
  to: number;
  /** Bytes that are written. */
  byteCount: number;
  pinCount: number;
  /** False while it is being written. */
  isReady: boolean;
  /** Whether it was used since the write position last passed it. */
  isRecent: boolean;
}

/** A shard in the cache's memory, built from documents that no live shard has. */
export interface CachedShard extends CachedBlock {
  readonly repositoryId: number;
  /** What it depends on beside the commits: with others, the same blob has another document. */
  readonly contents: string;
  /** Number of its documents whose blob is missing from the mirror. */
  missingCount: number;
  /** The value of its symbols; it may be dropped before the shard. */
  symbols: CachedBlock | undefined;
}

/** Cached information about commits of one repository: which documents of which shards they have. */
export interface RevisionBatch {
  readonly repositoryId: number;
  /** See `filesKey`. */
  readonly files: string;
  /** The number of a commit is its index. */
  readonly commits: readonly string[];
  readonly setStarts: Uint32Array;
  readonly setRanges: Uint32Array;
  readonly live: readonly { readonly id: number; readonly sets: Uint32Array }[];
  readonly cached: readonly { readonly shard: CachedShard; readonly sets: Uint32Array }[];
}

/** Ids of cached blocks start here, far above those of live ones. */
const firstCachedId = 2 ** 31;

/** Batches may use at most this fraction of the memory for shards, in addition to it. */
const batchBytesShare = 1 / 8;

/** The symbols of one shard may use at most this fraction of it. */
const symbolBytesShare = 1 / 8;

/**
 * Documents of revisions that are not indexed, cached between searches, and their symbols.
 *
 * Their shards are in one piece of shared memory, whose size is the limit of this cache: workers read and write it, and
 * the main thread only manages its layout. A new block is placed in the next free space of a ring. Blocks in that space
 * are dropped, unless a search has pinned them or they were used since the write position last passed them. Memory
 * allocated and freed through the garbage collectors of many threads would have no effective limit.
 */
export class RevisionCache {
  readonly arena: SharedArrayBuffer;
  /** Ordered by position. */
  #blocks: CachedBlock[] = [];
  /** Those of the blocks that are shards. */
  readonly #shards = new Map<CachedBlock, CachedShard>();
  #head = 0;
  #nextId = firstCachedId;
  /** By repository, its files and commits. */
  readonly #batches: BoundedMap<string, { readonly batch: RevisionBatch; readonly bytes: number }>;
  #waiting: (() => void)[] = [];

  constructor(byteCount: number) {
    this.arena = new SharedArrayBuffer(byteCount);
    this.#batches = new BoundedMap(byteCount * batchBytesShare, ({ bytes }) => bytes);
  }

  /** Blocks in the arena, and batches. */
  get sizes(): { readonly blocks: number; readonly batches: number } {
    return { blocks: this.#blocks.length, batches: this.#batches.size };
  }

  /** Shards with documents of the repository that are ready to be read. */
  cachedShards(repositoryId: number, contents: string): CachedShard[] {
    return [...this.#shards.values()]
      .filter((shard) => shard.repositoryId === repositoryId && shard.contents === contents && shard.isReady)
      .sort((a, b) => a.from - b.from);
  }

  /** The value of the symbols of a shard; undefined if it is not in memory. */
  symbolsOf({ symbols }: CachedShard): CachedBlock | undefined {
    return symbols !== undefined && this.#blocks.includes(symbols) ? symbols : undefined;
  }

  /** Allocates space for a shard of up to `byteCount` bytes, pinned once; undefined if all space is in use. */
  reserve(repositoryId: number, contents: string, byteCount: number): CachedShard | undefined {
    const block = this.#allocate(byteCount);
    if (block === undefined) return undefined;
    const shard = Object.assign(block, { repositoryId, contents, missingCount: 0, symbols: undefined });
    this.#shards.set(block, shard);
    return shard;
  }

  /** Like `reserve`, for the symbols of a shard, which must be pinned. Undefined also if they are too large. */
  reserveSymbols(byteCount: number): CachedBlock | undefined {
    return byteCount > this.arena.byteLength * symbolBytesShare ? undefined : this.#allocate(byteCount);
  }

  #allocate(byteCount: number): CachedBlock | undefined {
    const size = Math.ceil(byteCount / 8) * 8;
    assert(size <= this.arena.byteLength, "a kept shard fits into the cache");
    const from = this.#findRoom(size);
    if (from === undefined) return undefined;
    const to = from + size;
    const block = { id: this.#nextId++, from, to, byteCount: 0, pinCount: 1, isReady: false, isRecent: true };
    for (const other of this.#blocks) if (other.to > from && other.from < to) this.#shards.delete(other);
    this.#blocks = [...this.#blocks.filter((other) => other.to <= from || other.from >= to), block].sort(
      (a, b) => a.from - b.from,
    );
    this.#head = to;
    return block;
  }

  /** Records that the block has been written, and its size. */
  settle(block: CachedBlock, byteCount: number): void {
    const end = block.from + Math.ceil(byteCount / 8) * 8;
    if (this.#head === block.to) this.#head = end;
    block.to = end;
    block.byteCount = byteCount;
    block.isReady = true;
  }

  pin(blocks: readonly CachedBlock[]): void {
    for (const block of blocks) {
      block.pinCount++;
      block.isRecent = true;
    }
  }

  /** A block that has not been written is dropped. */
  unpin(blocks: readonly CachedBlock[]): void {
    for (const block of blocks) {
      block.pinCount--;
      assert(block.pinCount >= 0, "a block is released as often as it is pinned");
      if (block.isReady) continue;
      this.#blocks = this.#blocks.filter((other) => other !== block);
      this.#shards.delete(block);
    }
    // The same memory is used again where nothing is cached.
    if (this.#blocks.length === 0) this.#head = 0;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Resolves when a block is released. */
  released(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /**
   * The information found earlier for these commits, if its shards still exist; `isLive` tells whether a live shard
   * does.
   */
  findBatch(
    repositoryId: number,
    files: string,
    commits: readonly string[],
    isLive: (shardId: number) => boolean,
  ): RevisionBatch | undefined {
    const key = batchKey(repositoryId, files, commits);
    const batch = this.#batches.get(key)?.batch;
    if (
      batch?.live.every(({ id }) => isLive(id)) === true &&
      batch.cached.every(({ shard }) => this.#shards.has(shard))
    )
      return batch;
    this.#batches.delete(key);
    return undefined;
  }

  /** `commits` are the requested ones: the batch may cover fewer. */
  storeBatch(commits: readonly string[], batch: RevisionBatch): void {
    const key = batchKey(batch.repositoryId, batch.files, commits);
    this.#batches.set(key, { batch, bytes: batchBytes(key, batch) });
  }

  /** Goes around the ring at most twice: the first time, recently used blocks are kept and marked as not recent. */
  #findRoom(size: number): number | undefined {
    let at = this.#head;
    for (let lap = 0; lap <= 2; ) {
      if (at + size > this.arena.byteLength) {
        at = 0;
        lap++;
        continue;
      }
      const blocker = this.#blocks.find(
        (block) => block.from < at + size && block.to > at && (block.pinCount > 0 || block.isRecent),
      );
      if (blocker === undefined) return at;
      blocker.isRecent = false;
      at = blocker.to;
    }
    return undefined;
  }
}

function batchKey(repositoryId: number, files: string, commits: readonly string[]): string {
  return `${repositoryId} ${files} ${[...commits].sort().join(" ")}`;
}

function batchBytes(key: string, { setStarts, setRanges, live, cached: kept }: RevisionBatch): number {
  return [...live, ...kept].reduce(
    (sum, { sets }) => sum + sets.byteLength,
    2 * key.length + setStarts.byteLength + setRanges.byteLength,
  );
}
