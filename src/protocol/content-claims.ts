/** A content and the matches in it, as `ContentClaims` identifies them: the first words are those of the blob's oid. */
export const claimKeyWords = 5;

/** Identifies a result: the repository, the revision as typed and the path, as a hash. */
export type ClaimOwner = readonly [number, number];

/** Claims that have room, and hash buckets: 33 MiB of address space, of which only what is used takes memory. */
const claimsMax = 1 << 20;
const bucketCount = 1 << 18;

const claimWords = { key: 0, owner: claimKeyWords, next: claimKeyWords + 2 } as const;
const claimWordCount = claimKeyWords + 3;

/** Word 0 is the number of claims made, including those past the last one that has room. */
const headerWords = 1;

/**
 * Which result of a search was the first with its content and matches, in memory that all its threads share: the
 * results after it refer to it. A result keeps its claim, so that a slice which returns to a block decides as before.
 *
 * Each bucket is a list to which claims are prepended by compare-and-exchange, and never removed; a claim is written
 * before it is in the list.
 */
export class ContentClaims {
  readonly memory: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #claimsMax: number;

  static allocate(countMax: number = claimsMax): ContentClaims {
    return new ContentClaims(new SharedArrayBuffer(4 * (headerWords + bucketCount + countMax * claimWordCount)));
  }

  /** Accesses claims made by `allocate`, in any thread. */
  constructor(memory: SharedArrayBuffer) {
    this.memory = memory;
    this.#words = new Int32Array(memory);
    this.#claimsMax = (this.#words.length - headerWords - bucketCount) / claimWordCount;
  }

  /** True if there was no room for a claim, so that some contents may be written in full more than once. */
  get isFull(): boolean {
    return Atomics.load(this.#words, 0) > this.#claimsMax;
  }

  /** Whether the owner has the claim, because it has it already, or nobody has it. Without room, it counts as such. */
  claim(key: Int32Array, owner: ClaimOwner): boolean {
    const words = this.#words;
    const bucket = headerWords + (((key[0] ^ key[claimKeyWords - 1]) >>> 0) % bucketCount);
    let own = 0;
    let end = 0;
    for (;;) {
      const first = Atomics.load(words, bucket);
      const known = this.#find(first, end, key);
      if (known !== 0) return this.#isOwnedBy(known, owner);
      own ||= this.#write(key, owner);
      if (own === 0) return true;
      words[this.#at(own) + claimWords.next] = first;
      if (Atomics.compareExchange(words, bucket, first, own) === first) return true;
      end = first;
    }
  }

  /** The number of the claim in the list from `first` to before `end`; 0 if it has none. */
  #find(first: number, end: number, key: Int32Array): number {
    const words = this.#words;
    for (let number = first; number !== end && number !== 0; ) {
      const at = this.#at(number);
      let i = 0;
      while (i < claimKeyWords && words[at + i] === key[i]) i++;
      if (i === claimKeyWords) return number;
      number = words[at + claimWords.next];
    }
    return 0;
  }

  #isOwnedBy(number: number, [a, b]: ClaimOwner): boolean {
    const at = this.#at(number) + claimWords.owner;
    return this.#words[at] === (a | 0) && this.#words[at + 1] === (b | 0);
  }

  /** Returns the number of the claim, counted from 1; 0 if there is no room. */
  #write(key: Int32Array, [a, b]: ClaimOwner): number {
    const words = this.#words;
    if (Atomics.load(words, 0) > this.#claimsMax) return 0;
    const number = Atomics.add(words, 0, 1) + 1;
    if (number > this.#claimsMax) return 0;
    const at = this.#at(number);
    words.set(key, at);
    words[at + claimWords.owner] = a;
    words[at + claimWords.owner + 1] = b;
    return number;
  }

  #at(number: number): number {
    return headerWords + bucketCount + (number - 1) * claimWordCount;
  }
}
