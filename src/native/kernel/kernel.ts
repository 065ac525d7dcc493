import type { CountRequest, DocumentTable, ListRequest } from "./document-table.js";
import type { PatternKernel } from "./pattern-kernel.js";
import type { RankingKernel } from "./ranking-kernel.js";
import type { SymbolKernel } from "./symbol-kernel.js";

/** The words of a `cursor` of the scans: `rows` counts pairs, or triples of a scan for many literals. */
export const cursorWords = { range: 0, position: 1, rows: 2, work: 3 } as const;

/**
 * The three hot loops behind one interface: scanning text for a literal, building posting lists, and writing matches
 * as JSON bytes. `native-kernel.ts` calls the C++ addon; `portable.ts` implements the same in plain TypeScript.
 * Property tests compare the two.
 *
 * Contract, for every method:
 * - All positions and lengths are in bytes, relative to the `Uint8Array` that is passed, not to its `ArrayBuffer`.
 * - Nothing is retained after the call returns. Arguments may be views over an LMDB map. Only output arrays are
 *   written, from the index that is passed.
 * - No method allocates memory in proportion to the text, except `buildPostings`, which states how much.
 *
 * Caller guarantees: ranges lie within the text, and `from <= to`. The capacity of an array is its length.
 */
export interface Kernel extends SymbolKernel, PatternKernel, RankingKernel {
  readonly name: "native" | "ts";

  /**
   * Finds occurrences of `needle` that start inside the ranges.
   *
   * `ranges` holds triples (`from`, `to`, `end`): a match starts in `[from, to)` and ends at or before `end`. Ranges
   * are sorted by `from` and do not overlap. Matches are leftmost and non-overlapping, also across two ranges that
   * share an `end` (the same content). With `foldAscii` the needle must be in ASCII lower case, and A-Z in the text
   * match a-z; other bytes are compared exactly.
   *
   * Writes pairs (`start`, `end`) into `rows` until it is full. `cursor` is (range index, next start position, pairs in
   * `rows`, work), see `cursorWords`. The caller sets it to zero before the first call. A later call with the same cursor continues where
   * the previous one stopped, and appends to the pairs in `rows`; a caller that has consumed the pairs sets `cursor[2]`
   * to 0. Returns true when all ranges are done. Returns false when `rows` is full, even if no match follows, or when
   * `workMax` is used up, so that the caller can check whether to continue.
   *
   * Work is counted in bytes: start positions tried, bytes of the needle past its first 32 that were compared with the
   * text, and bytes of the lines written as rows. `cursor[3]` is the work of all calls on ranges that share the `end`
   * of the current one; it does not depend on where calls ended. Caller guarantees: `workMax` is at least 1.
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
   * Like `scan`, but a row is the line that contains an occurrence, without its newline: (`lineStart`, `lineEnd`), each
   * line once, in order. Here `ranges` holds quadruples (`from`, `to`, `end`, `floor`): a line is bounded by
   * `delimiter` (10 for content, 0 for a list of names), and does not extend before `floor` or past `end`. After a row
   * the scan continues past that line, so a line with many occurrences costs one row. An occurrence that contains the
   * delimiter belongs to the line it starts on.
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

  /**
   * Finds where a deterministic automaton reaches its last state, which it must not leave. `table` has 256 entries for each
   * state: the state after each byte. Ranges are those of `scanLines`, each begins in state 0.
   *
   * With `byLine`, a row is the line in which that happens, without its newline, and the automaton begins again after it; the
   * caller guarantees that after a newline it is in state 0, unless it was in the last one. Otherwise a row is the (`floor`,
   * `end`) of a range. `cursor` and the result are those of `scan`, but its word of work is the state at its position. A call
   * needs memory in proportion to the work that it may do.
   */
  scanAutomaton(
    text: Uint8Array,
    ranges: Uint32Array,
    rangeCount: number,
    table: Uint16Array,
    byLine: boolean,
    workMax: number,
    rows: Uint32Array,
    cursor: Uint32Array,
  ): boolean;

  /** Number of newline bytes (10) in `text[from, to)`. */
  countNewlines(text: Uint8Array, from: number, to: number): number;

  /** Sets `out[i]` to the number of newlines in `text[0, i * step)`. These ranges must lie within the text. */
  newlineTable(text: Uint8Array, step: number, out: Uint32Array): void;

  /**
   * Builds the sorted posting lists of all trigrams in the units.
   *
   * `units` holds pairs (`from`, `to`) in unit order; `to` includes the overlap with the next unit, which is at most 64
   * bytes: together they are not longer than the text and 64 bytes for each. A trigram is three consecutive symbols of the
   * class alphabet (`alphabet.ts`), packed into 21 bits. A posting list contains the numbers of the units with the trigram,
   * strictly increasing, as LEB128 varints of (unit - previous unit); the first is (unit + 1). Needs about 4 bytes per
   * (unit, trigram) pair and 16 MiB of tables, freed on return; 2 MiB per thread remain allocated.
   */
  buildPostings(text: Uint8Array, units: Uint32Array, unitCount: number): Postings;

  /** Number of distinct trigrams in `text[from, to)`, counted up to `limit + 1`. */
  distinctTrigrams(text: Uint8Array, from: number, to: number, limit: number): number;

  /**
   * Decodes the posting list in `postings[from, to)` into unit numbers; returns how many it wrote into `out`, which
   * must have room for `to - from` numbers. The units are strictly increasing even if the bytes are corrupt: decoding
   * stops at the first number that is not.
   */
  decodePostings(postings: Uint8Array, from: number, to: number, out: Uint32Array): number;

  /**
   * Intersects the sorted `units[0, count)` with a posting list, in place; returns the number of units that remain.
   */
  intersectPostings(postings: Uint8Array, from: number, to: number, units: Uint32Array, count: number): number;

  /**
   * Finds the posting lists of the trigrams of `literal` among those of a shard: list i, of trigram `keys[i]`, is
   * `[starts[i], starts[i + 1])`. Writes their indexes into `lists`, which must have room for one per trigram: distinct,
   * the shortest list first, those of equal length in the order of the literal. Returns how many; 0 if the shard lacks
   * a trigram. Caller guarantees: `keys` are ascending, and so are `starts`.
   */
  findLists(keys: Uint32Array, starts: Uint32Array, literal: Uint8Array, lists: Uint32Array): number;

  /**
   * Decodes the first of `lists[0, listCount)` into `units`, which must have room for as many numbers as that list has
   * bytes, and intersects it with the others: up to 5, as long as a list has at most 64 bytes per remaining unit.
   * Returns the number of units. Throws a TypeError if a list does not lie within `postings`.
   */
  unitsOfLists(
    postings: Uint8Array,
    starts: Uint32Array,
    lists: Uint32Array,
    listCount: number,
    units: Uint32Array,
  ): number;

  /**
   * Writes to `out` the contents that have some of `units[0, unitCount)`, which are ascending, each once, and returns
   * how many. Content i consists of the units from `firstUnits[i]` to before `firstUnits[i + 1]`; units after the last
   * content belong to none. Throws a TypeError if `out` has no room for all of them.
   */
  contentsOfUnits(units: Uint32Array, unitCount: number, firstUnits: Uint32Array, out: Uint32Array): number;

  /**
   * Writes to `out` those of `contents[0, contentCount)` that have a visible document, and returns how many. The number
   * after the last content stands for the documents without content. A document is visible if it has no tombstone and is
   * on a searched branch of its repository. Sets `counts[0]` to the number of visible documents.
   */
  visibleContents(
    table: DocumentTable,
    contents: Uint32Array,
    contentCount: number,
    out: Uint32Array,
    counts: Uint32Array,
  ): number;

  /**
   * Lists, as the results of `encodeResults`, the visible documents whose contents have rows: `contents[0,
   * contentCount)` are ascending, and each of `rows[0, rowCount)` begins in one of them; the rows are sorted. Writes the
   * words of each result into `results` and its document into `documents`, which must have room for all of them. Sets
   * `totals` to the number of results, the number of their rows in total, and the largest number of rows of one.
   *
   * Adds the number of rows of each result to `counts`, which holds a word for each repository of the shard, then for
   * each language, then for each kind of file.
   */
  listResults(request: ListRequest): void;

  /**
   * Counts documents that are results: `found` holds pairs of a document and its number of rows, with the highest bit set if
   * its path has some. Those in `leftOut`, which ascends, are not counted. A document without rows counts as one match.
   *
   * Adds to `counts` as `listResults` does. Sets `totals` to the number of matches, of those in texts, and of documents that
   * have some in their path, or none in their text. Returns false if there are more matches than `countMax`, which is below
   * 2^32: `counts` are unspecified then.
   */
  countDocuments(request: CountRequest): boolean;

  /**
   * Writes match objects as JSON, comma-separated, into `out` from `cursor[2]`. If that is 0, no comma precedes the
   * first object.
   *
   * `results` holds `resultWordCount` words per object, see `resultWords`. An object is
   * `{"type":"content","path":"…"HEAD,"hunks":null,"lineMatches":[…]TAIL`, where HEAD (members, each preceded by a
   * comma) and TAIL (more members and the closing brace) are ranges of `fragments`, and the path is a range of `paths`.
   * A result without rows is `{"type":"path","path":"…"HEAD TAIL`. With `chunks`, an object has `chunkMatches` instead
   * of `lineMatches`.
   *
   * The rows of a result are pairs (start, end) of `rows`, sorted, non-overlapping, within its content. `newlines[i]`
   * is the number of newlines in `text[0, i * newlineStep)`; the table covers the text up to the end of each content.
   *
   * An element of `lineMatches` is `{"line":"...","lineNumber":0-based,"offsetAndLengths":[[start,length],...]}`, with
   * start and length in code points. A line with several rows is one element. A row that spans several lines has an
   * entry on each of them, which extends to the end of the line on all but the last. Empty entries are omitted, and so
   * are lines that have no other entries. The line's text excludes "\n" but includes a "\r" before it. Each byte that
   * is not part of valid UTF-8 is written as U+FFFD and counts as one code point. A line longer than `lineBytesMax` is
   * truncated at a code point; entries past that point are not changed.
   *
   * An element of `chunkMatches` is
   * `{"content":"...","contentStart":{"offset":B,"line":L,"column":0},"ranges":[{"start":
   * {"offset","line","column"},"end":{...}},...]}`, plus `,"contentTruncated":true` after the ranges if a line was
   * truncated. `offset` is in bytes from the start of the content, `line` is 0-based, `column` is in code points. A
   * chunk consists of the lines of its rows and `contextLines` lines before and after them. Chunks whose lines are
   * adjacent or overlap are merged, up to 1,000 rows; a longer run of lines continues in another chunk, without
   * repeating lines. Rows that share a line are always in the same chunk. The lines of a row are those from the line
   * that contains its start to the line that contains its end, even if it ends at column 0. The content has no newline
   * after the last line. Lines longer than `lineBytesMax` are truncated.
   *
   * With `cutsAround`, a line longer than `lineBytesMax` on which a row begins has an element of its own for each part of
   * it: at most that many bytes, a quarter of them before the row, and all following rows that end in it. Such an
   * element ends with `,"lineStart":{"byte":B,"column":C},"lineTruncated":true` or, in a chunk, with `"contentTruncated"`:
   * what precedes the part in the line, in bytes and in code points. Entries of `lineMatches` count from the part; the
   * `contentStart` of a chunk is where the part begins, and its ranges end where the part does, at the latest. A row
   * that began on an earlier line ends where the text of the line is truncated.
   *
   * With labels, an element ends with `,"patterns":[[LABEL,START,END],...]`: the labelled ranges that begin on its lines,
   * in bytes from the start of the content. Those that begin after the last row of the result are left out.
   *
   * `cursor` is (next result, rows of that result already written, position in `out`). Returns true when all results
   * are written, and false when `out` is full, or holds `pauseAt` bytes or more after a whole result. The caller then
   * consumes `out[0, cursor[2])`, sets `cursor[2]` to 0 and calls again. A result that does not fit after others waits
   * for an empty buffer. A result that does not fit in an empty buffer is closed after as many whole elements as fit,
   * and continues in another object. If `cursor` did not change and `cursor[2]` is 0, not even one element fits: the
   * caller must pass a larger buffer.
   */
  encodeResults(request: ResultsRequest): boolean;

  /**
   * Adds the matches of results to `sum`, a digest as in `result-digest.ts`: those that `encodeResults` wrote while its
   * cursor moved from (`range[0]`, `range[1]`) to (`range[2]`, `range[3]`). The 16 bytes of `fragments` before the head
   * of each result are the key of its repository and commit.
   */
  digestResults(
    paths: Uint8Array,
    fragments: Uint8Array,
    results: Uint32Array,
    resultCount: number,
    rows: Uint32Array,
    range: Uint32Array,
    sum: Uint32Array,
  ): void;

  /**
   * Writes `text[from, to)` as the inside of a JSON string into `out` from `at`: each byte that is not part of valid
   * UTF-8 as U+FFFD. Returns the position after it; if it does not fit, a number greater than the length of `out`, and
   * what `out` holds from `at` is unspecified.
   */
  writeJson(text: Uint8Array, from: number, to: number, out: Uint8Array, at: number): number;
}

/** Indexes of the words that describe one result of `encodeResults`. */
export const resultWords = {
  /** A range of `paths`. */
  pathFrom: 0,
  pathTo: 1,
  /** Ranges of `fragments`. */
  headFrom: 2,
  headTo: 3,
  tailFrom: 4,
  tailTo: 5,
  /** A range of `text`. */
  contentFrom: 6,
  contentTo: 7,
  /** Number of newlines in the text before the content. */
  linesBefore: 8,
  /** A range of `rows`, counted in pairs. */
  rowFrom: 9,
  rowTo: 10,
} as const;

export const resultWordCount = 11;

/** The arguments of `encodeResults`. Later calls for the same results may pass the same object. */
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
  /** Triples (start, end, label) of `text`, sorted as by `sortLabels`. */
  readonly labels: Uint32Array;
  /** Number of labels; 0 if matches have none. */
  readonly labelCount: number;
  /** Whether long lines are cut around their rows. */
  readonly cutsAround?: boolean;
}

/** Posting lists of one shard: list i (of trigram keys[i]) is `bytes[offsets[i], offsets[i + 1])`. */
export interface Postings {
  /** Sorted, distinct. */
  readonly keys: Uint32Array;
  /** One element longer than `keys`. */
  readonly offsets: Uint32Array;
  readonly bytes: Uint8Array;
}
