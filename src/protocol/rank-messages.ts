import { deserialize, serialize } from "node:v8";
import { assert } from "../base/assert.js";
import type {
  CachedShardRange,
  CountedDocuments,
  ExaminedShard,
  Lane,
  RankedPart,
  SearchTaskResult,
  ShardFailure,
} from "./messages.js";
import type { FilterMemory } from "./shard-filter.js";
import { addStats, noStats, type SearchOptions, type SearchStats } from "./search-options.js";

/** The points that a document got, by what they are for: its score is their sum times `fileFactor`, in whole points. */
export interface RankingParts {
  readonly symbol: number;
  readonly fileName: number;
  readonly folders: number;
  readonly line: number;
  readonly wholeWords: number;
  readonly phrase: number;
  readonly matches: number;
  readonly fileFactor: number;
}

/** A document that a ranked search sends first. */
export interface RankedDocument {
  /** Index into the rows of the task. */
  readonly shard: number;
  readonly document: number;
  readonly score: number;
  /** It has at least as many matches that count for the limit. */
  readonly matchCount: number;
  /** Undefined where nobody asked for them. */
  readonly parts: RankingParts | undefined;
  readonly stars: number;
  /** When the commit of the repository's default branch was made that is indexed; 0 if that is not known. */
  readonly committedSeconds: number;
  readonly repository: string;
  /** One character per byte (latin1). */
  readonly path: string;
  /** As in `RankedPart`. */
  readonly ranges: Uint32Array | undefined;
}

/** Scores documents of shards: it takes shards from the counter of the control block, like a slice of a search. */
export interface RankTask {
  readonly searchId: number;
  readonly options: SearchOptions;
  /** As in `SearchTask`, like the others. */
  readonly table: SharedArrayBuffer;
  readonly filter: FilterMemory;
  readonly rows: Uint32Array;
  readonly cached: readonly CachedShardRange[];
  readonly control: Int32Array;
  readonly isAlone: boolean;
  readonly lane: Lane;
  /** The work in each shard. */
  readonly budget: RankBudget;
  /** Whether the parts of the scores are wanted. */
  readonly withParts: boolean;
  /**
   * The slice as which the last of the search's tasks writes the best documents, once all shards are ranked. Undefined if
   * they must not be written.
   */
  readonly writtenSlice: number | undefined;
  /** As in `RankedPart`, if they are written. */
  readonly isApart?: boolean | undefined;
  /** The memory of a `RankBoard`, which is empty when ranking begins. */
  readonly board: SharedArrayBuffer;
}

/** What ranking may examine in each shard: the same in every run, so the order of results is, too. */
export interface RankBudget {
  readonly contents: number;
  readonly cheapBytes: number;
  readonly expensiveBytes: number;
  /** The best documents are kept: at most so many, and no more than have so many matches. */
  readonly keptDocuments: number;
  readonly keptMatches: number;
  /** Beyond the contents that are chosen, others are ranked until the shard has so many matches. */
  readonly rankedMatches: number;
  /** What is not ranked is counted until all shards have so many matches. */
  readonly countedMatches: number;
}

export interface RankedShard {
  /** Index into the rows of the task. */
  readonly shard: number;
  /** Whether all results of the shard were examined and kept. */
  readonly isComplete: boolean;
  /** Number of documents that were kept. */
  readonly keptCount: number;
  readonly stats: SearchStats;
}

/**
 * Ranked documents and shards as a thread posts them: to clone an object for each takes ten times as long as to clone
 * these columns.
 */
export interface RankedColumns {
  /** Six numbers for each document: shard, document, score, number of matches, stars, and when the commit was made. */
  readonly documents: Float64Array;
  /** For each document the names of its repository and its path. */
  readonly names: readonly string[];
  /** The ranges of all documents, one after the other; a word `rangesUnknown` for those of which they are not known. */
  readonly ranges: Uint32Array;
  /** By document; undefined unless they are wanted. */
  readonly parts: readonly (RankingParts | undefined)[] | undefined;
  /** For each shard its number, whether it is complete, how many documents were kept, and its statistics. */
  readonly shards: Float64Array;
}

export interface RankTaskResult {
  /**
   * The shards, and the best documents of all of them together: with those of each shard, most of the time of a search
   * went into messages. Undefined if nobody needs them, because the best of all threads are written.
   */
  readonly ranked: RankedColumns | undefined;
  /** What was found in the shards; empty if it is counted, or cannot be counted without a search. */
  readonly examined: readonly ExaminedShard[];
  readonly failures: readonly ShardFailure[];
  /** False if the task yielded to others: another one continues with the shards that are left. */
  readonly isDone: boolean;
  /** The result of `writtenSlice`; undefined if the best documents are not written. */
  readonly written: SearchTaskResult | undefined;
  /** What is to be searched when the best documents are written; undefined if they are not all written. */
  readonly left: LeftWork | undefined;
}

/** What ranking and writing leave of the shards. */
export interface LeftWork {
  /** Those of which some results are neither written nor counted, with the documents that are. */
  readonly shards: readonly { readonly shard: number; readonly except: readonly number[] }[];
  /** The statistics of the others. */
  readonly stats: SearchStats;
}

/**
 * What is left of so many shards when the first documents are written, and what `counted` names is counted. A shard that is not
 * among the ranked ones was lost or failed, and is searched as if nobody had ranked. With a receipt, all shards are examined for
 * what they cover.
 */
export function findLeft(
  shardCount: number,
  shards: readonly RankedShard[],
  first: readonly Pick<RankedDocument, "shard" | "document">[],
  counted: { readonly shards: readonly number[]; readonly documents: readonly CountedDocuments[] },
  receipt: boolean,
): LeftWork {
  const except = new Map<number, number[]>();
  const add = (shard: number, document: number): void => {
    const known = except.get(shard);
    if (known === undefined) except.set(shard, [document]);
    else known.push(document);
  };
  for (const { shard, document } of first) add(shard, document);
  const countedShards = new Set(counted.shards);
  const stats = noStats();
  const isRanked = new Uint8Array(shardCount);
  const left: number[] = [];
  for (const { shard, isComplete, keptCount, stats: own } of shards) {
    isRanked[shard] = 1;
    const isSent = !receipt && isComplete && keptCount === (except.get(shard)?.length ?? 0);
    if (isSent || countedShards.has(shard)) addStats(stats, own);
    else left.push(shard);
  }
  for (let shard = 0; shard < shardCount; shard++) if (isRanked[shard] === 0) left.push(shard);
  for (const { shard, documents } of counted.documents) for (const document of documents) add(shard, document);
  return { shards: left.map((shard) => ({ shard, except: except.get(shard) ?? [] })), stats };
}

/** What a thread has found in the shards that it has ranked. */
export interface PublishedRanking {
  readonly ranked: RankedColumns;
  readonly examined: readonly ExaminedShard[];
}

/**
 * Shared memory in which the threads that rank a search leave what they have found, for the one that ends last: it writes the
 * best documents without a task of its own, which takes 2 ms of processor time and longer than many searches.
 *
 * The first word is the number of words that are used; each value follows its length in bytes.
 */
export class RankBoard {
  readonly #memory: SharedArrayBuffer;
  readonly #words: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#memory = memory;
    this.#words = new Int32Array(memory);
  }

  /** Enough for what threads find in most searches; its pages take memory when they are used. */
  static allocate(): SharedArrayBuffer {
    return new SharedArrayBuffer(boardBytes);
  }

  /** Before any thread uses it. */
  clear(): void {
    Atomics.store(this.#words, 0, 0);
  }

  /** False if there is no room: nobody must read the board then. */
  write(value: PublishedRanking): boolean {
    const bytes = serialize(value);
    const wordCount = 1 + Math.ceil(bytes.length / 4);
    const at = 1 + Atomics.add(this.#words, 0, wordCount);
    if (at + wordCount > this.#words.length) return false;
    this.#words[at] = bytes.length;
    new Uint8Array(this.#memory, 4 * (at + 1), bytes.length).set(bytes);
    return true;
  }

  /** What was written. Caller guarantees: each write has ended, and had room. */
  read(): PublishedRanking[] {
    const values: PublishedRanking[] = [];
    const end = 1 + Atomics.load(this.#words, 0);
    for (let at = 1; at < end; at += 1 + Math.ceil(this.#words[at] / 4)) {
      const bytes = Buffer.from(this.#memory, 4 * (at + 1), this.#words[at]);
      values.push(deserialize(Buffer.from(bytes)) as PublishedRanking);
    }
    return values;
  }
}

const boardBytes = 512 * 1024;

/** Shard, document, score, number of matches, stars, and when the commit was made. */
const documentNumbers = 6;

/** No document of which they are known has so many. */
const rangesUnknown = 0xffff_ffff;

const statNames = Object.keys(noStats()) as (keyof SearchStats)[];
const shardNumbers = 3 + statNames.length;

export function encodeRanked(
  documents: readonly RankedDocument[],
  shards: readonly RankedShard[],
  withParts: boolean,
): RankedColumns {
  const numbers = new Float64Array(documents.length * documentNumbers);
  const names: string[] = [];
  documents.forEach(({ shard, document, score, matchCount, stars, committedSeconds, repository, path }, i) => {
    numbers.set([shard, document, score, matchCount, stars, committedSeconds], i * documentNumbers);
    names.push(repository, path);
  });
  const ofShards = new Float64Array(shards.length * shardNumbers);
  shards.forEach(({ shard, isComplete, keptCount, stats }, i) => {
    const own = statNames.map((name) => stats[name]);
    ofShards.set([shard, Number(isComplete), keptCount, ...own], i * shardNumbers);
  });
  const unknown = Uint32Array.of(rangesUnknown);
  const allRanges = documents.map(({ ranges }) => ranges ?? unknown);
  const ranges = new Uint32Array(allRanges.reduce((length, one) => length + one.length, 0));
  let at = 0;
  for (const one of allRanges) {
    ranges.set(one, at);
    at += one.length;
  }
  return {
    documents: numbers,
    names,
    ranges,
    parts: withParts ? documents.map(({ parts }) => parts) : undefined,
    shards: ofShards,
  };
}

export function decodeDocuments({ documents, names, ranges: allRanges, parts }: RankedColumns): RankedDocument[] {
  let at = 0;
  const takeRanges = (): Uint32Array | undefined => {
    const from = at;
    if (allRanges[from] === rangesUnknown) at++;
    else at += 2 + 2 * (allRanges[from] + allRanges[from + 1]);
    return at === from + 1 ? undefined : allRanges.subarray(from, at);
  };
  const decoded = Array.from({ length: documents.length / documentNumbers }, (_, i) => {
    const [shard, document, score, matchCount, stars, committedSeconds] = documents.subarray(i * documentNumbers);
    const [repository, path] = [names[2 * i], names[2 * i + 1]];
    const ranges = takeRanges();
    return { shard, document, score, matchCount, parts: parts?.[i], stars, committedSeconds, repository, path, ranges };
  });
  assert(at === allRanges.length, "each ranked document has its ranges");
  return decoded;
}

export function decodeShards({ shards }: RankedColumns): RankedShard[] {
  return Array.from({ length: shards.length / shardNumbers }, (_, i) => {
    const [shard, isComplete, keptCount, ...own] = shards.subarray(i * shardNumbers, (i + 1) * shardNumbers);
    const stats = noStats();
    statNames.forEach((name, at) => {
      stats[name] = own[at];
    });
    return { shard, isComplete: isComplete === 1, keptCount, stats };
  });
}

/**
 * The order of ranked documents, which is total: score, then stars of the repository, the date of its indexed commit,
 * its name, the path. Documents with the same path, which are of different branches, are ordered by their place.
 */
function compareRanked(a: RankedDocument, b: RankedDocument): number {
  return (
    b.score - a.score ||
    compareOrigins(a, b) ||
    compareTexts(a.path, b.path) ||
    a.shard - b.shard ||
    a.document - b.document
  );
}

/** Where documents with the same score come from. */
export type RankedOrigin = Pick<RankedDocument, "stars" | "committedSeconds" | "repository">;

export function compareOrigins(a: RankedOrigin, b: RankedOrigin): number {
  return b.stars - a.stars || b.committedSeconds - a.committedSeconds || compareTexts(a.repository, b.repository);
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Keeps the first documents of those that it is offered: `countMax`, or fewer if these have `matchCountMax` matches, as
 * many as the search shows, because then no other document is sent.
 */
export class BestDocuments {
  readonly #countMax: number;
  readonly #matchCountMax: number;
  readonly #documents: RankedDocument[] = [];
  /** The matches of all documents. */
  #matchCount = 0;
  /** With so many documents, those that are too many are dropped. */
  #sortedAt: number;
  #worst: RankedDocument | undefined;

  constructor(countMax: number, matchCountMax: number) {
    this.#countMax = countMax;
    this.#matchCountMax = matchCountMax;
    this.#sortedAt = countMax;
  }

  /** In order. */
  get documents(): readonly RankedDocument[] {
    this.#dropOthers();
    return this.#documents;
  }

  /** No document with a lower score can be among the first. */
  get scoreMin(): number {
    return this.#worst?.score ?? 0;
  }

  offer(document: RankedDocument): void {
    if (this.#worst !== undefined && compareRanked(document, this.#worst) > 0) return;
    this.#documents.push(document);
    this.#matchCount += document.matchCount;
    const isFull = this.#worst === undefined && this.#matchCount >= this.#matchCountMax;
    if (!isFull && this.#documents.length < this.#sortedAt) return;
    this.#dropOthers();
    // Until the next time, the score that is required is too low by a few documents.
    this.#sortedAt = this.#documents.length + Math.max(1, this.#documents.length >> 2);
    this.#worst = this.#documents.at(-1);
  }

  #dropOthers(): void {
    const documents = this.#documents.sort(compareRanked);
    let count = 0;
    this.#matchCount = 0;
    while (count < Math.min(documents.length, this.#countMax) && this.#matchCount < this.#matchCountMax)
      this.#matchCount += documents[count++].matchCount;
    documents.length = count;
  }
}

/** The best documents of several threads. */
export function mergeBest(ranked: readonly RankedColumns[], budget: RankBudget, work: ShardWork): BestDocuments {
  const best = new BestDocuments(budget.keptDocuments, budget.keptMatches);
  for (const document of ranked.flatMap(decodeDocuments)) {
    checkRanked(document, work);
    best.offer(document);
  }
  return best;
}

/** Shards to search. */
export interface ShardWork {
  readonly options: SearchOptions;
  /** Indexes of shards: first in the table of the search, then among the cached ones. */
  readonly rows: Uint32Array;
  readonly cached: readonly CachedShardRange[];
}

/** A part of a ranked search. */
export interface RankedWork extends ShardWork {
  readonly ranked: RankedPart;
}

/** Work on shards, which are indexes into the rows of the whole work. */
export function workOnShards(
  { options, rows, cached }: ShardWork,
  shards: Uint32Array,
  ranked: RankedPart,
): RankedWork {
  const sets = options.commitSets;
  const own =
    sets === undefined
      ? options
      : { ...options, commitSets: { ...sets, starts: shards.map((shard) => sets.starts[shard]) } };
  return { options: own, rows: shards.map((shard) => rows[shard]), cached, ranked };
}

/** Work on ranked documents in their order: one element of its rows for each. */
export function workOnDocuments(
  work: ShardWork,
  documents: readonly RankedDocument[],
  scores: readonly string[] | undefined,
  examined: readonly ExaminedShard[],
  isApart?: boolean,
): RankedWork {
  const shards = Uint32Array.from(documents, ({ shard }) => shard);
  return workOnShards(work, shards, {
    only: Uint32Array.from(documents, ({ document }) => document),
    isApart,
    scores,
    ranges: documents.map(({ ranges }) => ranges),
    except: undefined,
    examined,
  });
}

/** A document of the work's rows that was ranked. */
export function checkRanked({ shard, document, repository }: RankedDocument, { rows }: Pick<ShardWork, "rows">): void {
  assert(shard < rows.length, "a ranked document is in a row of the work");
  assert(document >= 0 && repository !== "", "a ranked document has a number and a repository");
}
