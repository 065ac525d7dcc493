/** Literals of at least some length, which are found by hashing windows of the text; made by `makePatternTable`. */
export interface WindowGroup {
  /** 1 to 8. */
  readonly windowBytes: number;
  /** A window of the text is hashed at each multiple of this; the tables have as many windows of each literal. */
  readonly stride: number;
  /**
   * The upper bits of the hash of a window choose a word, in which it has two bits (`filterBits`). The number of words is a
   * power of two.
   */
  readonly filter: Uint32Array;
  /** By fewer upper bits of the hash: the first entry of the bucket. One more than a power of two. */
  readonly buckets: Uint32Array;
  /** Pairs (literal, offset of the window in it); in a bucket, of a literal the larger offsets first. */
  readonly entries: Uint32Array;
  /** The number of entries of the largest bucket: `hits` must have room for as many. */
  readonly bucketMax: number;
}

/** Literals that are searched for together. All arrays may be in shared memory. */
export interface PatternTable {
  /** If true, the literals are in ASCII lower case, and A-Z in the text match a-z. */
  readonly foldAscii: boolean;
  /** Literal i is `[starts[i], starts[i + 1])` of `literals`; none is empty, all are different. */
  readonly literals: Uint8Array;
  readonly starts: Uint32Array;
  readonly groups: readonly WindowGroup[];
  readonly trigrams: TrigramSets;
}

/** The trigrams of each literal that are looked up in an index. */
export interface TrigramSets {
  /** All of them, ascending. */
  readonly keys: Uint32Array;
  /** Literal i has `numbers[starts[i]]` to before `numbers[starts[i + 1]]`, indexes of `keys`; a short one has none. */
  readonly starts: Uint32Array;
  readonly numbers: Uint32Array;
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

/** The methods of a kernel that search for many literals in one pass. */
export interface PatternKernel {
  /**
   * Finds the occurrences of the literals of one group that start inside the ranges, which are as for `scan`. Of each
   * literal the leftmost, without overlap; those of different literals may overlap.
   *
   * Writes triples (`start`, `end`, literal) to `hits`, for each literal ascending. `ends[literal]` is where its last
   * occurrence ends; the caller sets all to 0 before the first text. `cursor` is (range index, next position, triples in
   * `hits`, work), all 0 at first. Returns true when all ranges are done; false after about `workMax` of work, or when
   * the literals of the next window may not fit into `hits`, for which the caller provides more room or consumes them.
   *
   * Work is counted in bytes of the text, comparisons, and equal bytes; `cursor[3]` is that of the ranges with the `end`
   * of the current one.
   */
  scanWindows(scan: WindowScan): boolean;

  /**
   * Sets the bits of the units in which some literal can start: those that are in the posting lists of its trigrams.
   * The lists are as for `findLists` and `unitsOfLists`. Sets `totals` to the number of literals whose trigrams the
   * shard has, and the bytes of the shortest list of each. Returns false, with unspecified bits, if a literal has no
   * trigrams, or if those bytes are more than `costMax`.
   */
  unitsOfPatterns(
    keys: Uint32Array,
    starts: Uint32Array,
    postings: Uint8Array,
    sets: TrigramSets,
    costMax: number,
    units: Uint32Array,
    totals: Uint32Array,
  ): boolean;

  /** Sorts triples (start, end, label): by start, then the longer first, then by label. */
  sortLabels(labels: Uint32Array, count: number): void;
}
