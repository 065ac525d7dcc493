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

/** The memory is one word for the number of blocks, then the blocks: a word for each row, with a bit for each column. */
const blockWords = headRowCount + rowCount;
const blockColumns = 32;

/** Number of shards with a column; further shards are always opened. The memory has at most 64 MiB. */
const columnCountMax = 2048;
const columnCountMin = 64;

/** No column: the shard cannot be ruled out. */
export const noColumn = -1;

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
 * that size stays in the processor's cache while columns are filled: in one matrix for 192 columns, that took 6 ms each.
 */
export class ShardFilter {
  readonly memory: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #blockCount: number;

  constructor(memory: SharedArrayBuffer) {
    this.memory = memory;
    this.#words = new Int32Array(memory);
    this.#blockCount = this.#words[0];
  }

  static withColumns(columnCount: number): ShardFilter {
    const blockCount = columnCount / blockColumns;
    const memory = new SharedArrayBuffer(4 * (1 + blockCount * blockWords));
    new Int32Array(memory)[0] = blockCount;
    return new ShardFilter(memory);
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
    return Int32Array.from({ length: this.#blockCount }, (_, i) =>
      Atomics.load(this.#words, wordIndex(headRows.known, i * blockColumns)),
    );
  }

  isKnown(column: number): boolean {
    return this.#has(headRows.known, column);
  }

  #has(row: number, column: number): boolean {
    return (Atomics.load(this.#words, wordIndex(row, column)) & columnBit(column)) !== 0;
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
    const rows = this.#words.subarray(wordIndex(headRowCount, column), wordIndex(headRowCount + rowCount, column));
    if (isUsed) clearOthers(rows, columnBit(column), keys, paths);
    setRows(rows, columnBit(column), keys, paths);
    this.#put(headRows.known, column, true);
  }

  /** Copies the columns of a smaller filter. */
  copyFrom(other: ShardFilter): void {
    const words = other.#words;
    for (let column = 0; column < other.columnCount; column += blockColumns) {
      const from = wordIndex(0, column);
      // Read before the rows: a column that is known at that point has been filled completely.
      const known = Atomics.load(words, from + headRows.known);
      this.#words.set(words.subarray(from, from + blockWords), from);
      this.#words[from + headRows.known] = known;
    }
  }

  /**
   * Removes from `mask` the columns of shards that cannot contain `literal`; a literal shorter than a trigram removes
   * none.
   */
  keepHolding(literal: Uint8Array, mask: Int32Array): void {
    for (let at = 0; at + 2 < literal.length; at++) {
      const word = wordIndex(headRowCount + hashRow(trigramAt(literal, at)), 0);
      for (let i = 0; i < mask.length; i++) mask[i] &= this.#words[word + i * blockWords];
    }
  }

  /**
   * Adds the columns that have not been filled and, with `foldCase`, those in which case folding reaches outside ASCII.
   */
  addUncertain(mask: Int32Array, foldCase: boolean): void {
    for (let i = 0; i < mask.length; i++) {
      const block = wordIndex(0, i * blockColumns);
      const known = Atomics.load(this.#words, block + headRows.known);
      mask[i] |= ~known | (foldCase ? this.#words[block + headRows.foldExceptions] : 0);
    }
  }

  /** Other threads may write other columns of the word at the same time. */
  #put(row: number, column: number, isSet: boolean): void {
    if (isSet) Atomics.or(this.#words, wordIndex(row, column), columnBit(column));
    else Atomics.and(this.#words, wordIndex(row, column), ~columnBit(column));
  }
}

function wordIndex(row: number, column: number): number {
  return 1 + (column >>> 5) * blockWords + row;
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
  #usedCount = 0;
  #filter = ShardFilter.withColumns(columnCountMin);

  get filter(): ShardFilter {
    return this.#filter;
  }

  /** Makes room for as many shards, so that the filter need not grow while they get their columns. */
  reserve(shardCount: number): void {
    while (this.#filter.columnCount < Math.min(shardCount, columnCountMax)) {
      if (this.#usedCount > 0) this.#grow();
      else this.#filter = ShardFilter.withColumns(2 * this.#filter.columnCount);
    }
  }

  /** The column of a live shard, which is reserved for it until `release`. */
  shardColumn(shardId: number): number {
    const known = this.#columnOf.get(shardId);
    if (known !== undefined) return known;
    const column = this.#free.pop() ?? (this.#usedCount < columnCountMax ? this.#usedCount++ : noColumn);
    if (column === noColumn) return noColumn;
    if (column >= this.#filter.columnCount) this.#grow();
    this.#columnOf.set(shardId, column);
    return column;
  }

  /** Call when the shard has been removed and is no longer being read. */
  release(shardId: number): void {
    const column = this.#columnOf.get(shardId);
    if (column === undefined) return;
    this.#columnOf.delete(shardId);
    this.#filter.forget(column);
    this.#free.push(column);
  }

  /** Running searches keep the smaller filter; columns that they fill there are filled again when next needed. */
  #grow(): void {
    const larger = ShardFilter.withColumns(2 * this.#filter.columnCount);
    larger.copyFrom(this.#filter);
    this.#filter = larger;
  }
}
