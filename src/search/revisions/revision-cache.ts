import { assert } from "../../base/assert.js";
import { BoundedMap } from "../../base/bounded-map.js";

/** A shard in the cache's memory, built from documents that no live shard has. */
export interface CachedShard {
  readonly id: number;
  readonly repositoryId: number;
  /** Byte offsets in the memory. */
  readonly from: number;
  to: number;
  pinCount: number;
  /** False while it is being built. */
  isReady: boolean;
  /** Whether it was used since the write position last passed it. */
  isRecent: boolean;
  /** Number of its documents whose blob is missing from the mirror. */
  missingCount: number;
}

/** Cached information about commits of one repository: which documents of which shards they have. */
export interface RevisionBatch {
  readonly repositoryId: number;
  /** The number of a commit is its index. */
  readonly commits: readonly string[];
  readonly setStarts: Uint32Array;
  readonly setRanges: Uint32Array;
  readonly live: readonly { readonly id: number; readonly sets: Uint32Array }[];
  readonly cached: readonly { readonly shard: CachedShard; readonly sets: Uint32Array }[];
}

/** Ids of cached shards start here, far above those of live ones. */
const firstCachedId = 2 ** 31;

/** Batches may use at most this fraction of the memory for shards, in addition to it. */
const batchBytesShare = 1 / 8;

/**
 * Documents of revisions that are not indexed, cached between searches.
 *
 * Their shards are in one block of shared memory, whose size is the limit of this cache: workers read and write it, and
 * the main thread only manages its layout. A new shard is placed in the next free space of a ring. Shards in that space
 * are dropped, unless a search has pinned them or they were used since the write position last passed them. Memory
 * allocated and freed through the garbage collectors of many threads would have no effective limit.
 */
export class RevisionCache {
  readonly arena: SharedArrayBuffer;
  /** Ordered by position. */
  #shards: CachedShard[] = [];
  #head = 0;
  #nextId = firstCachedId;
  /** By repository and commits. */
  readonly #batches: BoundedMap<string, { readonly batch: RevisionBatch; readonly bytes: number }>;
  #waiting: (() => void)[] = [];

  constructor(byteCount: number) {
    this.arena = new SharedArrayBuffer(byteCount);
    this.#batches = new BoundedMap(byteCount * batchBytesShare, ({ bytes }) => bytes);
  }

  /** Shards with documents of the repository that are ready to be read. */
  cachedShards(repositoryId: number): CachedShard[] {
    return this.#shards.filter((shard) => shard.repositoryId === repositoryId && shard.isReady);
  }

  /** Allocates space for a shard of up to `byteCount` bytes, pinned once; undefined if all space is in use. */
  reserve(repositoryId: number, byteCount: number): CachedShard | undefined {
    const size = Math.ceil(byteCount / 8) * 8;
    assert(size <= this.arena.byteLength, "a kept shard fits into the cache");
    const from = this.#findRoom(size);
    if (from === undefined) return undefined;
    const shard: CachedShard = {
      id: this.#nextId++,
      repositoryId,
      from,
      to: from + size,
      pinCount: 1,
      isReady: false,
      isRecent: true,
      missingCount: 0,
    };
    this.#shards = [...this.#shards.filter((other) => other.to <= from || other.from >= shard.to), shard].sort(
      (a, b) => a.from - b.from,
    );
    this.#head = shard.to;
    return shard;
  }

  /** Records that the shard has been built, and its size. */
  settle(shard: CachedShard, byteCount: number): void {
    const end = shard.from + Math.ceil(byteCount / 8) * 8;
    if (this.#head === shard.to) this.#head = end;
    shard.to = end;
    shard.isReady = true;
  }

  pin(shards: readonly CachedShard[]): void {
    for (const shard of shards) {
      shard.pinCount++;
      shard.isRecent = true;
    }
  }

  /** A shard that has not been built is dropped. */
  unpin(shards: readonly CachedShard[]): void {
    for (const shard of shards) {
      shard.pinCount--;
      assert(shard.pinCount >= 0, "a shard is released as often as it is pinned");
      if (!shard.isReady) this.#shards = this.#shards.filter((other) => other !== shard);
    }
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Resolves when a shard is released. */
  released(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /**
   * The information found earlier for these commits, if its shards still exist; `isLive` tells whether a live shard
   * does.
   */
  findBatch(
    repositoryId: number,
    commits: readonly string[],
    isLive: (shardId: number) => boolean,
  ): RevisionBatch | undefined {
    const key = batchKey(repositoryId, commits);
    const batch = this.#batches.get(key)?.batch;
    if (
      batch?.live.every(({ id }) => isLive(id)) === true &&
      batch.cached.every(({ shard }) => this.#shards.includes(shard))
    )
      return batch;
    this.#batches.delete(key);
    return undefined;
  }

  /** `commits` are the requested ones: the batch may cover fewer. */
  storeBatch(commits: readonly string[], batch: RevisionBatch): void {
    const key = batchKey(batch.repositoryId, commits);
    this.#batches.set(key, { batch, bytes: batchBytes(key, batch) });
  }

  /** Goes around the ring at most twice: the first time, recently used shards are kept and marked as not recent. */
  #findRoom(size: number): number | undefined {
    let at = this.#head;
    for (let lap = 0; lap <= 2; ) {
      if (at + size > this.arena.byteLength) {
        at = 0;
        lap++;
        continue;
      }
      const blocker = this.#shards.find(
        (shard) => shard.from < at + size && shard.to > at && (shard.pinCount > 0 || shard.isRecent),
      );
      if (blocker === undefined) return at;
      blocker.isRecent = false;
      at = blocker.to;
    }
    return undefined;
  }
}

function batchKey(repositoryId: number, commits: readonly string[]): string {
  return `${repositoryId} ${[...commits].sort().join(" ")}`;
}

function batchBytes(key: string, { setStarts, setRanges, live, cached: kept }: RevisionBatch): number {
  return [...live, ...kept].reduce(
    (sum, { sets }) => sum + sets.byteLength,
    2 * key.length + setStarts.byteLength + setRanges.byteLength,
  );
}
