import { assert } from "../base/assert.js";
import type { BatchContents } from "./content-claims.js";

/** Results as JSON: comma-separated elements of the `matches` array, with their counts. */
export interface ResultBatch {
  /** Spans the used part of its memory, which is transferred. */
  readonly bytes: Uint8Array;
  /** Whether the memory belongs to the worker's buffers, and must be returned. */
  readonly isLent: boolean;
  readonly tally: Tally;
  /** The digest of the match objects; undefined if the search has none. */
  readonly digest: Uint32Array | undefined;
  /**
   * Results of a `select:` that combines several matches into one: the main thread keeps the first of each key, and
   * counts it.
   */
  readonly selected: readonly SelectedResult[];
  /** Undefined unless another process may have to go on behind the batch. */
  readonly marks?: BatchMarks | undefined;
  /** Undefined unless results with the same content and matches are grouped. */
  readonly contents?: BatchContents | undefined;
  /** Of ranked documents that have batches of their own: the index of the document in the work. */
  readonly ranked?: number | undefined;
}

/** What a batch takes of the credit of the workers: its bytes, and about as many as its groups have. */
export function creditOfBatch({ bytes, tally }: Pick<ResultBatch, "bytes" | "tally">): number {
  return bytes.length + groupBytes * tally.groups.size;
}

const groupBytes = 100;

export interface SelectedResult {
  /** Equal for equal results, regardless of which worker found them. */
  readonly key: string;
  /** Index, in the plan, of the result options that selected it. */
  readonly optionsIndex: number;
  readonly repositoryId: number;
  readonly revision: string;
  readonly kind: "repository" | "directory" | "owner";
  /** The match object, or "" for a repository, which the main thread writes. */
  readonly json: string;
}

/**
 * Match counts of one batch of results, from which filters are computed. Plain data that is sent to the main thread.
 */
export interface Tally {
  /** By repository id, "@" and the revision as typed. */
  readonly repositories: Map<string, number>;
  readonly languages: Map<string, number>;
  /** By index in `fileKinds`. */
  readonly fileKinds: number[];
  /** Number of ranges in contents. */
  contentMatches: number;
  symbolMatches: number;
  /** Symbols by kind, as `select:symbol.` names it. */
  readonly symbolKinds: Map<string, number>;
  /** Number of highlights in paths, or 1 for a path result without highlights. */
  pathMatches: number;
  /** Results of `select:file.owners` without an owner. */
  unownedResults: number;
  /** By path or captured text, if matches are counted by that. */
  readonly groups: Map<string, number>;
}

/** Match counts of commits and diffs, which the main thread counts. */
export interface HistoryTally {
  commitMatches: number;
  diffMatches: number;
  /** By e-mail address. */
  readonly authors: Map<string, { readonly name: string; count: number }>;
  /** By index in `commitAges`: commits within the last day, week and month, and older than two months. */
  readonly ages: [day: number, week: number, month: number, older: number];
}

export function emptyHistoryTally(): HistoryTally {
  return { commitMatches: 0, diffMatches: 0, authors: new Map(), ages: [0, 0, 0, 0] };
}

export function emptyTally(): Tally {
  return {
    repositories: new Map(),
    languages: new Map(),
    fileKinds: [0, 0, 0, 0, 0, 0, 0, 0],
    contentMatches: 0,
    symbolMatches: 0,
    symbolKinds: new Map(),
    pathMatches: 0,
    unownedResults: 0,
    groups: new Map(),
  };
}

/** Adds all counts but `groups`. */
export function addTally(sum: Tally, other: Tally): void {
  for (const [key, count] of other.repositories) increase(sum.repositories, key, count);
  for (const [key, count] of other.languages) increase(sum.languages, key, count);
  for (const [kind, count] of other.symbolKinds) increase(sum.symbolKinds, kind, count);
  other.fileKinds.forEach((count, i) => {
    sum.fileKinds[i] += count;
  });
  sum.contentMatches += other.contentMatches;
  sum.symbolMatches += other.symbolMatches;
  sum.pathMatches += other.pathMatches;
  sum.unownedResults += other.unownedResults;
}

export function increase(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

/**
 * Marks tell which results of a search were counted and written, so that another process, whose shards are others, can go on
 * behind them. A mark identifies a result by what it is, not by where it is stored: a hash of repository, commit, revision and path.
 *
 * A record of a mark has four words: two of the hash, the rows of the result that are shown, and how many of them are written.
 * Later records of the same result continue earlier ones.
 */
export const markWords = 4;
export const markBytes = 4 * markWords;

/** Instead of a number of written rows: the whole result is written, or is not shown. */
export const allWritten = 0xffff_ffff;

/** Records of one search. Whoever has found more cannot go on elsewhere. */
export const marksMax = 2_000_000;

/** Records of all searches of a process that may have to go on elsewhere: 128 MiB. */
export const allMarksMax = 8 * 1024 * 1024;

/** Bytes of `SentMarks` of all searches of a process that go on behind others. */
export const sentBytesMax = 256 * 1024 * 1024;

/** Bytes of the secret of a search, which is part of what is hashed: nobody can name files so that results look like those of others. */
export const secretBytes = 16;

/** Plain data, the same for all threads of a search. */
export interface MarkOptions {
  readonly secret: Uint8Array;
  /** Memory of `SentMarks`: results that another process has counted. Undefined if there are none. */
  readonly sent: SharedArrayBuffer | undefined;
  /** The number of this run of the search, from 1 on: threads may not have left the one before. */
  readonly run: number;
}

/** What a batch tells besides its results. */
export interface BatchMarks {
  readonly records: Uint32Array;
  /** By repository id, "@" and the revision as typed, as in the tally: the commit that was searched. */
  readonly commits: ReadonlyMap<string, string>;
}

/** What was sent of a result: this many of the rows that are shown, or all. */
export interface SentMark {
  readonly shownRows: number;
  readonly rowsDone: number;
}

/** Of a result to write: the hash, rows that are shown, rows that another search has written, and whether a batch has told of it. */
const addedWords = 5;

/** The marks of the results that a slice counts and writes, until they are sent with the batch in which these are. */
export class ResultMarks {
  #records = new Uint32Array(64 * markWords);
  #recordWords = 0;
  /** The results to write, in their order. */
  #added = new Uint32Array(64 * addedWords);
  #addedCount = 0;
  /** Written so far: up to this row of this result. */
  #result = 0;
  #row = 0;
  /** At the last call of `#tell`: the results that were there, and those that were written. */
  #toldCount = 0;
  #toldResult = 0;

  /** A result that is counted, and not shown. */
  hide(hash: Uint32Array): void {
    this.#record(hash[0], hash[1], 0, allWritten);
  }

  /** A result to write. `isTold` says that an earlier batch has told of it. */
  add(hash: Uint32Array, shownRows: number, rowsDone: number, isTold: boolean): void {
    const at = this.#addedCount++ * addedWords;
    if (at === this.#added.length) this.#added = grown(this.#added);
    this.#added[at] = hash[0];
    this.#added[at + 1] = hash[1];
    this.#added[at + 2] = shownRows;
    this.#added[at + 3] = rowsDone;
    this.#added[at + 4] = Number(isTold);
  }

  /** The results are written up to this row of this result. */
  moveTo(result: number, row: number): void {
    this.#result = result;
    this.#row = row;
  }

  /** The list of results to write begins again. */
  clear(): void {
    this.#tell();
    this.#addedCount = 0;
    this.#toldCount = 0;
    this.#toldResult = 0;
    this.moveTo(0, 0);
  }

  /** The records since the last call. */
  take(): Uint32Array {
    this.#tell();
    const records = this.#records.slice(0, this.#recordWords);
    this.#recordWords = 0;
    return records;
  }

  #tell(): void {
    const finished = Math.min(this.#result, this.#addedCount);
    for (let i = this.#toldResult; i < finished; i++) this.#tellAdded(i, allWritten);
    const isPartly = this.#row > 0 && finished < this.#addedCount;
    if (isPartly) this.#tellAdded(finished, this.#added[finished * addedWords + 3] + this.#row);
    for (let i = Math.max(finished + Number(isPartly), this.#toldCount); i < this.#addedCount; i++)
      if (this.#added[i * addedWords + 4] === 0) this.#tellAdded(i, this.#added[i * addedWords + 3]);
    this.#toldResult = finished;
    this.#toldCount = this.#addedCount;
  }

  #tellAdded(i: number, rowsDone: number): void {
    const at = i * addedWords;
    this.#record(this.#added[at], this.#added[at + 1], this.#added[at + 2], rowsDone);
  }

  #record(a: number, b: number, shownRows: number, rowsDone: number): void {
    const at = this.#recordWords;
    if (at === this.#records.length) this.#records = grown(this.#records);
    this.#records[at] = a;
    this.#records[at + 1] = b;
    this.#records[at + 2] = shownRows;
    this.#records[at + 3] = rowsDone;
    this.#recordWords += markWords;
  }
}

function grown(words: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(words.length * 2);
  larger.set(words);
  return larger;
}

/** A record, and the word that says how it is used. */
const slotBytes = markBytes + 4;

/**
 * The results that another process has sent, in memory that all threads of a search read: open addressing, with at most half of
 * the slots in use. A slot has the words of a record, and a word that is 0 if it is free, and 2 once the result is found. The last
 * word counts the results that are not written completely.
 */
export class SentMarks {
  readonly memory: SharedArrayBuffer;
  readonly #words: Uint32Array;
  readonly #mask: number;

  /** Bytes that this many records take. */
  static byteLength(count: number): number {
    assert(count <= marksMax, "no more marks than a search may have");
    let slotCount = 64;
    while (slotCount < 2 * count) slotCount *= 2;
    return slotCount * slotBytes + 4;
  }

  /** With room for this many records. */
  static allocate(count: number): SentMarks {
    return new SentMarks(new SharedArrayBuffer(SentMarks.byteLength(count)));
  }

  /** Reads what another one has added, in any thread. */
  constructor(memory: SharedArrayBuffer) {
    this.memory = memory;
    this.#words = new Uint32Array(memory);
    this.#mask = (memory.byteLength - 4) / slotBytes - 1;
  }

  /** Results that another process has counted, and not written completely. */
  get unwrittenCount(): number {
    return this.#words[this.#words.length - 1];
  }

  add(records: Uint32Array): void {
    for (let at = 0; at < records.length; at += markWords) this.#add(records, at);
  }

  find(hash: Uint32Array): SentMark | undefined {
    const at = this.#find(hash[0], hash[1]);
    return this.#words[at + markWords] === 0
      ? undefined
      : { shownRows: this.#words[at + 2], rowsDone: this.#words[at + 3] };
  }

  /** Whether this is the first call for the result in this run of the search. */
  settle(hash: Uint32Array, run: number): boolean {
    const at = this.#find(hash[0], hash[1]) + markWords;
    // One more than the last run that has found it.
    for (;;) {
      const found = Atomics.load(this.#words, at);
      if (found > run) return false;
      if (Atomics.compareExchange(this.#words, at, found, run + 1) === found) return true;
    }
  }

  #add(records: Uint32Array, from: number): void {
    const at = this.#find(records[from], records[from + 1]);
    const words = this.#words;
    const wasUnwritten = words[at + markWords] !== 0 && words[at + 3] !== allWritten;
    words[at] = records[from];
    words[at + 1] = records[from + 1];
    words[at + 2] = Math.max(words[at + 2], records[from + 2]);
    words[at + 3] = Math.max(words[at + 3], records[from + 3]);
    words[at + markWords] = 1;
    words[words.length - 1] += Number(words[at + 3] !== allWritten) - Number(wasUnwritten);
  }

  /** The slot of the hash, or the free one where it belongs. */
  #find(a: number, b: number): number {
    for (let slot = (a ^ b) & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const at = slot * (markWords + 1);
      const isFree = this.#words[at + markWords] === 0;
      if (isFree || (this.#words[at] === a && this.#words[at + 1] === b)) return at;
    }
  }
}
