import type { LiveShard } from "../model/shard-record.js";

/**
 * Words of one shard, after a word that counts the shards. Places are in words from the start, equal ones for nothing.
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
 * Stands for a checksum that the catalog does not know; of the shards that have this one, only the checksum goes
 * unchecked.
 */
const unknownChecksum = 0;

/** The word of marks: these in its lowest bits, and above them the count of faults that they are for. */
const markBits = 2;
const marksMask = 2 ** markBits - 1;
const faultsKnown = 2 ** (32 - markBits);

/**
 * What searches see of the live shards of one generation, in one piece of shared memory: a task that goes to a worker
 * carries a reference to it, however many shards there are.
 *
 * Immutable but for the marks of verified checksums, which all threads set.
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

  /** Marks of `former` are taken over, so that what was verified once stays so. `columns`: by shard id. */
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
    // Bytes: a view of words over each of 100,000 cards would take longer than copying them.
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

  /** The checksum of the shard's header; undefined when the catalog does not know it. */
  checksum(row: number): number | undefined {
    const checksum = this.#word(row, entryWords.checksum) >>> 0;
    return checksum === unknownChecksum ? undefined : checksum;
  }

  /** The shard's column of the filter, or `noColumn`. */
  filterColumn(row: number): number {
    return this.#word(row, entryWords.column);
  }

  /** `encodeCards` of the shard's repositories. */
  repositorySummaries(row: number): Uint8Array {
    const from = this.#word(row, entryWords.cardsFrom);
    return new Uint8Array(this.memory, from * 4, (this.#word(row, entryWords.cardsTo) - from) * 4);
  }

  /** Bit per document that is invisible; undefined when there is none. */
  tombstones(row: number): Uint32Array | undefined {
    const from = this.#word(row, entryWords.tombstonesFrom);
    const to = this.#word(row, entryWords.tombstonesTo);
    return from === to ? undefined : new Uint32Array(this.memory, from * 4, to - from);
  }

  /** Whether the checksums that `mark` stands for were found right when the store had had so many faults. */
  isVerified(row: number, mark: number, faultCount: number): boolean {
    const word = Atomics.load(this.#words, 1 + row * entryWordCount + entryWords.verified);
    return word >>> markBits === faultCount % faultsKnown && (word & mark) !== 0;
  }

  /** `faultCount`: from before they were looked at. */
  setVerified(row: number, mark: number, faultCount: number): void {
    const at = 1 + row * entryWordCount + entryWords.verified;
    const word = Atomics.load(this.#words, at);
    const faults = faultCount % faultsKnown;
    const marks = word >>> markBits === faults ? (word & marksMask) | mark : mark;
    // When another thread was faster, its mark stays, and this one is found out again.
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
