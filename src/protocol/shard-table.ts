import type { LiveShard } from "../model/shard-record.js";

/**
 * The words of one shard's entry. The table starts with one word for the number of entries, then the entries. Offsets
 * are in words from the start of the table; two equal offsets mean that there is no value.
 */
const entryWords = {
  id: 0,
  verified: 1,
  summariesFrom: 2,
  summariesTo: 3,
  tombstonesFrom: 4,
  tombstonesTo: 5,
  column: 6,
  checksum: 7,
  symbols: 8,
} as const;
const entryWordCount = 9;

/**
 * Stands for a checksum that is not in the catalog. If the checksum of a shard happens to have this value, it is not
 * compared with the catalog.
 */
const unknownChecksum = 0;

/** Stands for a shard without symbols. Symbols whose checksum happens to have this value are extracted and not used. */
const noSymbols = 0;

/** The parts of a shard that are verified separately: the content, everything else, and its symbols. */
export type ShardPart = "index" | "content" | "symbols";

/** The flag of each part that was verified. */
const verifiedMarks: Readonly<Record<ShardPart, number>> = { index: 1, content: 2, symbols: 4 };

/** The layout of a `verified` word: flags in the lowest bits; above them the fault count when they were set. */
const markBits = 3;
const marksMask = 2 ** markBits - 1;
const faultsKnown = 2 ** (32 - markBits);

/**
 * The live shards of one generation as searches see them, in one block of shared memory, so the size of a worker task
 * does not depend on the number of shards.
 *
 * Immutable except for the flags of verified parts, which all threads set.
 */
export class ShardTable {
  readonly memory: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly count: number;
  #columns: Int32Array | undefined;

  constructor(memory: SharedArrayBuffer) {
    this.memory = memory;
    this.#words = new Int32Array(memory);
    this.count = this.#words[0];
  }

  /** Copies flags from `former`, so that verified parts are not verified again. */
  static of(
    shards: readonly LiveShard[],
    former: ShardTable | undefined,
    filterColumn: (shardId: number) => number,
  ): ShardTable {
    const headWords = 1 + shards.length * entryWordCount;
    const wordCount = shards.reduce(
      (sum, { summaries, tombstones }) => sum + summaries.length / 4 + (tombstones?.length ?? 0),
      headWords,
    );
    const words = new Int32Array(new SharedArrayBuffer(wordCount * 4));
    const formerRows = former === undefined ? undefined : former.#rowsById();
    words[0] = shards.length;
    let at = headWords;
    // Copies bytes: creating a view of words over each of 100,000 summaries would take longer than copying them.
    const bytes = new Uint8Array(words.buffer);
    const append = (more: Uint8Array): number => {
      bytes.set(more, at * 4);
      at += more.length / 4;
      return at;
    };
    shards.forEach(({ record, summaries, tombstones }, i) => {
      const entry = 1 + i * entryWordCount;
      words[entry + entryWords.id] = record.id;
      words[entry + entryWords.verified] =
        former === undefined ? 0 : former.#marks(formerRows?.get(record.id), record.symbols?.checksum);
      words[entry + entryWords.column] = filterColumn(record.id);
      words[entry + entryWords.checksum] = record.checksum ?? unknownChecksum;
      words[entry + entryWords.symbols] = record.symbols?.checksum ?? noSymbols;
      words[entry + entryWords.summariesFrom] = at;
      words[entry + entryWords.summariesTo] = append(summaries);
      words[entry + entryWords.tombstonesFrom] = at;
      words[entry + entryWords.tombstonesTo] =
        tombstones === undefined
          ? at
          : append(new Uint8Array(tombstones.buffer, tombstones.byteOffset, tombstones.byteLength));
    });
    return new ShardTable(words.buffer as SharedArrayBuffer);
  }

  shardId(row: number): number {
    return this.#word(row, entryWords.id);
  }

  /** The checksum of the shard's header; undefined if it is not in the catalog. */
  checksum(row: number): number | undefined {
    const checksum = this.#word(row, entryWords.checksum) >>> 0;
    return checksum === unknownChecksum ? undefined : checksum;
  }

  /** The checksum of the shard's symbols; undefined if it has none. */
  symbols(row: number): number | undefined {
    const checksum = this.#word(row, entryWords.symbols) >>> 0;
    return checksum === noSymbols ? undefined : checksum;
  }

  /** The shard's column in the filter, or `noColumn`. */
  filterColumn(row: number): number {
    return this.#word(row, entryWords.column);
  }

  /** Those of all rows, one after the other. */
  get filterColumns(): Int32Array {
    if (this.#columns === undefined) {
      this.#columns = new Int32Array(this.count);
      for (let row = 0; row < this.count; row++) this.#columns[row] = this.filterColumn(row);
    }
    return this.#columns;
  }

  /** The summaries of the shard's repositories, as written by `encodeSummaries`. */
  repositorySummaries(row: number): Uint8Array {
    const from = this.#word(row, entryWords.summariesFrom);
    return new Uint8Array(this.memory, from * 4, (this.#word(row, entryWords.summariesTo) - from) * 4);
  }

  /** One bit per document, set if the document is invisible; undefined if the shard has no tombstones. */
  tombstones(row: number): Uint32Array | undefined {
    const from = this.#word(row, entryWords.tombstonesFrom);
    const to = this.#word(row, entryWords.tombstonesTo);
    return from === to ? undefined : new Uint32Array(this.memory, from * 4, to - from);
  }

  /** True if the part was verified at this fault count of the store. */
  isVerified(row: number, part: ShardPart, faultCount: number): boolean {
    const word = Atomics.load(this.#words, 1 + row * entryWordCount + entryWords.verified);
    return word >>> markBits === faultCount % faultsKnown && (word & verifiedMarks[part]) !== 0;
  }

  /** Records that the part was verified. `faultCount` is the count of the store before the verification. */
  setVerified(row: number, part: ShardPart, faultCount: number): void {
    const at = 1 + row * entryWordCount + entryWords.verified;
    const word = Atomics.load(this.#words, at);
    const faults = faultCount % faultsKnown;
    const marks = word >>> markBits === faults ? (word & marksMask) | verifiedMarks[part] : verifiedMarks[part];
    // If another thread has changed the word, its flags remain, and this part is verified again later.
    Atomics.compareExchange(this.#words, at, word, (faults << markBits) | marks);
  }

  #word(row: number, word: number): number {
    return this.#words[1 + row * entryWordCount + word];
  }

  #rowsById(): Map<number, number> {
    const rows = new Map<number, number>();
    for (let row = 0; row < this.count; row++) rows.set(this.shardId(row), row);
    return rows;
  }

  /** The flags of the parts that stay verified: a shard never changes, but its symbols may be replaced by others. */
  #marks(row: number | undefined, symbols: number | undefined): number {
    if (row === undefined) return 0;
    const word = this.#word(row, entryWords.verified);
    return this.symbols(row) === symbols ? word : word & ~verifiedMarks.symbols;
  }
}
