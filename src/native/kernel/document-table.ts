/** The documents of a shard, and what a search wants of them. The arrays are those of a `ShardReader`. */
export interface DocumentTable {
  readonly contentStart: Uint32Array;
  readonly contentFirstLine: Uint32Array;
  readonly contentFirstDocument: Uint32Array;
  readonly pathStart: Uint32Array;
  readonly documentRepository: Uint32Array;
  readonly documentBranches: Uint32Array;
  readonly documentInfo: Uint32Array;
  /** One bit per document: set if it is not visible. Words that are missing are 0. */
  readonly tombstones: Uint32Array;
  /**
   * Three words for each repository of the shard: the branches that are searched, as a mask, and the head of its
   * results, as a range of the fragments.
   */
  readonly repositories: Uint32Array;
  /** Tail i, of results in language i, is the range `[tailStarts[i], tailStarts[i + 1])` of the fragments. */
  readonly tailStarts: Uint32Array;
}

export const repositoryWordCount = 3;

/** The properties of a `DocumentTable` as arguments of the addon, in the order of tableOf in documents-binding.cc. */
export function tableArguments(table: DocumentTable): readonly Uint32Array[] {
  return [
    table.contentStart,
    table.contentFirstLine,
    table.contentFirstDocument,
    table.pathStart,
    table.documentRepository,
    table.documentBranches,
    table.documentInfo,
    table.tombstones,
    table.repositories,
    table.tailStarts,
  ];
}

/** Kinds of files, for each of which `documentInfo` has a bit. */
export const fileKindBits = 8;

/** Number of words that `listResults` counts into: one for each repository, for each language, and for each file kind. */
export function countWords(table: DocumentTable): number {
  return table.repositories.length / repositoryWordCount + table.tailStarts.length - 1 + fileKindBits;
}

/** The arguments of `listResults`. */
export interface ListRequest {
  readonly table: DocumentTable;
  readonly contents: Uint32Array;
  readonly contentCount: number;
  readonly rows: Uint32Array;
  readonly rowCount: number;
  readonly results: Uint32Array;
  readonly documents: Uint32Array;
  readonly counts: Uint32Array;
  readonly totals: Uint32Array;
}

/** The arguments of `countDocuments`. */
export interface CountRequest {
  readonly table: DocumentTable;
  readonly found: Uint32Array;
  readonly leftOut: Uint32Array;
  readonly countMax: number;
  readonly counts: Uint32Array;
  readonly totals: Uint32Array;
}
