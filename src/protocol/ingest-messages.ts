import type { BackupFile, ManifestEntry } from "../backup/manifest.js";
import type { SerializedError } from "../base/errors.js";
import type { ShardRecord, StoredShard } from "../model/shard-record.js";
import type { IndexedBranch, Repository } from "../model/repository.js";
import type { ShardFailure } from "./messages.js";

/** The tasks of an ingest worker. */
export type IngestTask = SyncTask | MaintainTask | CompactTask | CheckTask | RemoveTask | BackupTask;

/** Copy one part of a backup, or delete files that no part needs. */
export interface BackupTask {
  readonly kind: "backup";
  /** The folder of the backup. */
  readonly target: string;
  readonly part:
    | { readonly kind: "file"; readonly path: string; readonly source: string }
    | { readonly kind: "shard"; readonly shard: StoredShard }
    /** `earlier`: its entry in the previous backup. */
    | { readonly kind: "mirror"; readonly path: string; readonly earlier: ManifestEntry | undefined }
    | { readonly kind: "clean"; readonly entries: readonly ManifestEntry[] };
  readonly stop: Int32Array;
}

export interface BackupTaskResult {
  readonly file: BackupFile | undefined;
  /** Bytes that the backup did not have before. */
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
  /** True when nobody waits for the thread, so that a fetch may be slow. Otherwise a slow fetch is `deferred`. */
  readonly isPatient: boolean;
  /** Word 0 not 0: stop. */
  readonly stop: Int32Array;
}

export interface IndexLimits {
  readonly fileBytesMax: number;
  /** Globs of paths that `fileBytesMax` does not apply to. */
  readonly largeFiles: readonly string[];
  readonly trigramCountMax: number;
}

/** How git reaches remotes. */
export interface FetchSettings {
  /** A fetch is abandoned after this time without progress, or when it takes longer than `timeoutMs`. */
  readonly silenceMs: number;
  readonly timeoutMs: number;
  readonly bytesMax: number;
  /** Memory of each git process that fetches or repacks. */
  readonly memoryBytesMax: number;
  /** Disk space that must stay free. */
  readonly reserveBytes: number;
  readonly home: string;
  readonly sshCommand: string;
  readonly credentialHelper: string;
  readonly followRedirects: boolean;
}

export interface SyncInput {
  readonly repository: Repository;
  readonly shards: readonly SyncShard[];
  /** True to index everything again from the mirror, without a fetch. */
  readonly rebuild: boolean;
  /** True to fetch everything into a new mirror, which replaces the old one when that has succeeded. */
  readonly recreate: boolean;
  /** Whether the outcome may be `lacking`, which asks for fetching everything anew. */
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
  /** Its remote was slow and other repositories of the task waited: it must be fetched in a task of its own. */
  | { readonly kind: "deferred"; readonly repositoryId: number }
  /** The mirror lacks objects: the index is unchanged until everything is fetched anew. */
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
      /** True when the new shards replace all previous ones; false when they and the tombstones are additional. */
      readonly replaces: boolean;
      readonly tombstones: ReadonlyMap<number, readonly number[]>;
      /** As for `lacking`, when nothing was indexed before or the mirror is the only source. */
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

/** Verify that shards are in the store, that they are those of the catalog, and that their checksums match. */
export interface CheckTask {
  readonly kind: "check";
  readonly shards: readonly StoredShard[];
  /** Whether only headers are read, or everything that has a checksum. */
  readonly part: "headers" | "whole";
  readonly stop: Int32Array;
}

export interface CheckTaskResult {
  readonly failures: readonly ShardFailure[];
}

/** Delete shards. */
export interface RemoveTask {
  readonly kind: "remove";
  readonly shardIds: readonly number[];
}
