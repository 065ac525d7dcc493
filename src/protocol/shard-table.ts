import type { LiveShard } from "../model/shard-record.js";

/**
 * Words of one shard's entry; the entries follow a word with their count. Offsets are in words from the start; equal
 * offsets mean no value.
 */
const entryWords = {
  id: 0,
  verified: 1,
  cardsFrom: 2,
  cardsTo: 3,
  tombstonesFrom: 4,
  tombstonesTo: 5,
  column: 6,
  checksum: 7,
} as const;
const entryWordCount = 8;

/**
 * Represents a checksum that the catalog does not know. For a shard whose checksum has this value, only the checksum is
 * not compared.
 */
const unknownChecksum = 0;

/** Parts of a shard that are verified separately: the text, and everything else. */
export type ShardPart = "index" | "content";

/** Marks of the parts that were verified. */
const verifiedMarks: Readonly<Record<ShardPart, number>> = { index: 1, content: 2 };

/** The word of flags: the flags are in the lowest bits, and the number of faults at which they were set above them. */
const markBits = 2;
const marksMask = 2 ** markBits - 1;
const faultsKnown = 2 ** (32 - markBits);

/**
 * The live shards of one generation as searches see them, in one block of shared memory: a worker task contains a
 * reference to it, regardless of the number of shards.
 *
 * Immutable except for the flags of verified checksums, which all threads set.
 */
export class ShardTable {
  readonly memory: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly count: number;

  constructor(memory: SharedArrayBuffer) {
    this.memory = memory;
    this.#words = new Int32Array(memory);
    this.count = this.#words[0];
  }

  /** Flags are copied from `former`, so that verified checksums need not be verified again. `columns`: by shard id. */
  static of(
    shards: readonly LiveShard[],
    former: ShardTable | undefined,
    filterColumn: (shardId: number) => number,
  ): ShardTable {
    const headWords = 1 + shards.length * entryWordCount;
    const wordCount = shards.reduce(
      (sum, { cards, tombstones }) => sum + cards.length / 4 + (tombstones?.length ?? 0),
      headWords,
    );
    const words = new Int32Array(new SharedArrayBuffer(wordCount * 4));
    const verified = former === undefined ? new Map<number, number>() : former.#marks();
    words[0] = shards.length;
    let at = headWords;
    // Copies bytes, because creating a view of words over each of 100,000 summaries would take longer than copying
    // them.
    const bytes = new Uint8Array(words.buffer);
    const append = (more: Uint8Array): number => {
      bytes.set(more, at * 4);
      at += more.length / 4;
      return at;
    };
    shards.forEach(({ record, cards, tombstones }, i) => {
      const entry = 1 + i * entryWordCount;
      words[entry + entryWords.id] = record.id;
      words[entry + entryWords.verified] = verified.get(record.id) ?? 0;
      words[entry + entryWords.column] = filterColumn(record.id);
      words[entry + entryWords.checksum] = record.checksum ?? unknownChecksum;
      words[entry + entryWords.cardsFrom] = at;
      words[entry + entryWords.cardsTo] = append(cards);
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

  /** The checksum of the shard's header; undefined if the catalog does not know it. */
  checksum(row: number): number | undefined {
    const checksum = this.#word(row, entryWords.checksum) >>> 0;
    return checksum === unknownChecksum ? undefined : checksum;
  }

  /** The shard's column in the filter, or `noColumn`. */
  filterColumn(row: number): number {
    return this.#word(row, entryWords.column);
  }

  /** `encodeSummaries` of the shard's repositories. */
  repositorySummaries(row: number): Uint8Array {
    const from = this.#word(row, entryWords.cardsFrom);
    return new Uint8Array(this.memory, from * 4, (this.#word(row, entryWords.cardsTo) - from) * 4);
  }

  /** One bit per document, set if it is invisible; undefined if there are none. */
  tombstones(row: number): Uint32Array | undefined {
    const from = this.#word(row, entryWords.tombstonesFrom);
    const to = this.#word(row, entryWords.tombstonesTo);
    return from === to ? undefined : new Uint32Array(this.memory, from * 4, to - from);
  }

  /** Whether the part was verified when the store had had `faultCount` faults. */
  isVerified(row: number, part: ShardPart, faultCount: number): boolean {
    const word = Atomics.load(this.#words, 1 + row * entryWordCount + entryWords.verified);
    return word >>> markBits === faultCount % faultsKnown && (word & verifiedMarks[part]) !== 0;
  }

  /** `faultCount` is the count before the part was verified. */
  setVerified(row: number, part: ShardPart, faultCount: number): void {
    const at = 1 + row * entryWordCount + entryWords.verified;
    const word = Atomics.load(this.#words, at);
    const faults = faultCount % faultsKnown;
    const marks = word >>> markBits === faults ? (word & marksMask) | verifiedMarks[part] : verifiedMarks[part];
    // If another thread was faster, its mark stays, and this part is verified again.
    Atomics.compareExchange(this.#words, at, word, (faults << markBits) | marks);
  }

  #word(row: number, word: number): number {
    return this.#words[1 + row * entryWordCount + word];
  }

  #marks(): Map<number, number> {
    const marks = new Map<number, number>();
    for (let row = 0; row < this.count; row++) marks.set(this.shardId(row), this.#word(row, entryWords.verified));
    return marks;
  }
}
