/**
 * The three hot loops behind one interface: scanning text for a literal, building posting lists, and writing matches
 * as JSON bytes. `native-kernel.ts` calls the C++ addon, `portable.ts` is the same in plain TypeScript; property tests
 * compare the two.
 *
 * Contract, for every method:
 * - All positions and lengths are byte offsets into the `Uint8Array` given, never relative to its `ArrayBuffer`.
 * - Nothing is retained after the call returns; arguments may be views over an LMDB map and are only read, except the
 *   output arrays, which are written from the index given.
 * - No method allocates in proportion to the text; `buildPostings` is the exception and says how much.
 *
 * Caller guarantees: ranges lie within the text, `from <= to`, capacities are what the array lengths say.
 */
export interface Kernel {
  readonly name: "native" | "ts";

  /**
   * Finds occurrences of `needle` that start inside the ranges.
   *
   * `ranges` holds triples (`from`, `to`, `end`): a match starts in `[from, to)` and ends at or before `end`. Ranges
   * are sorted by `from` and do not overlap. Matches are leftmost and non-overlapping, also across two ranges that
   * share an `end` (the same content). With `foldAscii` the needle is given ASCII-lowered, and A-Z in the text equal
   * a-z; other bytes compare exactly.
   *
   * Writes pairs (`start`, `end`) into `rows` until it is full. `cursor` is (range index, next start position, pairs in
   * `rows`, work): the caller zeroes it before the first call, and a later call with the same cursor continues where
   * the previous one stopped, after the pairs that `rows` holds. A caller that has removed the pairs sets `cursor[2]`
   * to 0. Returns true when all ranges are done. Returns false when `rows` is full, which may be right after the last
   * row, or when `workMax` is used up, so that the caller can check whether to continue.
   *
   * Work is counted in bytes: of starts tried, of the needle compared with the text past its first 32 bytes, and of the
   * lines that are rows. `cursor[3]` is the work on ranges with the `end` of the current one, over all calls; it
   * depends on nothing else. Caller guarantees: `workMax` is at least 1.
   */
  scan(
    text: Uint8Array,
    ranges: Uint32Array,
    rangeCount: number,
    needle: Uint8Array,
    foldAscii: boolean,
    workMax: number,
    rows: Uint32Array,
    cursor: Uint32Array,
  ): boolean;

  /**
   * As `scan`, but a row is the line that holds an occurrence, without its newline: (`lineStart`, `lineEnd`), each
   * line once, in order. A line is bounded by `delimiter` (10 for content, 0 for a list of names) and by
   * `floor`..`end`, where the floor is a fourth number: here `ranges` holds quadruples (`from`, `to`, `end`,
   * `floor`). After a row the scan continues past that line, so a dense line costs one row. An occurrence that contains
   * the delimiter belongs to the line it starts on.
   */
  scanLines(
    text: Uint8Array,
    ranges: Uint32Array,
    rangeCount: number,
    needle: Uint8Array,
    foldAscii: boolean,
    delimiter: number,
    workMax: number,
    rows: Uint32Array,
    cursor: Uint32Array,
  ): boolean;

  /** Number of newline bytes (10) in `text[from, to)`. */
  countNewlines(text: Uint8Array, from: number, to: number): number;

  /** For i in [0, out.length): `out[i]` = newlines in `text[0, i * step)`, all of it within the text. */
  newlineTable(text: Uint8Array, step: number, out: Uint32Array): void;

  /**
   * Builds sorted posting lists of the trigrams of every unit.
   *
   * `units` holds pairs (`from`, `to`) in unit order, `to` including the overlap. A trigram is three consecutive
   * symbols of the class alphabet (`alphabet.ts`), packed in 21 bits. Posting list: the unit numbers that contain the
   * trigram, strictly increasing, coded as LEB128 varints of (unit - previous unit), the first as (unit + 1). Needs
   * about 4 bytes per (unit, trigram) pair and 16 MiB of tables, freed on return; 2 MiB remain allocated for the
   * thread.
   */
  buildPostings(text: Uint8Array, units: Uint32Array, unitCount: number): Postings;

  /** Number of distinct trigrams in `text[from, to)`, counted up to `limit + 1`. */
  distinctTrigrams(text: Uint8Array, from: number, to: number, limit: number): number;

  /**
   * Decodes one posting list into `out` (unit numbers) from index 0; returns the number of units. The list occupies
   * `postings[from, to)`, and `out` has room for as many numbers. Units ascend, whatever the bytes are: a list ends
   * before the first number that does not.
   */
  decodePostings(postings: Uint8Array, from: number, to: number, out: Uint32Array): number;

  /**
   * Keeps those of `units[0, count)` (sorted) that are in the posting list; in place; returns the number that remain.
   */
  intersectPostings(postings: Uint8Array, from: number, to: number, units: Uint32Array, count: number): number;

  /**
   * Writes match objects as JSON, comma-separated, into `out` from `cursor[2]`; at 0 there is no comma before the
   * first.
   *
   * `results` holds `resultWordCount` words for each, see `resultWords`. An object is
   * `{"type":"content","path":"…"HEAD,"hunks":null,"lineMatches":[…]TAIL`, where HEAD (members, each with a comma
   * before it) and TAIL (further members and the closing brace) are ranges of `fragments`, and the path is a range of
   * `paths`. A result without rows is `{"type":"path","path":"…"HEAD TAIL`. With `chunks` the elements are
   * `chunkMatches`.
   *
   * The rows of a result are pairs (start, end) of `rows`, sorted, non-overlapping, within its content. `newlines[i]` =
   * newlines in `text[0, i * newlineStep)`, up to the end of each content.
   *
   * An element of `lineMatches` is `{"line":"...","lineNumber":0-based,"offsetAndLengths":[[start,length],...]}`, start
   * and length in code points. A line that holds several rows is one element. A row that spans lines is an entry on
   * each of them, up to the end of the line for all but the last; pieces of zero length are dropped, and a line without
   * other pieces has no element. The line's text excludes "\n" but includes a "\r" before it. Bytes that are not UTF-8
   * are written as U+FFFD, one for each byte, and count as one code point. A line longer than `lineBytesMax` is cut
   * there (at a code point); entries past the cut are not changed.
   *
   * An element of `chunkMatches` is
   * `{"content":"...","contentStart":{"offset":B,"line":L,"column":0},"ranges":[{"start":
   * {"offset","line","column"},"end":{...}},...]}`, plus `,"contentTruncated":true` after the ranges when a line was
   * cut. `offset` is in bytes from the start of the content, `line` 0-based, `column` in code points. A chunk is the
   * lines of its rows plus `contextLines` before and after; chunks whose lines touch or overlap are merged, up to 1,000
   * rows (a longer run of touching lines continues in another chunk without repeated lines). Rows that share a line
   * always share a chunk. The lines of a row are those from the one that holds its start to the one that holds its end,
   * even if it ends at column 0. No newline after the last line. Lines longer than `lineBytesMax` are cut.
   *
   * `cursor` is (next result, rows of it that are written, position in `out`). Returns true when all are written, and
   * false when `out` is full, or holds `pauseAt` bytes or more after a whole result. The caller then takes `out[0,
   * cursor[2])`, sets `cursor[2]` to 0 and calls again. A result that does not fit after others is left for an empty
   * buffer; one that does not fit in an empty buffer is closed after some whole elements, and continues in another
   * object. When `cursor` did not change and `cursor[2]` is 0, not even one element fits: the caller passes a larger
   * buffer.
   */
  encodeResults(request: ResultsRequest): boolean;
}

/** Indexes of the words that describe one result of `encodeResults`. */
export const resultWords = {
  /** In `paths`. */
  pathFrom: 0,
  pathTo: 1,
  /** In `fragments`. */
  headFrom: 2,
  headTo: 3,
  tailFrom: 4,
  tailTo: 5,
  /** In `text`. */
  contentFrom: 6,
  contentTo: 7,
  /** Newlines in the text before the content. */
  linesBefore: 8,
  /** In pairs. */
  rowFrom: 9,
  rowTo: 10,
} as const;

export const resultWordCount = 11;

/** What a call of `encodeResults` writes, and where to. Later calls for the same results may take the same object. */
export interface ResultsRequest {
  /** The contents of a shard. */
  readonly text: Uint8Array;
  readonly paths: Uint8Array;
  readonly newlines: Uint32Array;
  readonly newlineStep: number;
  readonly fragments: Uint8Array;
  readonly results: Uint32Array;
  readonly resultCount: number;
  readonly rows: Uint32Array;
  readonly chunks: boolean;
  readonly contextLines: number;
  readonly lineBytesMax: number;
  out: Uint8Array;
  readonly pauseAt: number;
  readonly cursor: Uint32Array;
}

/** Posting lists of one shard: list i (of trigram keys[i]) is `bytes[offsets[i], offsets[i + 1])`. */
export interface Postings {
  /** Sorted, distinct. */
  readonly keys: Uint32Array;
  /** One longer than `keys`. */
  readonly offsets: Uint32Array;
  readonly bytes: Uint8Array;
}
