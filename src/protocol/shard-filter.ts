import { trigramAt, trigramBits } from "../native/kernel/alphabet.js";

/**
 * Number of rows (as a power of two) to which trigrams are hashed. A shard of 64 MiB of source code has about 70,000
 * distinct trigrams.
 */
const rowBits = 18;
const rowCount = 1 << rowBits;

/** Words of the memory before the rows: the number of words per row, and one row of words for each of these. */
const headRows = { known: 0, foldExceptions: 1 } as const;
const headRowCount = 2;

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
 */
export class ShardFilter {
  readonly memory: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #rowWords: number;

  constructor(memory: SharedArrayBuffer) {
    this.memory = memory;
    this.#words = new Int32Array(memory);
    this.#rowWords = this.#words[0];
  }

  static withColumns(columnCount: number): ShardFilter {
    const rowWords = columnCount >>> 5;
    const memory = new SharedArrayBuffer(4 * (1 + rowWords * (headRowCount + rowCount)));
    new Int32Array(memory)[0] = rowWords;
    return new ShardFilter(memory);
  }

  get columnCount(): number {
    return this.#rowWords * 32;
  }

  /** Number of words in a mask: bit c represents column c. */
  get maskWords(): number {
    return this.#rowWords;
  }

  isKnown(column: number): boolean {
    return (Atomics.load(this.#words, this.#wordIndex(headRows.known, column)) & (1 << (column & 31))) !== 0;
  }

  /** Clears the column, to reuse it for another shard. No thread may still use it for the previous one. */
  forget(column: number): void {
    this.#put(headRows.known, column, false);
  }

  /** Fills the column; takes 2 to 3 ms. Several threads may do this concurrently for the same shard. */
  fill(column: number, text: ShardText): void {
    const rows = new Uint8Array(rowCount);
    for (const key of text.keys) rows[hashRow(key)] = 1;
    for (let at = 0; at + 2 < text.paths.length; at++) rows[hashRow(trigramAt(text.paths, at))] = 1;
    this.#put(headRows.foldExceptions, column, text.hasFoldExceptions);
    for (let row = 0; row < rowCount; row++) this.#put(headRowCount + row, column, rows[row] === 1);
    this.#put(headRows.known, column, true);
  }

  /** Copies the columns of a smaller filter. */
  copyFrom(other: ShardFilter): void {
    // The known flags are read before the rows: a column that is known at that point has been filled completely.
    for (let row = 0; row < headRowCount + rowCount; row++) {
      for (let i = 0; i < other.#rowWords; i++) {
        this.#words[1 + row * this.#rowWords + i] = Atomics.load(other.#words, 1 + row * other.#rowWords + i);
      }
    }
  }

  /**
   * Removes from `mask` the columns of shards that cannot contain `literal`; a literal shorter than a trigram removes
   * none.
   */
  keepHolding(literal: Uint8Array, mask: Int32Array): void {
    for (let at = 0; at + 2 < literal.length; at++) {
      const word = 1 + (headRowCount + hashRow(trigramAt(literal, at))) * this.#rowWords;
      for (let i = 0; i < mask.length; i++) mask[i] &= this.#words[word + i];
    }
  }

  /**
   * Adds the columns that have not been filled and, with `foldCase`, those in which case folding reaches outside ASCII.
   */
  addUncertain(mask: Int32Array, foldCase: boolean): void {
    for (let i = 0; i < mask.length; i++) {
      const known = Atomics.load(this.#words, 1 + headRows.known * this.#rowWords + i);
      mask[i] |= ~known | (foldCase ? this.#words[1 + headRows.foldExceptions * this.#rowWords + i] : 0);
    }
  }

  /** Other threads may write other columns of the word at the same time. */
  #put(row: number, column: number, isSet: boolean): void {
    const word = this.#wordIndex(row, column);
    const bit = 1 << (column & 31);
    if (((this.#words[word] & bit) !== 0) === isSet) return;
    if (isSet) Atomics.or(this.#words, word, bit);
    else Atomics.and(this.#words, word, ~bit);
  }

  #wordIndex(row: number, column: number): number {
    return 1 + row * this.#rowWords + (column >>> 5);
  }
}

/** Multiplicative hashing (Knuth, volume 3, 6.4): the upper bits of a product with 2^32 divided by the golden ratio. */
function hashRow(key: number): number {
  return Math.imul(key << (32 - trigramBits), 0x9e3779b1) >>> (32 - rowBits);
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
