/** The catalog's record of a history shard that is live. */
export interface HistoryShardRecord {
  readonly id: number;
  /** The checksum of the shard's header, which identifies the shard. */
  readonly checksum: number;
  readonly repositoryId: number;
  /** Size of the stored value in bytes. */
  readonly storedBytes: number;
  /** Bytes of distinct lines and messages. */
  readonly textBytes: number;
  readonly commitCount: number;
}

/** How much of the history of a repository is indexed. */
export interface HistoryState {
  /**
   * Oids of the commits from which everything is indexed that can be read and that the limit admits, sorted. Empty while
   * something is missing.
   */
  readonly tips: readonly string[];
  /** Commits that the indexed branches reach. */
  readonly reachableCount: number;
  /** Commits that git cannot read, and commits some of whose files it cannot read. */
  readonly brokenCount: number;
}
