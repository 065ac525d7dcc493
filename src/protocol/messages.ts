import type { MessagePort } from "node:worker_threads";
import type { BackupFile, ManifestEntry } from "../backup/manifest.js";
import type { SerializedError } from "../base/errors.js";
import type { FindCondition, SearchOptions, SearchStats } from "./search-options.js";
import type { ResultBatch } from "./result-batch.js";
import type { ShardPosition } from "./shard-position.js";
import type { ShardPart } from "./shard-table.js";
import type { ShardRecord, StoredShard } from "../model/shard-record.js";
import type { IndexedBranch, Repository } from "../model/repository.js";

/** What both kinds of worker are started with. */
export interface WorkerSettings {
  readonly dataFolder: string;
  readonly kernel: "native" | "ts";
}

export interface SearchWorkerSettings extends WorkerSettings {
  /** Word 0: how many slices wait for a worker. A running slice gives way when it is not 0. */
  readonly pressure: Int32Array;
  /** The memory of the revision cache. */
  readonly arena: SharedArrayBuffer;
}

/** One slice of a search: it takes shards from the search's shared counter until it is done or gives way. */
export interface SearchTask {
  readonly searchId: number;
  /** Counts the slices of a search; a batch carries it. */
  readonly slice: number;
  readonly options: SearchOptions;
  /** Memory of the `ShardTable` of the search's view. */
  readonly table: SharedArrayBuffer;
  /** Memory of the `ShardFilter` of the search's view. */
  readonly filter: SharedArrayBuffer;
  /** The shards to search, as rows of the table. */
  readonly rows: Uint32Array;
  /** Shards of the revision cache: they have the row numbers after those of the table. */
  readonly cached: readonly CachedShardRange[];
  readonly control: Int32Array;
  /** Which slot of the control block this slice has. */
  readonly slot: number;
  readonly lane: Lane;
  readonly resume: ResumePosition | undefined;
  /** True to return stats by shard. */
  readonly explain: boolean;
}

/** A shard in the memory of the revision cache, from a byte offset to another, and the cards of its repositories. */
export interface CachedShardRange {
  readonly id: number;
  readonly from: number;
  readonly to: number;
  readonly cards: Uint8Array;
}

/** Interactive searches have a bounded count; exhaustive ones give way to them. */
export type Lane = "interactive" | "exhaustive";

export interface ResumePosition {
  /** Index into the task's rows. */
  readonly shard: number;
  readonly position: ShardPosition;
}

/**
 * One slice of the look for repositories that a search has conditions on. It sends nothing: what is found is in the
 * conditions.
 */
export interface FindTask {
  readonly conditions: readonly FindCondition[];
  /** This and the filter are as of a `SearchTask`. */
  readonly table: SharedArrayBuffer;
  readonly filter: SharedArrayBuffer;
  readonly rows: Uint32Array;
  /** Word 0: the next index into `rows` to take, shared by the slices. */
  readonly next: Int32Array;
  /** Control block of the search, whose stop word ends the slice. */
  readonly control: Int32Array;
  readonly lane: Lane;
  readonly resume: FindPosition | undefined;
}

/** Verifies one shard before a search needs it, and maps it into memory. Gives way to slices that wait. */
export interface WarmTask {
  /** This and the filter are as of a `SearchTask`. */
  readonly table: SharedArrayBuffer;
  readonly filter: SharedArrayBuffer;
  readonly row: number;
  readonly part: ShardPart;
  /** Word 0: not 0 when the task shall end. */
  readonly stop: Int32Array;
}

export interface WarmTaskResult {
  /** False when the task gave way or was stopped; what it has read stays in memory. */
  readonly isDone: boolean;
  readonly failures: readonly ShardFailure[];
}

export interface FindPosition {
  /** Index into the task's rows. */
  readonly shard: number;
  /** Index of the condition that is looked for. */
  readonly condition: number;
  readonly content: number;
}

/**
 * A file that a search left out: looking for the pattern in it takes too much work, or it has too many matches on a
 * line.
 */
export interface ExcludedFile {
  readonly shardId: number;
  readonly document: number;
  readonly repository: string;
  readonly path: string;
  readonly reason: "work" | "full-line";
}

export interface FindTaskResult {
  /** Where to go on; undefined when there is nothing left or the search was stopped. */
  readonly resume: FindPosition | undefined;
  readonly stats: SearchStats;
  readonly failures: readonly ShardFailure[];
  readonly leftOut: readonly ExcludedFile[];
}

export interface SearchTaskResult {
  /** Where to go on; undefined when the counter has no more shards or the search was stopped. */
  readonly resume: ResumePosition | undefined;
  readonly stats: SearchStats;
  readonly shardStats: readonly { readonly shard: number; readonly stats: SearchStats }[];
  /** Batches that this slice has posted: they arrive on another channel, before or after this result. */
  readonly batchCount: number;
  readonly failures: readonly ShardFailure[];
  /** Some may be there again when the slice goes on. */
  readonly leftOut: readonly ExcludedFile[];
}

export interface ShardFailure {
  readonly shardId: number;
  readonly error: SerializedError;
}

/** Posted by a search worker beside its result. */
export interface BatchMessage {
  readonly kind: "batch";
  readonly searchId: number;
  readonly slice: number;
  readonly batch: ResultBatch;
  /** The worker that wants the memory of `batch.bytes` back; undefined when nobody does. */
  readonly owner: number | undefined;
  /** How many buffers that worker has taken back so far. */
  readonly takenBackCount: number;
}

/** Buffers that a worker keeps for its next batches, and that may be on their way back to it. */
export const spareBuffersMax = 8;

/** Posted by a search worker when it starts: where its buffers are given back, each as a message. */
export interface BufferOwnerMessage {
  readonly kind: "buffer-owner";
  readonly owner: number;
  readonly port: MessagePort;
}

/** What an ingest worker is asked to do. */
export type IngestTask = SyncTask | MaintainTask | CompactTask | CheckTask | RemoveTask | BackupTask;

/**
 * Copy one part of a backup, or delete what none of its parts needs. The result is what the manifest says of it;
 * undefined for the latter.
 */
export interface BackupTask {
  readonly kind: "backup";
  /** The folder of the contents of the backup. */
  readonly target: string;
  readonly part:
    | { readonly kind: "file"; readonly path: string; readonly source: string }
    | { readonly kind: "shard"; readonly shard: StoredShard }
    /** `earlier`: what the backup before has of it. */
    | { readonly kind: "mirror"; readonly path: string; readonly earlier: ManifestEntry | undefined }
    | { readonly kind: "clean"; readonly entries: readonly ManifestEntry[] };
  readonly stop: Int32Array;
}

export interface BackupTaskResult {
  readonly file: BackupFile | undefined;
  /** What was not there before. */
  readonly copiedBytes: number;
}

/** Fetch repositories, and index what changed. */
export interface SyncTask {
  readonly kind: "sync";
  readonly repositories: readonly SyncInput[];
  /** Word 0: the next free shard id, shared by all tasks. */
  readonly shardIds: Int32Array;
  readonly limits: IndexLimits;
  readonly fetch: FetchSettings;
  /**
   * Nobody waits for the thread: a fetch may take its time. Of other tasks one that does is put off, see `SyncOutcome`.
   */
  readonly isPatient: boolean;
  /** Word 0 not 0: stop. */
  readonly stop: Int32Array;
}

export interface IndexLimits {
  readonly fileBytesMax: number;
  /** Globs of paths that `fileBytesMax` does not hold for. */
  readonly largeFiles: readonly string[];
  readonly trigramCountMax: number;
}

/** How git reaches remotes. */
export interface FetchSettings {
  /** A fetch without progress for this long is given up, and one that takes longer than that in all. */
  readonly silenceMs: number;
  readonly timeoutMs: number;
  readonly bytesMax: number;
  /** Of each process of git that fetches or repacks. */
  readonly memoryBytesMax: number;
  /** Of the disk, what is to stay free. */
  readonly reserveBytes: number;
  readonly home: string;
  readonly sshCommand: string;
  readonly credentialHelper: string;
  readonly followRedirects: boolean;
}

export interface SyncInput {
  readonly repository: Repository;
  readonly shards: readonly SyncShard[];
  /** True to index everything again from the mirror as it is, without a fetch. */
  readonly rebuild: boolean;
  /** True to fetch everything into a new mirror, which takes the place of the old one when that has succeeded. */
  readonly recreate: boolean;
  /** Whether fetching everything anew may be asked for by the outcome `lacking`. */
  readonly mayRefetch: boolean;
}

export interface SyncShard extends StoredShard {
  readonly tombstones: Uint32Array | undefined;
}

/** Posted while a sync task runs. */
export interface SyncProgress {
  readonly kind: "progress";
  readonly repositoryId: number;
  readonly phase: "fetching" | "reading" | "indexing" | "writing";
  /** In the phase's own unit (percent, documents); total 0 when not known. */
  readonly done: number;
  readonly total: number;
}

export interface SyncTaskResult {
  readonly outcomes: readonly SyncOutcome[];
  /** Shards written; they are unknown to the catalog until the main thread commits them. */
  readonly shards: readonly ShardRecord[];
}

export type SyncOutcome =
  | { readonly kind: "unchanged"; readonly repositoryId: number; readonly fetched: string }
  | { readonly kind: "failed"; readonly repositoryId: number; readonly error: SerializedError }
  /** Its remote kept the others of the task waiting: it is to be fetched in a task of its own. */
  | { readonly kind: "deferred"; readonly repositoryId: number }
  /** Objects are missing from the mirror that its source had: what is indexed stays until all is fetched anew. */
  | { readonly kind: "lacking"; readonly repositoryId: number }
  | {
      readonly kind: "changed";
      readonly repositoryId: number;
      readonly fetched: string;
      readonly defaultBranch: string;
      readonly indexedBranches: readonly IndexedBranch[];
      readonly documentCount: number;
      readonly contentBytes: number;
      readonly skippedCounts: Readonly<Record<string, number>>;
      /** Blobs that had to be read from the mirror. */
      readonly reads: { readonly blobCount: number; readonly byteCount: number };
      /** True when the new shards replace all that was there; false when they and the tombstones come on top. */
      readonly replaces: boolean;
      readonly tombstones: ReadonlyMap<number, readonly number[]>;
      /** As with `lacking`, where nothing was indexed before, or the mirror is all there is. */
      readonly lacksObjects: boolean;
    };

/** Repack a mirror if it has many packs or loose objects. */
export interface MaintainTask {
  readonly kind: "maintain";
  readonly repository: Repository;
  readonly fetch: FetchSettings;
  readonly stop: Int32Array;
}

/** Merge the living documents of several shards into new ones. */
export interface CompactTask {
  readonly kind: "compact";
  readonly shards: readonly (SyncShard & { readonly repositoryIds: readonly number[] })[];
  readonly shardIds: Int32Array;
  readonly stop: Int32Array;
}

export interface CompactTaskResult {
  readonly shards: readonly ShardRecord[];
}

/** Verify shards: that the store has them, that they are the ones that the catalog means, and their checksums. */
export interface CheckTask {
  readonly kind: "check";
  readonly shards: readonly StoredShard[];
  /** What is read: headers alone, or all that has a checksum. */
  readonly part: "headers" | "whole";
  readonly stop: Int32Array;
}

export interface CheckTaskResult {
  readonly failures: readonly ShardFailure[];
}

/** Delete shards, or find those that the catalog doesn't know. */
export interface RemoveTask {
  readonly kind: "remove";
  readonly shardIds: readonly number[];
}
