import type { IndexLimits, SyncShard, WorkerSettings } from "./messages.js";
import type { ResolvedRevision, RevisionSpec } from "../model/revision.js";
import type { SerializedError } from "../base/errors.js";
import type { GitReadKinds, HighlightedText, HighlightTexts } from "./git-messages.js";

/**
 * What read workers are asked, by kind, and what they answer. A new kind is a row here, and a file in `read/` that
 * [read-worker.ts](read-worker.ts) calls.
 */
export interface ReadKinds extends GitReadKinds {
  "commit-attributes": { readonly request: ReadCommitAttributes; readonly answer: CommitAttributes };
  "resolve-revisions": { readonly request: ResolveRevisions; readonly answer: ResolvedRevisions };
  "find-documents": { readonly request: FindDocuments; readonly answer: FoundDocuments };
  "highlight-texts": {
    readonly request: HighlightTexts;
    readonly answer: { readonly texts: readonly HighlightedText[] };
  };
  "cache-documents": { readonly request: CacheDocuments; readonly answer: CachedDocuments };
}

export type ReadKind = keyof ReadKinds;
export type ReadRequest = ReadKinds[ReadKind]["request"];
export type ReadAnswer<Kind extends ReadKind> = ReadKinds[Kind]["answer"];

/** A request on its way to a worker. */
export interface ReadTask {
  readonly request: ReadRequest;
  /** Word 0 of any of them not 0: stop. The caller sets the one, the pool the other when time is over. */
  readonly stops: readonly Int32Array[];
}

/** An error crosses as data, since an Error loses its code between threads. */
export type ReadOutcome =
  | { readonly ok: true; readonly answer: ReadAnswer<ReadKind> }
  | { readonly ok: false; readonly error: SerializedError };

/** Which commits revisions of repositories stand for. */
export interface ResolveRevisions {
  readonly kind: "resolve-revisions";
  readonly repositories: readonly { readonly repositoryId: number; readonly specs: readonly RevisionSpec[] }[];
}

export interface ResolvedRevisions {
  /** In the order asked. */
  readonly repositories: readonly RevisionsOfRepository[];
}

/** One repository that fails does not touch the others. */
export interface RevisionsOfRepository {
  readonly repositoryId: number;
  readonly revisions: readonly ResolvedRevision[];
  /** As typed. */
  readonly missing: readonly string[];
  readonly malformed: readonly string[];
  /** Why the mirror could not be read; then the lists are empty. */
  readonly error: SerializedError | undefined;
}

/** What is asked of single commits. */
export type CommitQuestion =
  /** When it was committed. */
  | { readonly kind: "commit-date" }
  | HasFile
  /** The text of its CODEOWNERS file. */
  | { readonly kind: "code-owners" }
  /**
   * By path, who changed it in the history of the commit: a bit for each filter that some author matches. At most 32.
   */
  | {
      readonly kind: "contributors";
      readonly filters: readonly { readonly source: string; readonly foldCase: boolean }[];
    };

/** Whether it has a file whose path and text both match; "" where nothing is asked. Case is ignored. RE2 sources. */
export interface HasFile {
  readonly kind: "has-file";
  readonly path: string;
  readonly content: string;
  readonly limits: IndexLimits;
}

export interface CommitOfRepository {
  readonly repositoryId: number;
  /** Full oid. */
  readonly commit: string;
}

export interface ReadCommitAttributes {
  readonly kind: "commit-attributes";
  readonly question: CommitQuestion;
  readonly commits: readonly CommitOfRepository[];
}

export interface CommitAttributes {
  /** In the order asked. */
  readonly attributes: readonly CommitAttribute[];
}

/** The answer to a question; one commit that fails does not touch the others. */
export type CommitAttribute =
  /**
   * `bytes` is a text, or `encodePathMasks`; undefined when there is none. `unixSeconds` is of the commit's date, when
   * that was asked.
   */
  | {
      readonly kind: "known";
      readonly holds: boolean;
      readonly bytes: Uint8Array | undefined;
      readonly unixSeconds?: number;
    }
  | { readonly kind: "failed"; readonly error: SerializedError };
/** Which documents of shards commits of one repository have, and which documents no shard has. */
export interface FindDocuments {
  readonly kind: "find-documents";
  readonly repositoryId: number;
  /** An indexed branch, to which the commits are compared; undefined when none is indexed. */
  readonly base: { readonly bit: number; readonly commit: string } | undefined;
  readonly commits: readonly string[];
  /** Live shards that hold documents of the repository. */
  readonly live: readonly SyncShard[];
  /** The same of the revision cache: where they are in its memory. */
  readonly cached: readonly CachedShardBytes[];
  readonly limits: IndexLimits;
}

/** A shard in the memory of the revision cache. */
export interface CachedShardBytes {
  readonly id: number;
  /** Byte offsets. */
  readonly from: number;
  readonly to: number;
}

/**
 * A document's *set* says which of the commits have it: a number, 0 for none of them. Set i is the pairs
 * `[setStarts[i], setStarts[i + 1])` of `setRanges`: from this index of `commits` to before that.
 */
export interface FoundDocuments {
  /** The commits that are covered, the oldest first: all, or as many as memory allows. */
  readonly commits: readonly string[];
  readonly setStarts: Uint32Array;
  readonly setRanges: Uint32Array;
  /** The set of each document of the shards, in the order asked; in shared memory. */
  readonly live: readonly Uint32Array[];
  readonly cached: readonly Uint32Array[];
  /** Documents that no shard has, in parts that each become one shard of the revision cache. */
  readonly parts: readonly MissingPart[];
}

export interface MissingPart {
  /** For `CacheDocuments`. */
  readonly entries: Uint8Array;
  readonly documentCount: number;
  readonly textBytes: number;
  /** No shard of them is larger. */
  readonly shardBytesMax: number;
}

/** Make a shard of documents in the memory of the revision cache. */
export interface CacheDocuments {
  readonly kind: "cache-documents";
  readonly repositoryId: number;
  readonly entries: Uint8Array;
  readonly bytes: CachedShardBytes;
  readonly limits: IndexLimits;
}

export interface CachedDocuments {
  /** Bytes of the shard. */
  readonly byteCount: number;
  /** Blobs that were read from the mirror. */
  readonly readCount: number;
  /** Documents whose blob the mirror lacks. */
  readonly missingCount: number;
  readonly sets: Uint32Array;
}

/** What read workers are started with. */
export interface ReadWorkerSettings extends WorkerSettings {
  /** The memory of the revision cache. */
  readonly arena: SharedArrayBuffer;
}
