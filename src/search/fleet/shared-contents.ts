import { createHash } from "node:crypto";
import { TrawlError } from "../../base/errors.js";
import {
  claimKeyWords,
  type ClaimOwner,
  ContentClaims,
  contentRecordWords,
  isContentKey,
  readKey,
} from "../../protocol/content-claims.js";
import { claimedKeysMax } from "./fleet-messages.js";

/** Results that refer to others, each of which counts as one match; and the matches that they have. */
export interface Copies {
  readonly count: number;
  readonly matches: number;
}

const noCopies: Copies = { count: 0, matches: 0 };

/** What refers to another result counts as one match instead of those that it has. */
export function savedBy({ count, matches }: Copies): number {
  return matches - count;
}

/** What is known of a claim, beside its owner. */
const claimBits = {
  /** Its owner has counted a result with this content. */
  recorded: 1,
  /** Its owner has written the result to its end. */
  written: 2,
  /** A result that was passed on refers to it. */
  referenced: 4,
  /** Another source has counted a result with this content. */
  recordedElsewhere: 8,
} as const;

const isSafe = claimBits.recorded | claimBits.written;

/** Who has claims: one run of a source at one node. */
interface Claimer {
  readonly words: ClaimOwner;
  isLost: boolean;
  /** Contents that are told as results and were not counted. */
  unrecordedCount: number;
  /** Contents that results refer to, and of which the client may not have all. */
  missingCount: number;
}

/**
 * The contents of the results of one search, of all its nodes, for `duplicates=1`. Each leaf groups its own results: the first
 * of each content has the matches, and tells of its content in a record. What two leaves tell of was found at both: then the one
 * that is passed on later refers to the other, and counts as one match.
 *
 * A content whose leaf was lost before it had written it belongs to whoever has it next. What refers to it by then refers to nothing: then
 * the results are not complete.
 */
export class SharedContents {
  readonly #claims: ContentClaims;
  /** By the number of the claim. */
  #bits = new Uint8Array(64);
  readonly #claimers: Claimer[] = [];
  /** Claims that were made. */
  #count = 0;

  constructor(memory: SharedArrayBuffer) {
    this.#claims = new ContentClaims(memory);
  }

  get count(): number {
    return this.#count;
  }

  /** Whether some contents may be written more than once. */
  get isFull(): boolean {
    return this.#claims.isFull;
  }

  /** The contents of one source of the search. */
  join(): NodeContents {
    return new NodeContents(this);
  }

  addClaimer(): Claimer {
    const words = [this.#claimers.length, 0] as const;
    const claimer = { words, isLost: false, unrecordedCount: 0, missingCount: 0 };
    this.#claimers.push(claimer);
    return claimer;
  }

  /** Some contents may be written more than once: a leaf had no room for them. */
  giveUp(): void {
    this.#claims.fill();
  }

  /** What it has not written is nobody's. */
  lose(claimer: Claimer): void {
    claimer.isLost = true;
    if (claimer.missingCount > 0) this.giveUp();
  }

  /** The number of the claim that counts, and of which the client has the content or will get it; 0 if there is none. */
  find(key: Int32Array): number {
    const number = this.#claims.find(key);
    return number !== 0 && this.#isVoid(number) ? 0 : number;
  }

  isOwn(number: number, claimer: Claimer): boolean {
    return this.#claims.ownerAt(number) === claimer.words[0];
  }

  /** The number of the claim of a key, which the claimer gets if nobody has it; 0 if there is no room. */
  claim(key: Int32Array, claimer: Claimer): number {
    const known = this.find(key);
    if (known !== 0) return known;
    const before = this.#claims.find(key);
    const own = this.#claims.add(key, claimer.words);
    if (own === 0) return 0;
    this.#count = own;
    if (own >= this.#bits.length) {
      const larger = new Uint8Array(2 * own);
      larger.set(this.#bits);
      this.#bits = larger;
    }
    claimer.unrecordedCount++;
    // It was counted when another one had it.
    if (before !== 0 && (this.#bits[before] & claimBits.recordedElsewhere) !== 0) this.record(own, claimer);
    return own;
  }

  /** The claimer has counted a result with this content. */
  record(number: number, claimer: Claimer): void {
    if (!this.isOwn(number, claimer)) return this.#set(number, claimBits.recordedElsewhere);
    if ((this.#bits[number] & claimBits.recorded) === 0) claimer.unrecordedCount--;
    this.#set(number, claimBits.recorded);
  }

  /** The owner has written all of it. */
  write(number: number): void {
    this.#set(number, claimBits.written);
  }

  /** A result that is passed on refers to what has this key. */
  refer(key: Int32Array): void {
    const number = this.#claims.find(key);
    if (number === 0) return;
    this.#set(number, claimBits.referenced);
    if (this.#isVoid(number)) this.giveUp();
  }

  #set(number: number, bit: number): void {
    const before = this.#bits[number];
    const after = before | bit;
    this.#bits[number] = after;
    this.#claimers[this.#claims.ownerAt(number)].missingCount += Number(isMissing(after)) - Number(isMissing(before));
  }

  #isVoid(number: number): boolean {
    return this.#claimers[this.#claims.ownerAt(number)].isLost && (this.#bits[number] & isSafe) !== isSafe;
  }

  /** The keys of the first claims, as many as there are by now, in the bodies of messages. Without those that are nobody's. */
  *keys(to: number): Generator<Uint8Array, void> {
    for (let from = 0; from < to; from += claimedKeysMax) {
      const keys = this.#claims.keys(from, Math.min(to, from + claimedKeysMax));
      let left = 0;
      for (let at = 0; at < keys.length; at += claimKeyWords) {
        if (this.#isVoid(from + at / claimKeyWords + 1)) continue;
        keys.copyWithin(left, at, at + claimKeyWords);
        left += claimKeyWords;
      }
      if (left > 0) yield new Uint8Array(keys.buffer, 0, 4 * left);
    }
  }
}

function isMissing(bits: number): boolean {
  return (bits & claimBits.referenced) !== 0 && (bits & isSafe) !== isSafe;
}

/** Objects that end a batch, and may be continued by one of the next: each thread has one, and each slice that waits. */
const openCountMax = 1_024;

/**
 * Contents that a leaf may tell as results and has not counted: it counts a result before it writes it, or in the same batch, so none.
 * Otherwise it could claim what others have, without a result that the search counts.
 */
const unrecordedMax = 16;

/** Objects in one batch, and bytes of all but the longest: leaves send at most 224 KiB together, and each object has more than 100 bytes. */
const objectsMax = 4 * 1024;
const objectsBytesMax = 512 * 1024;

/** The contents that one source tells of. */
export class NodeContents {
  readonly #shared: SharedContents;
  #claimer: Claimer;
  /** Contents that are missing because of nodes that were asked before. */
  #missingBefore = 0;
  readonly #key = new Int32Array(claimKeyWords);
  /** Claims of which the leaf knows: those that the source has made, and those that it was told, which are the first ones. */
  #knownCount = 0;
  #toldCount = 0;
  /** Matches that the leaf has counted and the search has not, in this run of the leaf. */
  saved = 0;
  /** Hashes of shortened results whose other matches may follow in another batch. */
  readonly #open = new Set<string>();

  constructor(shared: SharedContents) {
    this.#shared = shared;
    this.#claimer = shared.addClaimer();
  }

  /** Contents that results refer to, and of which it has not sent all. */
  get missingCount(): number {
    return this.#missingBefore + this.#claimer.missingCount;
  }

  /** Nothing more comes from the leaf, although it has not ended. */
  lose(): void {
    this.#shared.lose(this.#claimer);
  }

  /** The leaf has ended, and nothing of it was dropped. Throws `bad-request` if it has told contents that it has not counted. */
  requireCounted(): void {
    const { unrecordedCount } = this.#claimer;
    if (unrecordedCount > 0)
      throw new TrawlError("bad-request", `${unrecordedCount} contents of results that it has not counted`);
  }

  /** Whether the leaf knows all that was passed on, so that it counts as the search does. */
  get isExact(): boolean {
    return this.#knownCount === this.#shared.count;
  }

  /** Another node is asked, which knows nothing. */
  forget(): void {
    this.lose();
    this.#missingBefore += this.#claimer.missingCount;
    this.#claimer = this.#shared.addClaimer();
    this.#begin(0);
  }

  /** The bodies of messages that tell the leaf what was passed on, before it searches again. */
  tell(): Iterable<Uint8Array> {
    this.#begin(this.#shared.count);
    return this.#shared.keys(this.#toldCount);
  }

  #begin(toldCount: number): void {
    this.#knownCount = toldCount;
    this.#toldCount = toldCount;
    this.saved = 0;
    this.#open.clear();
  }

  giveUp(): void {
    this.#shared.giveUp();
  }

  /**
   * Which of the results that the records tell of refer to results of other nodes, if they are passed on now. Throws `bad-request` if the
   * leaf was told so, because it would be asked again for ever.
   */
  find(records: Int32Array): Copies {
    return sumCopies(records, (key) => {
      const known = this.#shared.find(key);
      if (known === 0 || this.#shared.isOwn(known, this.#claimer)) return false;
      if (known <= this.#toldCount)
        throw new TrawlError("bad-request", "a content of which it was told that another node has it");
      return true;
    });
  }

  /** The same, when they are passed on. */
  pass(records: Int32Array): Copies {
    const copies = sumCopies(records, (key) => {
      const number = this.#claim(key);
      if (number === 0) return false;
      this.#shared.record(number, this.#claimer);
      return !this.#shared.isOwn(number, this.#claimer);
    });
    this.saved += savedBy(copies);
    return copies;
  }

  /** As that of `SharedContents`. */
  #claim(key: Int32Array): number {
    const before = this.#shared.count;
    const number = this.#shared.claim(key, this.#claimer);
    this.#knownCount += this.#shared.count - before;
    return number;
  }

  /**
   * The match objects, of which those whose content another node has refer to it: as one that has no matches. A result with many matches
   * has several objects, of which the first one is left. The records that came with them, and before, were passed on. Throws `bad-request` if
   * more contents were not recorded than may be.
   */
  shorten({ bytes, objects }: ContentObjects): Uint8Array {
    const pieces: Buffer[] = [];
    let isChanged = false;
    /** The hash of the object before, if it was shortened. */
    let last = "";
    for (const [i, one] of objects.entries()) {
      const key = readKey(this.#key, one.contentKey);
      if (one.isCopy) this.#shared.refer(key);
      const number = one.isCopy ? 0 : this.#claim(key);
      if (number === 0 || this.#shared.isOwn(number, this.#claimer)) {
        // A result that ends a batch may go on in another one.
        const isEnded = i + 1 < objects.length && objects[i + 1].contentKey !== one.contentKey;
        if (number !== 0 && isEnded) this.#shared.write(number);
        pieces.push(one.object);
        last = "";
        continue;
      }
      this.#shared.refer(key);
      const headTo = findHeadEnd(one);
      const result = hashResult(one, headTo);
      if (result !== last && !this.#open.delete(result)) pieces.push(shortForm(one, headTo));
      last = result;
      isChanged = true;
    }
    if (last !== "") this.#keepOpen(last);
    if (this.#claimer.unrecordedCount > unrecordedMax) this.requireCounted();
    return isChanged ? Buffer.concat(pieces.flatMap((piece, i) => (i === 0 ? [piece] : [comma, piece]))) : bytes;
  }

  #keepOpen(result: string): void {
    this.#open.add(result);
    if (this.#open.size <= openCountMax) return;
    const [oldest] = this.#open;
    this.#open.delete(oldest);
  }
}

/** Match objects, each with what says which content it has. */
export interface ContentObjects {
  readonly bytes: Uint8Array;
  readonly objects: readonly ContentObject[];
}

/** Throws `bad-request`: what is claimed for them is believed, so nothing is claimed before all of them are known. */
export function readObjects(bytes: Uint8Array): ContentObjects {
  return { bytes, objects: splitObjects(bytes).map(readObject) };
}

/** The match objects of a batch, each by itself. Throws `bad-request` if they are more than may be looked at at once. */
export function splitObjects(bytes: Uint8Array): readonly Buffer[] {
  const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (json.length === 0) return [];
  const objects: Buffer[] = [];
  let [longest, from] = [0, 0];
  const add = (to: number): void => {
    longest = Math.max(longest, to - from);
    if (objects.length === objectsMax) throw tooMuch();
    objects.push(json.subarray(from, to));
    from = to + 1;
  };
  for (let at = json.indexOf(boundary); at >= 0; at = json.indexOf(boundary, from)) add(at + 1);
  add(json.length);
  if (bytes.length - longest > objectsBytesMax) throw tooMuch();
  return objects;
}

function tooMuch(): TrawlError {
  return new TrawlError(
    "bad-request",
    `more than ${objectsMax} results in one batch, or more than ${objectsBytesMax} bytes of them`,
  );
}

function sumCopies(records: Int32Array, isCopy: (key: Int32Array) => boolean): Copies {
  let { count, matches } = noCopies;
  for (let at = 0; at < records.length; at += contentRecordWords) {
    if (!isCopy(records.subarray(at, at + claimKeyWords))) continue;
    count++;
    matches += matchesAt(records, at);
  }
  return { count, matches };
}

function matchesAt(records: Int32Array, at: number): number {
  return records[at + claimKeyWords] >>> 0;
}

/** Matches of all results that the records tell of, each of which has one. Throws `bad-request`. */
export function countRecorded(records: Int32Array): number {
  let sum = 0;
  for (let at = 0; at < records.length; at += contentRecordWords) {
    const matches = matchesAt(records, at);
    if (matches === 0) throw new TrawlError("bad-request", "a content without a match");
    sum += matches;
  }
  return sum;
}

/** As in src/resume/sent-results.ts: quotation marks in texts are escaped, so these are never part of one. */
const boundary = Buffer.from('},{"type":"');
const pathStart = Buffer.from('","path":"');
const listStarts = [',"hunks":null,', ',"symbols":['].map((text) => Buffer.from(text));
const listEnds = ['],"escapedPath":"', '],"debug":"', '],"contentKey":"'].map((text) => Buffer.from(text));
const keyStart = Buffer.from(',"contentKey":"');
const copyMember = Buffer.from(',"duplicate":true');
const shortStart = Buffer.from('{"type":"path');
const comma = Buffer.from(",");
const quote = '"'.charCodeAt(0);

/** A match object, and the place of the member that says which content it has. */
interface ContentObject {
  readonly object: Buffer;
  readonly contentKey: string;
  readonly from: number;
  readonly to: number;
  readonly pathAt: number;
  /** Whether the object refers to another one. */
  readonly isCopy: boolean;
}

function readObject(object: Buffer): ContentObject {
  const from = object.lastIndexOf(keyStart);
  const textFrom = from + keyStart.length;
  const textTo = object.indexOf(quote, textFrom);
  if (from < 0 || textTo < 0) throw new TrawlError("bad-request", "a match object without the key of its content");
  const to = textTo + 1;
  const isCopy = object.subarray(to, to + copyMember.length).equals(copyMember);
  const contentKey = object.toString("latin1", textFrom, textTo);
  if (!isContentKey(contentKey)) throw new TrawlError("bad-request", "a match object whose key of its content is none");
  const pathAt = object.indexOf(pathStart);
  if (pathAt < 0 || pathAt > from) throw new TrawlError("bad-request", "a match object without a path");
  return { object, contentKey, from, to, pathAt, isCopy };
}

/** All objects of one result begin in the same way, and have the same key. A leaf decides how long they are. */
function hashResult({ object, contentKey }: ContentObject, headTo: number): string {
  return createHash("sha256").update(object.subarray(0, headTo)).update(contentKey).digest("base64");
}

/** Where the list of matches begins, which follows the path; without one, the key. */
function findHeadEnd({ object, pathAt, from }: ContentObject): number {
  const head = object.subarray(0, from);
  return findLeast(listStarts.map((start) => head.indexOf(start, pathAt))) ?? from;
}

/** The object without its list of matches. */
function shortForm({ object, pathAt, from, to }: ContentObject, headTo: number): Buffer {
  const listTo = headTo === from ? undefined : findLeast(listEnds.map((end) => object.indexOf(end, headTo)));
  const rest = object.subarray(listTo === undefined ? from : listTo + 1, to);
  return Buffer.concat([shortStart, object.subarray(pathAt, headTo), rest, copyMember, object.subarray(to)]);
}

function findLeast(found: readonly number[]): number | undefined {
  const places = found.filter((at) => at >= 0);
  return places.length === 0 ? undefined : Math.min(...places);
}
