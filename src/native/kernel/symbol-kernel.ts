/** The part of the kernel that reads the records of symbols; see src/shard/symbols/FORMAT.md. */
export interface SymbolKernel {
  /**
   * Writes the names of a record, each followed by a newline, to `[outFrom, outTo)` of `out`. The text of the record is
   * `[textFrom, textTo)` of `text`. Throws a RangeError if the names have another size, or if something is beyond the
   * record or the text.
   */
  copySymbolNames(
    record: Uint8Array,
    text: Uint8Array,
    textFrom: number,
    textTo: number,
    out: Uint8Array,
    outFrom: number,
    outTo: number,
  ): void;

  /**
   * Writes to `out` the number of the kind of each symbol of the record `records[recordFrom, recordTo)` whose name begins
   * at the start of one of the rows `[rowFrom, rowTo)`, which ascend; the names of the record begin at `namesFrom`. Throws
   * a RangeError if the record is damaged, or if no name begins there.
   */
  symbolKinds(
    records: Uint8Array,
    recordFrom: number,
    recordTo: number,
    namesFrom: number,
    rows: Uint32Array,
    rowFrom: number,
    rowTo: number,
    out: Uint32Array,
  ): void;

  /**
   * Finds the symbols of the record `records[recordFrom, recordTo)` whose names are in the text, which is
   * `[textFrom, textTo)`, and contain one of the rows `[rowFrom, rowTo)`, which ascend and are disjoint. Of the first
   * `symbolsMax` names in the text, those are looked at that begin before the end of the last row. Writes four words for
   * each to `out`: where its name begins and ends in the text, the number of its kind, and the reference to its container,
   * 1 for none, otherwise 2 plus its number. Returns how many there are, at most as many as fit; of a damaged record,
   * those before the damage.
   */
  symbolsAtRows(
    records: Uint8Array,
    recordFrom: number,
    recordTo: number,
    textFrom: number,
    textTo: number,
    rows: Uint32Array,
    rowFrom: number,
    rowTo: number,
    symbolsMax: number,
    out: Uint32Array,
  ): number;

  /**
   * Writes match objects of files with symbols, like `encodeResults`: with the same `cursor`, which has
   * `symbolCursorWords` words here. The words after the third are where in the record the writing stopped; they are 0
   * if that is not known. Throws a RangeError if a record is damaged, or if no name begins at a row.
   *
   * An object is `{"type":"symbol","path":"…"HEAD,"symbols":[…]TAIL`, with at most 1,000 symbols; the others are in
   * further objects. A result without rows is `{"type":"path","path":"…"HEAD TAIL`. A row is the name of a symbol among
   * all names. An element is
   * `{"url":"LINK PATH?PLACE","name":"…","containerName":"…","kind":"KIND","line":N}`, where PATH is encoded for a URL.
   * PLACE is `L2:17-2:25`: line and columns in code points, from 1, or `L2` if the name is not in the line, or after
   * its first 10,000 bytes.
   */
  encodeSymbols(request: SymbolsRequest): boolean;
}

export const symbolCursorWords = 8;

/** Words that `symbolsAtRows` writes for each symbol. */
export const placeWordCount = 4;

/** Indexes of the words that describe one result of `encodeSymbols`. */
export const symbolResultWords = {
  /** A range of `paths`. */
  pathFrom: 0,
  pathTo: 1,
  /** Ranges of `fragments`. */
  headFrom: 2,
  headTo: 3,
  tailFrom: 4,
  tailTo: 5,
  linkFrom: 6,
  linkTo: 7,
  /** A range of `records`. */
  recordFrom: 8,
  recordTo: 9,
  /** A range of `text`. */
  textFrom: 10,
  textTo: 11,
  /** Number of newlines in `text` before that. */
  linesBefore: 12,
  /** Where the names of the record begin. */
  namesFrom: 13,
  /** A range of `rows`, counted in pairs. */
  rowFrom: 14,
  rowTo: 15,
} as const;

export const symbolResultWordCount = 16;

/** The arguments of `encodeSymbols`. Later calls for the same results may pass the same object. */
export interface SymbolsRequest {
  /** The contents of a shard. */
  readonly text: Uint8Array;
  readonly records: Uint8Array;
  readonly paths: Uint8Array;
  readonly newlines: Uint32Array;
  readonly newlineStep: number;
  readonly fragments: Uint8Array;
  /** Kind i is `[kindStarts[i], kindStarts[i + 1])` of `fragments`. */
  readonly kindStarts: Uint32Array;
  readonly results: Uint32Array;
  readonly resultCount: number;
  readonly rows: Uint32Array;
  out: Uint8Array;
  readonly pauseAt: number;
  readonly cursor: Uint32Array;
}
