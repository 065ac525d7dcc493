import { randomInt } from "node:crypto";
import { mixBits } from "../base/text.js";

/** A content and the matches in it, as `ContentClaims` identifies them: the first words are those of the blob's oid. */
export const claimKeyWords = 5;

/** A record of a content: its key, and the matches that were counted in the result that has them. */
export const contentRecordWords = claimKeyWords + 1;

/** Records of one batch. */
export const contentRecordsMax = 8 * 1024;

/** Identifies a result: the repository, the revision as typed and the path, as a hash. */
export type ClaimOwner = readonly [number, number];

/** Sets the key of the claim of a blob and the hash of the matches in it. */
export function setClaimKey(key: Int32Array, oid: string, matches: number): void {
  for (let i = 0; i < claimKeyWords - 1; i++) key[i] = Number.parseInt(oid.slice(8 * i, 8 * i + 8), 16);
  // A symbol's name and a range of the text may have the same offsets, but a search has only one kind of them.
  key[claimKeyWords - 1] = hashWithSeed(oid.slice(8 * (claimKeyWords - 1)), matches);
}

/** The member `contentKey` of match objects: the oid of the blob and a hash of the matches in it. */
export function writeContentKey(oid: string, matches: number): string {
  return `${oid}.${matches.toString(16).padStart(8, "0")}`;
}

export function isContentKey(text: string): boolean {
  return /^[0-9a-f]{40,64}\.[0-9a-f]{8}$/.test(text);
}

/** Sets the key of the claim that a `contentKey` tells. Returns it. */
export function readKey(key: Int32Array, contentKey: string): Int32Array {
  const dot = contentKey.indexOf(".");
  setClaimKey(key, contentKey.slice(0, dot), Number.parseInt(contentKey.slice(dot + 1), 16));
  return key;
}

export function hashWithSeed(text: string, seed: number): number {
  let hash = mixBits(seed);
  for (let i = 0; i < text.length; i++) hash = mixBits(Math.imul(hash, 31) + text.charCodeAt(i));
  return hash | 0;
}

/** What a batch tells of the contents of its results, if those with the same content and matches are grouped. */
export interface BatchContents {
  /** Of each content of which the batch counts the first result. */
  readonly records: Int32Array;
  /** Results that refer to another one, each of which counts as one match; and the matches that they have. */
  readonly copyCount: number;
  readonly copyMatches: number;
}

/** Claims that have room, and hash buckets: 33 MiB of address space, of which only what is used takes memory. */
const claimsMax = 1 << 20;
const bucketCount = 1 << 18;

const claimWords = { key: 0, owner: claimKeyWords, next: claimKeyWords + 2 } as const;
const claimWordCount = claimKeyWords + 3;

/** Word 0 is the number of claims made, including those past the last one that has room; word 1 is the seed of the hashes. */
const headerWords = 2;

/** A longer list is made by keys that somebody has chosen: with 1,048,576 others, 1 in 10^17 has this many. */
const listLengthMax = 32;

const isTooLong = -1;

/**
 * Which result of a search was the first with its content and matches, in memory that all its threads share: the
 * results after it refer to it. A result keeps its claim, so that a slice which returns to a block decides as before.
 *
 * Each bucket is a list to which claims are prepended by compare-and-exchange, and never removed; a claim is written
 * before it is in the list. If a list is too long there is no room from then on, and what is behind its beginning is not found.
 */
export class ContentClaims {
  readonly memory: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #claimsMax: number;

  static allocate(countMax: number = claimsMax): ContentClaims {
    const memory = new SharedArrayBuffer(4 * (headerWords + bucketCount + countMax * claimWordCount));
    // Whoever sends keys cannot know which of them are in one list.
    new Int32Array(memory)[1] = randomInt(2 ** 32);
    return new ContentClaims(memory);
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

  /** Claims that have been made, or for which there was room when it was given up. */
  get count(): number {
    return Math.min(Atomics.load(this.#words, 0), this.#claimsMax);
  }

  /** From now on there is no room. */
  fill(): void {
    Atomics.store(this.#words, 0, this.#claimsMax + 1);
  }

  /** Copies the keys of claims, counted from 0, in the order in which they were made. No thread may be making one. */
  keys(from: number, to: number): Int32Array<ArrayBuffer> {
    const keys = new Int32Array((to - from) * claimKeyWords);
    for (let i = from; i < to; i++) {
      const at = this.#at(i + 1);
      keys.set(this.#words.subarray(at, at + claimKeyWords), (i - from) * claimKeyWords);
    }
    return keys;
  }

  /** The number, counted from 1 in the order in which they were made, of the last claim of the key; 0 if it has none. */
  find(key: Int32Array): number {
    const known = this.#find(Atomics.load(this.#words, this.#bucket(key)), 0, key);
    if (known !== isTooLong) return known;
    this.fill();
    return 0;
  }

  /** The first word of the owner of a claim. */
  ownerAt(number: number): number {
    return this.#words[this.#at(number) + claimWords.owner];
  }

  /**
   * Makes a claim of a key that nobody has, or whose claim counts no more: the last one is found. Returns its number; 0 if there is no
   * room. No other thread may make one.
   */
  add(key: Int32Array, owner: ClaimOwner): number {
    const own = this.#write(key, owner);
    if (own === 0) return 0;
    const bucket = this.#bucket(key);
    this.#words[this.#at(own) + claimWords.next] = this.#words[bucket];
    this.#words[bucket] = own;
    return own;
  }

  /** Whether the owner has the claim, because it has it already, or nobody has it. Without room, it counts as such. */
  claim(key: Int32Array, owner: ClaimOwner): boolean {
    const words = this.#words;
    const bucket = this.#bucket(key);
    let own = 0;
    let end = 0;
    for (;;) {
      const first = Atomics.load(words, bucket);
      const known = this.#find(first, end, key);
      if (known > 0) return this.#isOwnedBy(known, owner);
      if (known === isTooLong) {
        this.fill();
        return true;
      }
      own ||= this.#write(key, owner);
      if (own === 0) return true;
      words[this.#at(own) + claimWords.next] = first;
      if (Atomics.compareExchange(words, bucket, first, own) === first) return true;
      end = first;
    }
  }

  /** The number of the claim in the list from `first` to before `end`; 0 if it has none, and `isTooLong` if the list is. */
  #find(first: number, end: number, key: Int32Array): number {
    const words = this.#words;
    let length = 0;
    for (let number = first; number !== end && number !== 0; ) {
      if (++length > listLengthMax) return isTooLong;
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

  #bucket(key: Int32Array): number {
    let hash = mixBits(this.#words[1]);
    for (let i = 0; i < claimKeyWords; i++) hash = mixBits(Math.imul(hash, 31) + key[i]);
    return headerWords + (hash % bucketCount);
  }

  #at(number: number): number {
    return headerWords + bucketCount + (number - 1) * claimWordCount;
  }
}
