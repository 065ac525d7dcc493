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

/**
 * The contents of the results of one search, of all its nodes, for `duplicates=1`. Each leaf groups its own results: the first
 * of each content has the matches, and tells of its content in a record. What two leaves tell of was found at both: then the one
 * that is passed on later refers to the other, and counts as one match.
 */
export class SharedContents {
  readonly #claims: ContentClaims;
  /** Claims that were made. */
  #count = 0;
  #nodeCount = 0;

  constructor(memory: SharedArrayBuffer) {
    this.#claims = new ContentClaims(memory);
  }

  get count(): number {
    return this.#count;
  }

  /** The contents of one source of the search. */
  join(): NodeContents {
    return new NodeContents(this, ++this.#nodeCount);
  }

  /** Some contents may be written more than once: a leaf had no room for them. */
  giveUp(): void {
    this.#claims.fill();
  }

  claim(key: Int32Array, owner: ClaimOwner): boolean {
    const before = this.#claims.count;
    const isOwn = this.#claims.claim(key, owner);
    this.#count += this.#claims.count - before;
    return isOwn;
  }

  findOther(key: Int32Array, owner: ClaimOwner): number {
    return this.#claims.findOther(key, owner);
  }

  /** The keys of the first claims, as many as there are by now, in the bodies of messages. */
  *keys(to: number): Generator<Uint8Array, void> {
    for (let from = 0; from < to; from += claimedKeysMax)
      yield new Uint8Array(this.#claims.keys(from, Math.min(to, from + claimedKeysMax)).buffer);
  }
}

/** Objects that end a batch, and may be continued by one of the next: each thread has one, and each slice that waits. */
const openCountMax = 1_024;

/** The contents that one source tells of. */
export class NodeContents {
  readonly #shared: SharedContents;
  readonly #owner: ClaimOwner;
  readonly #key = new Int32Array(claimKeyWords);
  /** Claims of which the leaf knows: those that the source has made, and those that it was told, which are the first ones. */
  #knownCount = 0;
  #toldCount = 0;
  /** Matches that the leaf has counted and the search has not, in this run of the leaf. */
  saved = 0;
  /** Hashes of shortened results whose other matches may follow in another batch. */
  readonly #open = new Set<string>();

  constructor(shared: SharedContents, number: number) {
    this.#shared = shared;
    this.#owner = [number, 0];
  }

  /** Whether the leaf knows all that was passed on, so that it counts as the search does. */
  get isExact(): boolean {
    return this.#knownCount === this.#shared.count;
  }

  /** Another node is asked, which knows nothing. */
  forget(): void {
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
      const other = this.#shared.findOther(key, this.#owner);
      if (other > 0 && other <= this.#toldCount)
        throw new TrawlError("bad-request", "a content of which it was told that another node has it");
      return other > 0;
    });
  }

  /** The same, when they are passed on. */
  pass(records: Int32Array): Copies {
    const copies = sumCopies(records, (key) => !this.#claim(key));
    this.saved += savedBy(copies);
    return copies;
  }

  #claim(key: Int32Array): boolean {
    const before = this.#shared.count;
    const isOwn = this.#shared.claim(key, this.#owner);
    this.#knownCount += this.#shared.count - before;
    return isOwn;
  }

  /**
   * The match objects, of which those whose content another node has refer to it: as one that has no matches. A result with many matches
   * has several objects, of which the first one is left.
   */
  shorten({ bytes, objects }: ContentObjects): Uint8Array {
    const pieces: Buffer[] = [];
    let isChanged = false;
    /** The hash of the object before, if it was shortened. */
    let last = "";
    for (const one of objects) {
      // The batch that tells of the content may come after this one.
      if (one.isCopy || this.#claim(readKey(this.#key, one.contentKey))) {
        pieces.push(one.object);
        last = "";
        continue;
      }
      const headTo = findHeadEnd(one);
      const result = hashResult(one, headTo);
      if (result !== last && !this.#open.delete(result)) pieces.push(shortForm(one, headTo));
      last = result;
      isChanged = true;
    }
    if (last !== "") this.#keepOpen(last);
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
  return { bytes, objects: [...splitObjects(bytes)].map(readObject) };
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

function* splitObjects(bytes: Uint8Array): Generator<Buffer, void> {
  const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (json.length === 0) return;
  let from = 0;
  for (let at = json.indexOf(boundary); at >= 0; at = json.indexOf(boundary, from)) {
    yield json.subarray(from, at + 1);
    from = at + 2;
  }
  yield json.subarray(from);
}

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
