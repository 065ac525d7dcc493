import type { ObjectSettings } from "../objects/open-objects.js";
import type { MessagePort } from "node:worker_threads";
import type { SerializedError } from "../base/errors.js";
import type { SymbolFault } from "../model/shard-record.js";
import type { FindCondition, SearchOptions, SearchStats } from "./search-options.js";
import { contentRecordsMax, contentRecordWords } from "./content-claims.js";
import { markWords, type ResultBatch } from "./result-batch.js";
import type { FilterMemory } from "./shard-filter.js";
import type { ShardPart } from "./shard-table.js";
import type { SkipReason } from "../model/skip-reason.js";
import { assert } from "../base/assert.js";

/** The settings that search and ingest workers start with. */
export interface WorkerSettings {
  readonly dataFolder: string;
  readonly kernel: "native" | "ts";
  /** Where shards are stored besides, for the other nodes of a fleet; undefined on a single host. */
  readonly objects?: ObjectSettings | undefined;
}

export interface SearchWorkerSettings extends WorkerSettings {
  /** The numbers of slices that wait for a worker, at `pressureWords`. A running slice yields when any waits. */
  readonly pressure: Int32Array;
  /** The memory of the revision cache. */
  readonly arena: SharedArrayBuffer;
}

/** One slice of a search: it takes shards from the search's shared counter until it is done or yields. */
export interface SearchTask {
  readonly searchId: number;
  /** Number of this slice in the search, repeated in its batches. */
  readonly slice: number;
  readonly options: SearchOptions;
  /** Memory of the `ShardTable` of the search's view. */
  readonly table: SharedArrayBuffer;
  /** Memory of the `ShardFilter` of the search's view. */
  readonly filter: FilterMemory;
  /** The shards to search, as rows of the table. */
  readonly rows: Uint32Array;
  /** Shards of the revision cache: their row numbers follow those of the table. */
  readonly cached: readonly CachedShardRange[];
  readonly control: Int32Array;
  /** Index of this slice's slot in the control block. */
  readonly slot: number;
  /** True if no other slice of the search has been started: it requests them if it finds that it has much to do. */
  readonly isAlone: boolean;
  readonly lane: Lane;
  readonly resume: ResumePosition | undefined;
  /** True to return stats per shard. */
  readonly explain: boolean;
  /** Undefined unless the search is ranked. */
  readonly ranked: RankedPart | undefined;
}

/** Of a ranked search, a task writes either the ranked documents or the others. */
export interface RankedPart {
  /**
   * The only document of each element of `rows`, which are in the order of results. Undefined for the others.
   *
   * One slice writes them. Each thread has its own channel, and batches of different threads may overtake each other:
   * the slice continues only when all its batches have arrived, because it may continue in another thread.
   */
  readonly only: Uint32Array | undefined;
  /** Whether each of these documents has batches of its own, which say whose they are. */
  readonly isApart?: boolean | undefined;
  /** By element of `rows`: how its document was scored, if the client asked for it. */
  readonly scores: readonly string[] | undefined;
  /**
   * By element of `rows`, the ranges in its document, which need no search: how many are in its text and in its path, then
   * the pairs of the text, those of the path. Undefined where they are not known.
   */
  readonly ranges: readonly (Uint32Array | undefined)[] | undefined;
  /** By row: the documents to leave out. */
  readonly except: ReadonlyMap<number, ReadonlySet<number>> | undefined;
  /** What ranking knows of other documents: if none of them can be shown, the slice counts these instead of searching. */
  readonly examined: readonly ExaminedShard[];
}

/** The results that ranking found in a shard. */
export interface ExaminedShard {
  /** Index into the rows of the whole work. */
  readonly shard: number;
  readonly row: number;
  /** Whether these are all results of the shard. */
  readonly isWhole: boolean;
  /** Pairs: a document, and the number of its ranges in the text, with `rangesInPath` if its path has any. */
  readonly found: Uint32Array;
}

export interface CountedDocuments {
  /** As in `ExaminedShard`. */
  readonly shard: number;
  readonly documents: Uint32Array;
}

/** In a word of `found`. */
export const rangesInPath = 0x8000_0000;

/** A shard in the revision cache: its byte range in the cache's memory, and the summaries of its repositories. */
export interface CachedShardRange {
  readonly id: number;
  readonly from: number;
  readonly to: number;
  readonly summaries: Uint8Array;
  /** The value of its symbols; undefined if they are not wanted or not known. The id is of the value alone. */
  readonly symbols: { readonly id: number; readonly from: number; readonly to: number } | undefined;
}

/** Interactive searches have a limited result count; exhaustive searches yield to them. */
export type Lane = "interactive" | "exhaustive";

export interface ResumePosition {
  /** Index into the task's rows. */
  readonly shard: number;
  readonly position: ShardPosition;
}

/**
 * One slice of a look-up of the repositories that satisfy conditions. It posts no batches: it writes its results into
 * the shared memory of the conditions.
 */
export interface FindTask {
  readonly conditions: readonly FindCondition[];
  /** As in `SearchTask`, like `filter` and `rows`. */
  readonly table: SharedArrayBuffer;
  readonly filter: FilterMemory;
  readonly rows: Uint32Array;
  /** Word 0: the next index into `rows` to take, shared by the slices. */
  readonly next: Int32Array;
  /** Control block of the search; its stop word ends the slice. */
  readonly control: Int32Array;
  readonly lane: Lane;
  readonly resume: FindPosition | undefined;
}

/** What is read ahead of a shard. */
export type WarmPart = ShardPart | "symbols";

/** Verifies one part of a shard before a search needs it, and reads it into memory. Yields to waiting slices. */
export interface WarmTask {
  /** As in `SearchTask`, like `filter`. */
  readonly table: SharedArrayBuffer;
  readonly filter: FilterMemory;
  readonly row: number;
  readonly part: WarmPart;
  /** Word 0: nonzero stops the task. */
  readonly stop: Int32Array;
}

export interface WarmTaskResult {
  /** False if the task yielded or was stopped; what it has read stays in memory. */
  readonly isDone: boolean;
  readonly failures: readonly ShardFailure[];
}

export interface FindPosition {
  /** Index into the task's rows. */
  readonly shard: number;
  /** Index of the condition to evaluate next. */
  readonly condition: number;
  readonly content: number;
}

/**
 * A file that is excluded from results: searching it takes too much work, one of its lines has too many matches, or
 * ctags has failed for it and symbols are searched.
 */
export interface ExcludedFile {
  readonly shardId: number;
  readonly document: number;
  readonly repository: string;
  readonly path: string;
  readonly reason: "work" | "full-line" | SymbolFault;
}

export interface FindTaskResult {
  /** Where to resume; undefined if the look-up is complete or was stopped. */
  readonly resume: FindPosition | undefined;
  readonly stats: SearchStats;
  readonly failures: readonly ShardFailure[];
  readonly excluded: readonly ExcludedFile[];
}

export interface SearchTaskResult {
  /** Where to resume; undefined if no shards are left or the search was stopped. */
  readonly resume: ResumePosition | undefined;
  readonly stats: SearchStats;
  readonly shardStats: readonly { readonly shard: number; readonly stats: SearchStats }[];
  /** Number of batches that this slice has posted. They arrive on another channel, before or after this result. */
  readonly batchCount: number;
  /** The last batch, if it is small: in the same message, a short search wakes the main thread once. */
  readonly lastBatch: ResultBatch | undefined;
  readonly failures: readonly ShardFailure[];
  /** Some may be reported again when the slice resumes. */
  readonly excluded: readonly ExcludedFile[];
  /** Shards that were not searched for symbols, because theirs are not known. */
  readonly shardsWithoutSymbols: number;
  /** Of the examined shards, those that need no further search, because their results were counted. */
  readonly countedShards: readonly number[];
  /** Of the other examined shards, the documents that were counted. */
  readonly countedDocuments: readonly CountedDocuments[];
  /** What the slice covers; undefined if the search has no receipt. */
  readonly coverage: Coverage | undefined;
}

/** What results of look-ups and searches have in common. */
export type FinishedWork = Pick<SearchTaskResult, "stats" | "failures" | "excluded"> &
  Partial<Pick<SearchTaskResult, "shardsWithoutSymbols" | "coverage">>;

export interface ShardFailure {
  readonly shardId: number;
  readonly error: SerializedError;
}

/** Posted by a search worker while a slice runs, for each batch of results. */
export interface BatchMessage {
  readonly kind: "batch";
  readonly searchId: number;
  readonly slice: number;
  readonly batch: ResultBatch;
  /** The worker to which the memory of `batch.bytes` must be returned, if any. */
  readonly owner: number | undefined;
  /** The number of buffers that have been returned to that worker so far. */
  readonly takenBackCount: number;
}

/** Posted by a slice that is alone, at most once: other threads should search the remaining shards with it. */
export interface HelpMessage {
  readonly kind: "help";
  readonly searchId: number;
}

/** Maximum number of buffers that a worker keeps for reuse, including those that are being returned to it. */
export const spareBuffersMax = 8;

/** Posted by a search worker when it starts: the port on which its buffers are returned, one per message. */
export interface BufferOwnerMessage {
  readonly kind: "buffer-owner";
  readonly owner: number;
  readonly port: MessagePort;
}

/**
 * Results that have been counted although they are not written yet: all up to `last`, of which those up to `shown` will
 * be written. Results that another process has counted are written in any case.
 */
export interface CountedResults {
  readonly last: ResultPosition;
  readonly shown: ResultPosition;
  /** Rows to write of the last shown result. */
  readonly shownRows: number;
  /** Results at which limits of individual basic queries were reached. */
  readonly cuts: readonly ResultCut[];
}

/** Whether the result is one of those that have been counted. */
export function isCounted(
  counted: CountedResults | undefined,
  document: number,
  revision: number,
): counted is CountedResults {
  return counted !== undefined && !isBefore(counted.last, document, revision);
}

/** Position at which the search of a shard resumes: plain data that can be sent between threads. */
export interface ShardPosition {
  /** Contents before this one are finished. */
  readonly content: number;
  /** Results before this one are finished; document 0 if no result of the content is. */
  readonly result: ResultPosition;
  /** Rows of that result that have been written. */
  readonly rowsDone: number;
  /** Undefined if all counted results have been written. */
  readonly counted: CountedResults | undefined;
  /** True if the texts of the shard are finished, and contents are parts of its symbols. */
  readonly inSymbols?: boolean;
}

/**
 * The result in a block at which the limit of certain result options was reached; later results contain no matches for
 * them.
 */
export interface ResultCut {
  readonly optionsIndex: number;
  readonly at: ResultPosition;
  /** Matches that were taken of it. */
  readonly taken: number;
}

/** A document at one of its revisions, given by the revision's index in the list that is searched. */
export interface ResultPosition {
  readonly document: number;
  readonly revision: number;
}

/** True if the position precedes that of the document and revision. */
export function isBefore(position: ResultPosition, document: number, revision: number): boolean {
  return position.document < document || (position.document === document && position.revision < revision);
}

/** What a search with a receipt covers, counted by slices over the shards that they search. */
export interface Coverage {
  /** Documents at the searched revisions that pass the filters on repositories and paths. */
  documentCount: number;
  /** Those of them whose texts should be searched, and are not in the index or not decoded. */
  readonly unsearched: UnsearchedFile[];
}

export interface UnsearchedFile {
  readonly repository: string;
  readonly path: string;
  readonly reason: SkipReason;
}

export function emptyCoverage(): Coverage {
  return { documentCount: 0, unsearched: [] };
}

// Both the thread that sends a message of a search and the thread that receives it check it, so that an error names the side
// that is wrong.

const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Whether the results of a task are written in a given order; see `RankedPart.only`. */
export function isOrdered(ranked: RankedPart | undefined): boolean {
  return ranked?.only !== undefined;
}

type CheckedWork = Pick<SearchTask, "rows" | "cached" | "ranked">;

/** Work before it is posted. `tableCount` is the number of rows of its table; rows from there on are those of the cache. */
export function checkWork(work: CheckedWork, tableCount: number): void {
  for (let index = 0; index < work.rows.length; index++) checkRow(work, index, tableCount);
  const { only, scores, ranges, examined = [] } = work.ranked ?? {};
  assert(
    ranges === undefined || ranges.length === only?.length,
    "each ranked document has its ranges, if they are known",
  );
  for (const { row } of examined) assert(row < tableCount + work.cached.length, "an examined shard is one of the work");
  assert(only === undefined || only.length === work.rows.length, "each row of ranked work has its document");
  assert(scores === undefined || scores.length === only?.length, "each ranked document has its score");
}

/** One of its rows, when the thread that got it takes it. */
export function checkRow({ rows, cached, ranked }: CheckedWork, index: number, tableCount: number): void {
  assert(rows[index] < tableCount + cached.length, "a row is one of the table or of the cache");
  assert(isOrdered(ranked) || index === 0 || rows[index] > rows[index - 1], "rows ascend, unless they are ranked");
}

export function checkSearchResult({ resume, batchCount, lastBatch }: SearchTaskResult, task: SearchTask): void {
  assert(batchCount >= 0, "a slice counts the batches that it has posted");
  if (lastBatch !== undefined) checkBatch(lastBatch);
  if (resume === undefined) return;
  assert(resume.shard < task.rows.length, "a slice that is to resume has a row left");
  assert(resume.shard >= (task.resume?.shard ?? 0), "a slice does not go back");
}

/** Whether bytes begin and end as match objects do. */
export function holdsObjects(bytes: Uint8Array): boolean {
  return bytes.length === 0 || (bytes[0] === openBrace && bytes[bytes.length - 1] === closeBrace);
}

export function checkBatch({ bytes, selected, marks, contents }: ResultBatch): void {
  assert((marks?.records.length ?? 0) % markWords === 0, "a batch has whole marks");
  const recordCount = (contents?.records.length ?? 0) / contentRecordWords;
  assert(Number.isInteger(recordCount) && recordCount <= contentRecordsMax, "a batch has whole records of contents");
  assert(holdsObjects(bytes), "a batch has whole match objects");
  for (const { repositoryId, kind, json } of selected)
    assert(repositoryId >= 0 && (kind === "repository") === (json === ""), "a selected result is named or written");
}
