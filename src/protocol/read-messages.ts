import type {
  AuthorFilter,
  BuildHistory,
  BuiltHistory,
  FilteredHistory,
  FilterHistory,
  ListCommits,
  ListedCommits,
} from "./history-messages.js";
import type { IndexedBranch } from "../model/repository.js";
import type { WorkerSettings } from "./messages.js";
import type { IndexLimits, SyncShard } from "./ingest-messages.js";
import type { ResolvedRevision, RevisionSpec } from "../model/revision-syntax.js";
import type { SerializedError } from "../base/errors.js";
import type { GitReadKinds, HighlightedText, HighlightTexts, RenderMarkdown } from "./git-messages.js";

/**
 * The requests to read workers by kind, with their results. To add a kind, add a row here, and a file in `read/` that
 * [read-worker.ts](../worker/read-worker.ts) calls.
 */
export interface ReadKinds extends GitReadKinds {
  "commit-attributes": { readonly request: ReadCommitAttributes; readonly answer: CommitAttributes };
  "resolve-revisions": { readonly request: ResolveRevisions; readonly answer: ResolvedRevisions };
  "find-documents": { readonly request: FindDocuments; readonly answer: FoundDocuments };
  "highlight-texts": {
    readonly request: HighlightTexts;
    readonly answer: { readonly texts: readonly HighlightedText[] };
  };
  "render-markdown": { readonly request: RenderMarkdown; readonly answer: { readonly html: string } };
  "list-commits": { readonly request: ListCommits; readonly answer: ListedCommits };
  "build-history": { readonly request: BuildHistory; readonly answer: BuiltHistory };
  "filter-history": { readonly request: FilterHistory; readonly answer: FilteredHistory };
  "cache-documents": { readonly request: CacheDocuments; readonly answer: CachedDocuments };
  "compare-matches": { readonly request: CompareMatches; readonly answer: ComparedMatches };
  "convert-results": { readonly request: ConvertResults; readonly answer: ConvertedResults };
  "extract-symbols": { readonly request: ExtractSymbols; readonly answer: ExtractedSymbols };
}

export type ReadKind = keyof ReadKinds;
export type ReadRequest = ReadKinds[ReadKind]["request"];
export type ReadAnswer<Kind extends ReadKind> = ReadKinds[Kind]["answer"];

/** A request as sent to a worker. */
export interface ReadTask {
  readonly request: ReadRequest;
  /**
   * The task stops if word 0 of any of them is not 0. The caller sets one of them, and the pool sets the other when the
   * time is over.
   */
  readonly stops: readonly Int32Array[];
}

/** An error is sent as data, because an Error loses its code when it is sent to another thread. */
export type ReadOutcome =
  | { readonly ok: true; readonly answer: ReadAnswer<ReadKind> }
  | { readonly ok: false; readonly error: SerializedError };

/** Resolves revisions of repositories to commits. */
export interface ResolveRevisions {
  readonly kind: "resolve-revisions";
  readonly repositories: readonly { readonly repositoryId: number; readonly specs: readonly RevisionSpec[] }[];
}

export interface ResolvedRevisions {
  /** In the order of the request. */
  readonly repositories: readonly RevisionsOfRepository[];
}

/** A failure of one repository does not affect the others. */
export interface RevisionsOfRepository {
  readonly repositoryId: number;
  readonly revisions: readonly ResolvedRevision[];
  /** As typed. */
  readonly missing: readonly string[];
  /** Several commits have ids that begin so. */
  readonly ambiguous: readonly string[];
  readonly malformed: readonly string[];
  /** Why the mirror could not be read; the lists are then empty. */
  readonly error: SerializedError | undefined;
}

/** Requests about single commits. */
export type CommitQuestion =
  /** The date of the commit. */
  | { readonly kind: "commit-date" }
  | HasFile
  /** The text of its CODEOWNERS file. */
  | { readonly kind: "code-owners" }
  /**
   * For each path, who changed it in the history of the commit: one bit per filter, set if an author matches it. At
   * most 32 filters.
   */
  | {
      readonly kind: "contributors";
      readonly filters: readonly AuthorFilter[];
    };

/** Whether it has a file whose path and text both match; "" for no condition. Ignores case. RE2 sources. */
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
  /** See `Repository`. */
  readonly lfsTree?: string | undefined;
  /** See `filesKey`. */
  readonly files?: string;
}

export interface ReadCommitAttributes {
  readonly kind: "commit-attributes";
  readonly question: CommitQuestion;
  readonly commits: readonly CommitOfRepository[];
}

export interface CommitAttributes {
  /** In the order of the request. */
  readonly attributes: readonly CommitAttribute[];
}

/** The result of a request about a commit; a failure for one commit does not affect the others. */
export type CommitAttribute =
  /**
   * `bytes` is a text or the output of `encodePathMasks`; undefined if there is none. `unixSeconds` is the commit date,
   * if that was requested.
   */
  | {
      readonly kind: "known";
      readonly holds: boolean;
      readonly bytes: Uint8Array | undefined;
      readonly unixSeconds?: number;
    }
  | { readonly kind: "failed"; readonly error: SerializedError };
/** Determines which documents in shards the commits of one repository have, and which documents are in no shard. */
export interface FindDocuments {
  readonly kind: "find-documents";
  readonly repositoryId: number;
  /** See `Repository`. */
  readonly lfsTree: string | undefined;
  /** Whether the contents of its submodules are searchable. */
  readonly withSubmodules: boolean;
  /** An indexed branch with which the commits are compared; undefined if none is indexed. */
  readonly base: Pick<IndexedBranch, "bit" | "commit" | "contentTree"> | undefined;
  readonly commits: readonly string[];
  /** Live shards that contain documents of the repository. */
  readonly live: readonly SyncShard[];
  /** Shards of the revision cache that contain documents of the repository, as locations in its memory. */
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
 * The *set* of a document is the number of a set of commits that have it; 0 if none has. Set i consists of the pairs
 * `[setStarts[i], setStarts[i + 1])` of `setRanges`: each pair is a half-open range of indexes into `commits`.
 */
export interface FoundDocuments {
  /** The commits covered, oldest first: all, or as many as memory allows. */
  readonly commits: readonly string[];
  readonly setStarts: Uint32Array;
  readonly setRanges: Uint32Array;
  /** The set of each document of the shards, in the order of the request; in shared memory. */
  readonly live: readonly Uint32Array[];
  readonly cached: readonly Uint32Array[];
  /** Documents that no shard has, in parts, each of which becomes one shard of the revision cache. */
  readonly parts: readonly MissingPart[];
}

export interface MissingPart {
  /** For `CacheDocuments`. */
  readonly entries: Uint8Array;
  readonly documentCount: number;
  readonly textBytes: number;
  /** Upper limit for the size of its shard. */
  readonly shardBytesMax: number;
}

/** Builds a shard of documents in the memory of the revision cache. */
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
  /** Blobs read from the mirror. */
  readonly readCount: number;
  /** Documents whose blob is missing from the mirror. */
  readonly missingCount: number;
  readonly sets: Uint32Array;
}

/** Extracts the symbols of a shard of the revision cache, and writes their value to its memory. */
export interface ExtractSymbols {
  readonly kind: "extract-symbols";
  readonly shard: CachedShardBytes;
  /** Where the value is written if it fits. */
  readonly value: Omit<CachedShardBytes, "id">;
}

export type ExtractedSymbols =
  | { readonly kind: "stored"; readonly byteCount: number }
  /** The value needs more space, and was not written. */
  | { readonly kind: "larger"; readonly byteCount: number }
  /** Symbols cannot be extracted; the reason is a sentence. */
  | { readonly kind: "lack"; readonly reason: string };

/** Settings with which read workers are started. */
export interface ReadWorkerSettings extends WorkerSettings {
  /** The memory of the revision cache. */
  readonly arena: SharedArrayBuffer;
  /** Universal Ctags; undefined if symbols are not wanted. */
  readonly ctagsCommand: string | undefined;
}

/**
 * Compares the matches of the older and the newer commit of some revisions. A match object names its revision and side
 * in `branches`: see `sideName`.
 */
export interface CompareMatches {
  readonly kind: "compare-matches";
  /** Arrays of match objects: JSON. */
  readonly matches: readonly Uint8Array[];
  readonly revisions: readonly ComparedRevision[];
  /** Whether there may be matches of other revisions, which are left out: a node that was lost had begun to find them. */
  readonly isPartial: boolean;
}

export interface ComparedRevision {
  /** Its number in `sideName`. */
  readonly side: number;
  readonly repository: string;
  readonly repositoryId: number;
  readonly revision: string;
}

export interface ComparedMatches {
  /** `MatchChange` objects separated by commas, each piece for one event. */
  readonly pieces: readonly Uint8Array[];
  readonly came: number;
  readonly went: number;
  readonly moved: number;
}

/** The name under which a search for changes searches one commit of the revision with this number. */
export function sideName(side: number, isNew: boolean): string {
  return `${side}${isNew ? "+" : "-"}`;
}

/** The inverse of `sideName`. */
export function parseSideName(name: string): { readonly side: number; readonly isNew: boolean } {
  return { side: Number.parseInt(name, 10), isNew: name.endsWith("+") };
}

/** A format with one row for each result, made from the JSON lines of a search job. */
export type TableFormat = "csv" | "parquet";

/** Converts a part of the results of a search job, and appends it to a file. */
export interface ConvertResults {
  readonly kind: "convert-results";
  readonly format: TableFormat;
  /** The JSON lines: the part from `from` on, at most up to `to`. Both are byte offsets between lines. */
  readonly source: string;
  readonly from: number;
  readonly to: number;
  /** The file to append to. What follows `targetBytes` was written by a task that failed, and is removed. */
  readonly target: string;
  readonly targetBytes: number;
  /** The size that the file may get. */
  readonly targetBytesMax: number;
  /** What precedes the paths of pages in URLs. */
  readonly baseUrl: string;
  /** To end a Parquet file, after its last part: `rowGroup` of each part, in their order. */
  readonly rowGroups: readonly Uint8Array[] | undefined;
}

export interface ConvertedResults {
  /** Where the next part begins. */
  readonly to: number;
  readonly targetBytes: number;
  /** What the end of a Parquet file must say about this part. */
  readonly rowGroup: Uint8Array | undefined;
}
