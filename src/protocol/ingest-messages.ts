import type { PreciseCounts } from "../model/precise-index.js";
import type { BackupFile, ManifestEntry } from "../backup/manifest.js";
import type { SerializedError } from "../base/errors.js";
import type { ShardRecord, StoredShard, SymbolRecord } from "../model/shard-record.js";
import type { HistoryShardRecord, HistoryScope } from "../model/history-record.js";
import type { IndexedBranch, Repository, VanishedKind } from "../model/repository.js";
import type { ObjectKind, ObjectName } from "../objects/object-store.js";
import type { ObjectSettings } from "../objects/open-objects.js";
import type { ShardFailure } from "./messages.js";

/** The tasks of an ingest worker. */
export type IngestTask =
  | SyncTask
  | MaintainTask
  | CompactTask
  | CheckTask
  | RemoveTask
  | BackupTask
  | IndexHistoryTask
  | SymbolsTask
  | BuildPreciseTask
  | StoreObjectTask
  | BringObjectTask;

/** Stores a value of this node where other nodes of its fleet find it. */
export interface StoreObjectTask {
  readonly kind: "store-object";
  readonly objects: ObjectSettings;
  readonly value: ObjectKind;
  /** For symbols, the checksum is not compared. */
  readonly shard: StoredShard;
  readonly stop: Int32Array;
}

/** Fetches a value that another node has stored. */
export interface BringObjectTask {
  readonly kind: "bring-object";
  readonly objects: ObjectSettings;
  readonly name: ObjectName;
  /** The shard that it becomes, or whose symbols it is; the checksum of what is brought. */
  readonly shard: StoredShard;
  readonly stop: Int32Array;
}

/** Builds a precise index from an upload. */
export interface BuildPreciseTask {
  readonly kind: "precise";
  readonly repositoryId: number;
  readonly commit: string;
  /** What precedes the paths of its documents: "", or a folder with a slash at its end. */
  readonly root: string;
  /** The files of the upload, in their order; together they are one index, compressed or not. */
  readonly files: readonly string[];
  readonly target: string;
  /** Limit on its size when it is decompressed. */
  readonly indexBytesMax: number;
  readonly stop: Int32Array;
}

export type BuildPreciseTaskResult =
  | ({ readonly kind: "built" } & PreciseContents)
  | { readonly kind: "failed"; readonly error: SerializedError };

/** What a precise index has, and which tool made it. */
export interface PreciseContents extends PreciseCounts {
  readonly toolName: string;
  readonly toolVersion: string;
}

/** Copies one part of a backup, or deletes files that no part needs. */
export interface BackupTask {
  readonly kind: "backup";
  /** The folder to which the backup is written. */
  readonly target: string;
  readonly part:
    | { readonly kind: "file"; readonly path: string; readonly source: string }
    | { readonly kind: "shard"; readonly shard: StoredShard; readonly isHistory: boolean }
    /** `earlier`: its entry in the previous backup. */
    | { readonly kind: "mirror"; readonly path: string; readonly earlier: ManifestEntry | undefined }
    | { readonly kind: "clean"; readonly entries: readonly ManifestEntry[] };
  readonly stop: Int32Array;
}

export interface BackupTaskResult {
  readonly file: BackupFile | undefined;
  /** Bytes that were not in the backup before. */
  readonly copiedBytes: number;
}

/** Fetches repositories, and indexes what has changed. */
export interface SyncTask {
  readonly kind: "sync";
  readonly repositories: readonly SyncInput[];
  /** Word 0: the next free shard id, shared by all tasks. */
  readonly shardIds: Int32Array;
  readonly limits: IndexLimits;
  readonly fetch: FetchSettings;
  /** True if no other task waits for the thread, so a fetch may be slow. If false, a slow fetch is `deferred`. */
  readonly isPatient: boolean;
  /** Word 0: nonzero stops the task. */
  readonly stop: Int32Array;
}

export interface IndexLimits {
  readonly fileBytesMax: number;
  /** Globs of paths that `fileBytesMax` does not apply to. */
  readonly largeFiles: readonly string[];
  readonly trigramCountMax: number;
}

/** Settings and limits of git processes that contact remotes. */
export interface FetchSettings {
  /** A fetch is stopped after this time without progress, and after `timeoutMs` in total. */
  readonly silenceMs: number;
  readonly timeoutMs: number;
  readonly bytesMax: number;
  /** Memory limit of each git process that fetches or repacks. */
  readonly memoryBytesMax: number;
  /** Disk space that must stay free. */
  readonly reserveBytes: number;
  /** Of the contents of Git LFS in one mirror. */
  readonly lfsBytesMax: number;
  /** Pointers of one mirror that are listed, see `LfsContents`. */
  readonly lfsPointersMax: number;
  readonly home: string;
  readonly sshCommand: string;
  readonly credentialHelper: string;
  readonly followRedirects: boolean;
  /** Networks that are not public, from which repositories may be fetched whose URL is not the operator's. */
  readonly networks: readonly string[];
}

export interface SyncInput {
  readonly repository: Repository;
  readonly shards: readonly SyncShard[];
  /** `USER:PASSWORD` for its URL, instead of the one that its credential names; undefined if there is none. */
  readonly secret: string | undefined;
  /** True to index everything again from the mirror, without fetching. */
  readonly rebuild: boolean;
  /** True to fetch everything into a new mirror, which replaces the old one if the fetch succeeds. */
  readonly recreate: boolean;
  /** True if somebody has asked for this sync: there is probably something to fetch. */
  readonly isRequested: boolean;
  /** True if the outcome may be `lacking`, which requests a new fetch of everything. */
  readonly mayRefetch: boolean;
  /** `Mirror.identity` of the mirror that this process indexed last, if objects were missing in it; "" otherwise. */
  readonly indexedMirror: string;
  /**
   * Whether the repository may lose all that is indexed: no; if what `Repository.vanished` names is missing still, because
   * it has been for long enough; or because somebody has asked for that.
   */
  readonly acceptsLoss: "no" | "confirmed" | "asked";
}

export interface SyncShard extends StoredShard {
  readonly tombstones: Uint32Array | undefined;
}

/** Posted while a sync task runs. */
export interface SyncProgress {
  readonly kind: "progress";
  readonly repositoryId: number;
  readonly phase: "fetching" | "reading" | "indexing" | "writing";
  /** In the unit of the phase (percent or documents); `total` is 0 if it is not known. */
  readonly done: number;
  readonly total: number;
}

export interface SyncTaskResult {
  readonly outcomes: readonly SyncOutcome[];
  /** The shards that were written. They are not in the catalog until the main thread commits them. */
  readonly shards: readonly ShardRecord[];
}

export interface HostLimit {
  /** With its port, see `hostAndPort`. */
  readonly host: string;
  readonly waitMs: number;
  /** Whether the host has said for how long. */
  readonly isAsked: boolean;
}

export type SyncOutcome =
  | {
      readonly kind: "unchanged";
      readonly repositoryId: number;
      readonly fetched: string;
      /** See `Repository`. */
      readonly warnings: readonly string[];
      /** See `Repository`. */
      readonly cut: string;
    }
  | {
      readonly kind: "failed";
      readonly repositoryId: number;
      readonly error: SerializedError;
      /** What the remote has not listed, if that is the error. */
      readonly vanished?: VanishedKind | undefined;
      /** The host that allows no more requests, if that is the error. */
      readonly limited?: HostLimit | undefined;
    }
  /** Its remote was too slow for a task that is not patient: it must be fetched in a task of its own. */
  | { readonly kind: "deferred"; readonly repositoryId: number }
  /** The mirror lacks objects: the index stays as it is until everything is fetched again. */
  | { readonly kind: "lacking"; readonly repositoryId: number }
  | {
      readonly kind: "changed";
      readonly repositoryId: number;
      readonly fetched: string;
      readonly warnings: readonly string[];
      /** See `Repository`. */
      readonly cut: string;
      readonly defaultBranch: string;
      readonly indexedBranches: readonly IndexedBranch[];
      readonly documentCount: number;
      readonly contentBytes: number;
      readonly skippedCounts: Readonly<Record<string, number>>;
      /** The number and size of the blobs that were read from the mirror. */
      readonly reads: { readonly blobCount: number; readonly byteCount: number };
      /** True if the new shards replace all previous ones; false if they and the tombstones are added to them. */
      readonly replaces: boolean;
      readonly tombstones: ReadonlyMap<number, readonly number[]>;
      /** See `Repository`. */
      readonly lfsTree: string | undefined;
      /** True if the mirror lacks objects, and what could be read of it was indexed nevertheless. */
      readonly lacksObjects: boolean;
      /** `Mirror.identity` of the mirror that was indexed. */
      readonly mirror: string;
    };

/** Repacks a mirror if it has many packs or loose objects. */
export interface MaintainTask {
  readonly kind: "maintain";
  readonly repository: Repository;
  readonly fetch: FetchSettings;
  readonly stop: Int32Array;
}

/** Merges the live documents of several shards into new shards. */
export interface CompactTask {
  readonly kind: "compact";
  /** Ids of the repositories that are not hidden; those of different groups are written into different shards. */
  readonly groups: readonly (readonly number[])[];
  readonly shards: readonly (SyncShard & { readonly repositoryIds: readonly number[]; readonly hasSymbols: boolean })[];
  readonly shardIds: Int32Array;
  readonly stop: Int32Array;
}

export interface CompactTaskResult {
  readonly shards: readonly ShardRecord[];
}

/** What to index of a history. */
export interface HistoryWork {
  /** Oids of the commits whose history is indexed. */
  readonly tips: readonly string[];
  /** Oids of commits whose history is indexed already, as far as it is wanted; undefined if that is not known. */
  readonly doneTips: readonly string[] | undefined;
  readonly scope: HistoryScope;
  /** Commits committed after `since` (Unix seconds) are indexed in any case, older ones while the text is below this. */
  readonly older: { readonly since: number; readonly textBytesMax: number };
  /** The history shards of the repository whose commits remain. */
  readonly kept: readonly StoredShard[];
}

/** What was indexed of a history. */
export interface HistoryCounts {
  /** Whether all commits were listed that `tips` reach. Otherwise those that `doneTips` reach are not counted below. */
  readonly isWhole: boolean;
  /** Whether the mirror lacks parents, which a later fetch may bring. */
  readonly isShallow: boolean;
  readonly reachableCount: number;
  /** Those of them that are in the kept shards or in the new one. */
  readonly indexedCount: number;
  /** Those that are wanted and not indexed yet, although they may be readable. */
  readonly leftCount: number;
  /** Commits that git cannot read, and commits some of whose files it cannot read. */
  readonly brokenCount: number;
  /** Kept shards that have none of the wanted commits. None if not all commits were listed. */
  readonly unusedIds: readonly number[];
}

/** Builds the next history shard of a repository, from its mirror as it is. */
export interface IndexHistoryTask extends HistoryWork {
  readonly kind: "history";
  readonly repositoryId: number;
  readonly shardIds: Int32Array;
  /** Word 0: the task waits while it is not zero. */
  readonly hold: Int32Array;
  readonly stop: Int32Array;
}

export interface IndexHistoryTaskResult extends HistoryCounts {
  /** The shard that was written. It is not in the catalog until the main thread commits it. */
  readonly shard: HistoryShardRecord | undefined;
}

/** `symbols`: the checksum of its symbols; undefined if it has none. */
export interface CheckedShard extends StoredShard {
  readonly symbols?: number | undefined;
}

/** Verifies that shards are in the store, that they are those in the catalog, and that their checksums match. */
export interface CheckTask {
  readonly kind: "check";
  readonly shards: readonly CheckedShard[];
  /** Whether they are history shards. */
  readonly isHistory: boolean;
  /** Whether to read only the headers, or everything that has a checksum. */
  readonly part: "headers" | "whole";
  readonly stop: Int32Array;
}

export interface CheckTaskResult {
  readonly failures: readonly ShardFailure[];
  /** Shards whose symbols are missing or damaged, though the catalog has a record of them. */
  readonly lostSymbols: readonly number[];
}

/** Looks for ctags and, if `shard` is defined, extracts and stores the symbols of its texts. */
export interface SymbolsTask {
  readonly kind: "symbols";
  /** The name or the path of ctags. */
  readonly command: string;
  readonly shard: StoredShard | undefined;
  readonly stop: Int32Array;
}

export type SymbolsTaskResult =
  /** `record` is undefined if no shard was given. */
  | { readonly kind: "found"; readonly producer: string; readonly record: SymbolRecord | undefined }
  /** Symbols cannot be extracted; the reason is a sentence. */
  | { readonly kind: "lack"; readonly reason: string };

/** Deletes shards. */
export interface RemoveTask {
  readonly kind: "remove";
  readonly shardIds: readonly number[];
}
