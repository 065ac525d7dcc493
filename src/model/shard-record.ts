/** What is recorded of a live shard. */
export interface ShardRecord {
  readonly id: number;
  /**
   * The checksum of the shard's header, which covers those of its sections: it tells this shard from any other. Records
   * of older programs have none.
   */
  readonly checksum?: number;
  /** Bytes of the stored value. */
  readonly storedBytes: number;
  readonly contentBytes: number;
  readonly documentCount: number;
  /** By repository number in the shard: the repository's id, or 0 when its documents here are hidden. */
  readonly repositoryIds: readonly number[];
}

/** What tells the shard of the store that the catalog means. */
export type StoredShard = Pick<ShardRecord, "id" | "checksum">;

/** A live shard as a search sees it. Immutable; a change makes a new one. */
export interface LiveShard {
  readonly record: ShardRecord;
  /** The most that one of its repositories has. */
  readonly stars: number;
  /** `encodeCards` of its repositories. */
  readonly cards: Uint8Array;
  /** Bit per document that is invisible, in shared memory; undefined when there is none. */
  readonly tombstones: Uint32Array | undefined;
  readonly tombstoneCount: number;
}
