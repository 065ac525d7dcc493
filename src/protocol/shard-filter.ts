import { trigramAt, trigramBits } from "../native/kernel/alphabet.js";

/**
 * Number of rows (as a power of two) to which trigrams are hashed. A shard of 64 MiB of source code has about 70,000
 * distinct trigrams.
 */
const rowBits = 18;
const rowCount = 1 << rowBits;

/** Words of a block before its rows. */
const headRows = { known: 0, foldExceptions: 1, used: 2 } as const;
const headRowCount = 3;

/** The memory is a list of segments, each of which is blocks: a word for each row, with a bit for each column. */
const blockWords = headRowCount + rowCount;
const blockColumns = 32;

/** Columns of the smallest segment; all have a power of two times as many. */
const columnCountMin = 64;

/** Columns of the largest segment: 256 MiB. */
const segmentColumnsMax = 8192;

/** No column: the shard cannot be ruled out. */
export const noColumn = -1;

/** What threads share of a filter. */
export type FilterMemory = readonly SharedArrayBuffer[];

/** The contents of a shard, as recorded in its column. */
export interface ShardText {
  /** The trigrams of its contents. */
  readonly keys: Uint32Array;
  /** The concatenated paths, each followed by a byte that occurs in no literal. */
  readonly paths: Uint8Array;
  /** Whether a content or path contains a character that folds into ASCII from outside ASCII. */
  readonly hasFoldExceptions: boolean;
}

/**
 * Records which trigrams occur in the contents and paths of which shard: a bit matrix in shared memory with a row for
 * each trigram hash and a column for each live shard. It rules out whole shards on the main thread, so that the cost of
 * a rare literal depends on the number of shards that may contain it and not on the total number. It is a bit-sliced
 * signature file (Zobel, Moffat and Ramamohanarao, "Inverted files versus signature files for text indexing", 1998).
 *
 * A column is empty, and rules nothing out, until a worker has opened the shard and filled the column. A column
 * represents a superset of the trigrams in its shard, so a shard that is ruled out contains no match.
 *
 * The columns are divided into blocks of 1 MiB, because the rows of a shard are spread over all of a block, and one of
 * that size stays in the processor's cache while columns are filled: in one matrix for 192 columns, that took 6 ms each. So
 * the filter takes 32 KiB for each shard.
 *
 * A filter grows by further segments, and shares the former ones with the smaller filter: nothing is copied. The kernel gives a
 * segment its memory block by block, when columns are filled.
 */
export class ShardFilter {
  readonly memory: FilterMemory;
  readonly #segments: readonly Int32Array[];
  readonly #blockCount: number;

  constructor(memory: FilterMemory) {
    this.memory = memory;
    this.#segments = memory.map((segment) => new Int32Array(segment));
    this.#blockCount = this.#segments.reduce((count, { length }) => count + length / blockWords, 0);
  }

  /** With room for as many columns, which are a multiple of 32. */
  static withColumns(columnCount: number): ShardFilter {
    return new ShardFilter([]).withMore(columnCount);
  }

  /** With as many more columns. */
  withMore(columnCount: number): ShardFilter {
    return new ShardFilter([...this.memory, new SharedArrayBuffer(4 * (columnCount / blockColumns) * blockWords)]);
  }

  get columnCount(): number {
    return this.#blockCount * blockColumns;
  }

  /** Number of words in a mask: bit c represents column c. */
  get maskWords(): number {
    return this.#blockCount;
  }

  /** The columns that have been filled, as a mask. */
  knownColumns(): Int32Array {
    const known = new Int32Array(this.#blockCount);
    let at = 0;
    for (const words of this.#segments)
      for (let block = 0; block < words.length; block += blockWords)
        known[at++] = Atomics.load(words, block + headRows.known);
    return known;
  }

  isKnown(column: number): boolean {
    return this.#has(headRows.known, column);
  }

  #has(row: number, column: number): boolean {
    return (Atomics.load(this.#block(column), row) & columnBit(column)) !== 0;
  }

  /** The words of the column's block. */
  #block(column: number): Int32Array {
    let from = (column >>> 5) * blockWords;
    for (const words of this.#segments) {
      if (from < words.length) return words.subarray(from, from + blockWords);
      from -= words.length;
    }
    throw new RangeError(`the filter has no column ${column}`);
  }

  /** Clears the column, to reuse it for another shard. No thread may still use it for the previous one. */
  forget(column: number): void {
    this.#put(headRows.known, column, false);
  }

  /**
   * Fills the column. Several threads may do this concurrently for the same shard. In a column that was used before, the
   * bits of the former shard are cleared.
   */
  fill(column: number, { keys, paths, hasFoldExceptions }: ShardText): void {
    const isUsed = this.#has(headRows.used, column);
    this.#put(headRows.used, column, true);
    this.#put(headRows.foldExceptions, column, hasFoldExceptions);
    const rows = this.#block(column).subarray(headRowCount);
    if (isUsed) clearOthers(rows, columnBit(column), keys, paths);
    setRows(rows, columnBit(column), keys, paths);
    this.#put(headRows.known, column, true);
  }

  /**
   * Removes from `mask` the columns of shards that cannot contain `literal`; a literal shorter than a trigram removes
   * none.
   */
  keepHolding(literal: Uint8Array, mask: Int32Array): void {
    for (let at = 0; at + 2 < literal.length; at++) {
      const row = headRowCount + hashRow(trigramAt(literal, at));
      let i = 0;
      for (const words of this.#segments)
        for (let word = row; word < words.length; word += blockWords, i++) if (mask[i] !== 0) mask[i] &= words[word];
    }
  }

  /**
   * Adds the columns that have not been filled and, with `foldCase`, those in which case folding reaches outside ASCII.
   */
  addUncertain(mask: Int32Array, foldCase: boolean): void {
    let i = 0;
    for (const words of this.#segments)
      for (let block = 0; block < words.length; block += blockWords, i++) {
        const known = Atomics.load(words, block + headRows.known);
        mask[i] |= ~known | (foldCase ? words[block + headRows.foldExceptions] : 0);
      }
  }

  /** Other threads may write other columns of the word at the same time. */
  #put(row: number, column: number, isSet: boolean): void {
    const block = this.#block(column);
    if (isSet) Atomics.or(block, row, columnBit(column));
    else Atomics.and(block, row, ~columnBit(column));
  }
}

function columnBit(column: number): number {
  return 1 << (column & 31);
}

/** Multiplicative hashing (Knuth, volume 3, 6.4): the upper bits of a product with 2^32 divided by the golden ratio. */
function hashRow(key: number): number {
  return Math.imul(key << (32 - trigramBits), 0x9e3779b1) >>> (32 - rowBits);
}

/** Sets the bit in the rows of the trigrams, of which many occur in several paths. */
function setRows(rows: Int32Array, bit: number, keys: Uint32Array, paths: Uint8Array): void {
  for (let i = 0; i < keys.length; i++) Atomics.or(rows, hashRow(keys[i]), bit);
  for (let at = 0; at + 2 < paths.length; at++) {
    const row = hashRow(trigramAt(paths, at));
    if ((rows[row] & bit) === 0) Atomics.or(rows, row, bit);
  }
}

/** Clears the bit in all rows except those of the trigrams: another thread may have set these for the same shard. */
function clearOthers(rows: Int32Array, bit: number, keys: Uint32Array, paths: Uint8Array): void {
  const isWanted = new Uint8Array(rowCount);
  for (let i = 0; i < keys.length; i++) isWanted[hashRow(keys[i])] = 1;
  for (let at = 0; at + 2 < paths.length; at++) isWanted[hashRow(trigramAt(paths, at))] = 1;
  for (let row = 0; row < rowCount; row++)
    if (isWanted[row] === 0 && (rows[row] & bit) !== 0) Atomics.and(rows, row, ~bit);
}

/** Assigns columns to live shards, on the main thread. */
export class FilterColumns {
  readonly #columnOf = new Map<number, number>();
  readonly #free: number[] = [];
  readonly #columnCountMax: number;
  #usedCount = 0;
  #filter: ShardFilter | undefined;

  /** Shards beyond this many bytes of columns are always opened. */
  constructor(bytesMax: number) {
    this.#columnCountMax = Math.floor(bytesMax / (4 * blockWords)) * blockColumns;
  }

  get filter(): ShardFilter {
    return (this.#filter ??= ShardFilter.withColumns(Math.min(columnCountMin, this.#columnCountMax)));
  }

  /** Makes room for as many shards, so that the filter has few segments. */
  reserve(shardCount: number): void {
    if (this.#filter !== undefined) return;
    let columns = columnCountMin;
    while (columns < Math.min(shardCount, this.#columnCountMax, segmentColumnsMax)) columns *= 2;
    this.#filter = ShardFilter.withColumns(Math.min(columns, this.#columnCountMax));
  }

  /** The column of a live shard, which is reserved for it until `release`. */
  shardColumn(shardId: number): number {
    const known = this.#columnOf.get(shardId);
    if (known !== undefined) return known;
    const column = this.#free.pop() ?? (this.#usedCount < this.#columnCountMax ? this.#usedCount++ : noColumn);
    if (column === noColumn) return noColumn;
    if (column >= this.filter.columnCount) this.#grow();
    this.#columnOf.set(shardId, column);
    return column;
  }

  /** Call when the shard has been removed and is no longer being read. */
  release(shardId: number): void {
    const column = this.#columnOf.get(shardId);
    if (column === undefined) return;
    this.#columnOf.delete(shardId);
    this.filter.forget(column);
    this.#free.push(column);
  }

  /** Doubles the columns, up to the size of a segment. Running searches keep the smaller filter, whose segments are the same. */
  #grow(): void {
    const { columnCount } = this.filter;
    this.#filter = this.filter.withMore(Math.min(columnCount, segmentColumnsMax, this.#columnCountMax - columnCount));
  }
}
