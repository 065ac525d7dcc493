import { createHash } from "node:crypto";
import { TrawlError } from "../base/errors.js";
import type { StreamMatch } from "../model/stream-events.js";

/** Words of a key: 96 bits of a SHA-256, so that two of 10 million results have equal keys with a probability of 2^-50. */
const keyWords = 3;
const slotWords = keyWords + 1;
/** A match object has at least the names of its members, and mostly the id of a commit. */
const resultBytesMin = 128;
const resultCountMax = 4_000_000;
const slotsMin = 1024;

/**
 * Where one match object ends and the next begins. The sequence cannot be part of a text, in which quotation marks are
 * escaped, and no object within a match object begins with its type.
 */
const boundary = Buffer.from('},{"type":"');

/** What precedes the matches of a file. Quotation marks in texts are escaped, so these are never part of one. */
const listStarts = [',"hunks":', ',"chunkMatches":', ',"lineMatches":', ',"symbols":'].map((text) => Buffer.from(text));

/**
 * A multiset of results, by what identifies them: repository, revision, commit and path, not what a later search may
 * describe in another way. A search repeats its results in another order, and leaves out those that are in the set.
 */
export class SentResults {
  /**
   * Open addressing: each slot has the words of a key, and one more than the times it is in the set; 0 if the slot is
   * free. At most half of the slots are used. Memory that is not touched takes no space.
   */
  readonly #slots: Uint32Array;
  #count = 0;
  #taken = 0;

  /** `byteCount` is the size of the file with the results. */
  constructor(byteCount: number) {
    const wanted = 2 * Math.min(resultCountMax, byteCount / resultBytesMin);
    let slotCount = slotsMin;
    while (slotCount < wanted) slotCount *= 2;
    this.#slots = new Uint32Array(slotCount * slotWords);
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Number of results in the set that were not taken again. */
  get left(): number {
    return this.#count - this.#taken;
  }

  /** Adds the results of a `matches` event. */
  addAll(data: Buffer): void {
    for (const element of elements(data)) this.#add(resultKey(element));
  }

  /** The event without the results that are in the set, and are then taken from it; undefined if none is left. */
  takeAll(data: Buffer): Buffer | undefined {
    if (this.left === 0) return data;
    const fresh = [...elements(data)].filter((element) => !this.#take(resultKey(element)));
    if (fresh.length === 0) return undefined;
    const comma = Buffer.from(",");
    const parts = fresh.flatMap((element, i) => (i === 0 ? [element] : [comma, element]));
    return Buffer.concat([Buffer.from("["), ...parts, Buffer.from("]")]);
  }

  #add(key: Uint32Array): void {
    this.#count++;
    if (this.#count * 2 * slotWords > this.#slots.length)
      throw new TrawlError(
        "gone",
        `a stream with more than ${resultCountMax} results cannot be continued; search again`,
      );
    const at = this.#find(key);
    this.#slots.set(key, at);
    this.#slots[at + keyWords] = Math.max(1, this.#slots[at + keyWords]) + 1;
  }

  #take(key: Uint32Array): boolean {
    const at = this.#find(key);
    if (this.#slots[at + keyWords] <= 1) return false;
    this.#slots[at + keyWords]--;
    this.#taken++;
    return true;
  }

  /** The slot of the key, or the free one where it belongs. */
  #find(key: Uint32Array): number {
    const mask = this.#slots.length / slotWords - 1;
    for (let slot = key[0] & mask; ; slot = (slot + 1) & mask) {
      const at = slot * slotWords;
      if (this.#slots[at + keyWords] === 0) return at;
      if (key.every((word, i) => this.#slots[at + i] === word)) return at;
    }
  }
}

/** The match objects of an event. */
function* elements(data: Buffer): Generator<Buffer> {
  let from = 1;
  for (let at = data.indexOf(boundary, from); at >= 0; at = data.indexOf(boundary, from)) {
    yield data.subarray(from, at + 1);
    from = at + 2;
  }
  if (from < data.length - 1) yield data.subarray(from, data.length - 1);
}

/** The part of a match object that identifies it, as a hash. */
function resultKey(element: Buffer): Uint32Array {
  const ends = listStarts.map((start) => element.indexOf(start)).filter((at) => at >= 0);
  const head = ends.length === 0 ? element.toString() : `${element.toString("utf8", 0, Math.min(...ends))}}`;
  const match = JSON.parse(head) as StreamMatch & { readonly handle?: string; readonly email?: string };
  const { type, repositoryID, repository, branches, commit, path, oid, handle, email } = match;
  // A commit and its diff have the same type.
  const isDiff = match.content?.startsWith("```diff") === true;
  const text = JSON.stringify([type, repositoryID, repository, branches, commit, path, oid, isDiff, handle, email]);
  const digest = createHash("sha256").update(text).digest();
  return Uint32Array.from({ length: keyWords }, (_, i) => digest.readUInt32LE(4 * i));
}
