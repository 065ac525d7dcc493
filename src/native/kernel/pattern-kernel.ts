/**
 * Literals that are found in one pass over a text; made by `makePatternTable`. Each has a block at some offset, of
 * `windowBytes + stride - 1` bytes. Wherever the block occurs, one of its windows begins at a multiple of the stride.
 */
export interface WindowGroup {
  /** The numbers of its literals: `[from, to)`. */
  readonly from: number;
  readonly to: number;
  /** 1 to 8. */
  readonly windowBytes: number;
  /** 1, 2, 4 or 8. */
  readonly stride: number;
  /**
   * The hashes of all windows of the blocks. The upper bits of a hash choose a word, in which it has two bits
   * (`filterBits`). The number of words is a power of two.
   */
  readonly windowFilter: Uint32Array;
  /** The hashes of the blocks (`hashBlock`), likewise. Not used if the stride is 1. */
  readonly blockFilter: Uint32Array;
  /** By fewer upper bits of the hash of the block: the first entry of the bucket. One more than a power of two. */
  readonly buckets: Uint32Array;
  /** Pairs (literal, offset of its block). */
  readonly entries: Uint32Array;
  /** The largest offset. */
  readonly offsetMax: number;
  /** The number of entries of the largest bucket: `hits` must have room for as many. */
  readonly bucketMax: number;
}

/** Literals that are searched for together. All arrays may be in shared memory. */
export interface PatternTable {
  /** If true, the literals are in ASCII lower case, and A-Z in the text match a-z. */
  readonly foldAscii: boolean;
  /** Literal i is `[starts[i], starts[i + 1])` of `literals`; none is empty, all are different, the longest come first. */
  readonly literals: Uint8Array;
  readonly starts: Uint32Array;
  /** Each literal is in one of them. */
  readonly groups: readonly WindowGroup[];
}

/** The arguments of `scanWindows`. */
export interface WindowScan {
  readonly text: Uint8Array;
  readonly ranges: Uint32Array;
  readonly rangeCount: number;
  readonly table: PatternTable;
  readonly group: WindowGroup;
  readonly workMax: number;
  readonly ends: Uint32Array;
  readonly hits: Uint32Array;
  readonly cursor: Uint32Array;
}

/** The arguments of `unitsOfPatterns`. */
export interface PatternUnits {
  readonly keys: Uint32Array;
  readonly starts: Uint32Array;
  readonly postings: Uint8Array;
  readonly table: PatternTable;
  readonly literalFrom: number;
  readonly literalTo: number;
  readonly costMax: number;
  readonly units: Uint32Array;
  readonly totals: Uint32Array;
}

/** The methods of a kernel that search for many literals in one pass. */
export interface PatternKernel {
  /**
   * Finds the occurrences of the literals of one group that start inside the ranges, which are as for `scan`. Of each
   * literal the leftmost, without overlap; those of different literals may overlap.
   *
   * Writes triples (`start`, `end`, literal) to `hits`, for each literal ascending. `ends[literal]` is where its last
   * occurrence ends; the caller sets all to 0 before the first text. `cursor` is (range index, next block, triples in
   * `hits`, work), all 0 at first. Returns true when all ranges are done; false after about `workMax` of work, or when
   * the literals of the next block may not fit into `hits`, for which the caller provides more room or consumes them.
   *
   * Work is counted in bytes of the text, comparisons, and equal bytes; `cursor[3]` is that of the ranges with the `end`
   * of the current one.
   */
  scanWindows(scan: WindowScan): boolean;

  /**
   * Sets the bits of the units in which some literal of `[literalFrom, literalTo)` can start: those that are in the posting
   * lists of its trigrams. The lists are as for `findLists` and `unitsOfLists`. Sets `totals` to the number of literals
   * whose trigrams the shard has, and the bytes of the shortest list of each. Returns false, with unspecified bits, if a
   * literal has no trigrams, if those bytes and 64 for each literal are more than `costMax`, or if a sample of the literals
   * shows that they are far more or that most units are found.
   */
  unitsOfPatterns(request: PatternUnits): boolean;

  /** Sorts triples (start, end, label): by start, then the longer first, then by label. */
  sortLabels(labels: Uint32Array, count: number): void;
}
