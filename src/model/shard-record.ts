/** Why ctags has found no symbols in a text; each completes the sentence "ctags …". */
export const symbolFaults = {
  time: "took too long",
  crash: "crashed",
  garbage: "wrote something other than symbols",
  output: "wrote too much",
} as const;

export type SymbolFault = keyof typeof symbolFaults;

export function isSymbolFault(word: string): word is SymbolFault {
  return Object.hasOwn(symbolFaults, word);
}

/** A file whose symbols are missing. */
export interface SymbolFailure {
  readonly repositoryId: number;
  readonly path: string;
  readonly fault: SymbolFault;
}

/** The catalog's record of a live shard. */
export interface ShardRecord {
  readonly id: number;
  /**
   * The checksum of the shard's header, which covers the checksums of its sections: it identifies the shard. Records
   * written by older programs do not have it.
   */
  readonly checksum?: number;
  /** In a fleet with a database: the SHA-256 of the stored value, by which all nodes find it. */
  readonly object?: string;
  /** Size of the stored value in bytes. */
  readonly storedBytes: number;
  readonly contentBytes: number;
  readonly documentCount: number;
  /** By repository number in the shard: the repository's id, or 0 if its documents in this shard are hidden. */
  readonly repositoryIds: readonly number[];
  /** Undefined while the shard has no symbols. */
  readonly symbols?: SymbolRecord;
}

/** The symbols of a shard, which are stored beside it. */
export interface SymbolRecord {
  /** Identifies the stored value. */
  readonly checksum: number;
  /** In a fleet with a database: the SHA-256 of the stored value. */
  readonly object?: string;
  readonly storedBytes: number;
  readonly symbolCount: number;
  /** Texts from which no symbols could be extracted. */
  readonly failedCount: number;
  /** The first of them. Records that older programs have written do not have it. */
  readonly failures?: readonly SymbolFailure[];
  /** The program that found them: with another one, they are extracted again. */
  readonly producer: string;
}

/** Identifies the stored shard that the catalog refers to. */
export type StoredShard = Pick<ShardRecord, "id" | "checksum">;

/** A live shard as a search sees it. Immutable; a change creates a new one. */
export interface LiveShard {
  readonly record: ShardRecord;
  /** The highest star count of its repositories. */
  readonly stars: number;
  /** `encodeSummaries` of its repositories. */
  readonly summaries: Uint8Array;
  /** One bit per document, set if it is invisible, in shared memory; undefined if there are none. */
  readonly tombstones: Uint32Array | undefined;
  readonly tombstoneCount: number;
}
