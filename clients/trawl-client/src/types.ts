// Written by `make openapi` from src/http/api/schemas.ts. Members that are undefined are absent; there may be others.

/** The data of an `alert` event. */
export interface Alert {
  readonly title: string;
  readonly proposedQueries: null | readonly ProposedQuery[];
  readonly description?: string;
  readonly kind?: string;
  /** What is wrong in the query: UTF-8 bytes, end exclusive. */
  readonly place?: {
    readonly from: number;
    readonly to: number;
  };
}

/** With since or watch=1: what was compared. */
export interface ChangeSummary {
  readonly came: number;
  readonly went: number;
  readonly moved: number;
  readonly revisionsChanged: number;
  readonly repositoriesGone: readonly string[];
  readonly basesGone: readonly ({
    readonly repository: string;
    readonly revision: string;
    readonly commit: string;
  })[];
}

/** Consecutive whole lines with matches, or a part of a very long line. */
export interface ChunkMatch {
  readonly content: string;
  readonly contentStart: Location;
  readonly ranges: readonly Range[];
  /** Of a search for a list of patterns: the index of the pattern, and its start and end in bytes. */
  readonly patterns?: readonly (readonly [number, number, number])[];
  /** What precedes a part of a line in the line. */
  readonly lineStart?: {
    readonly byte: number;
    readonly column: number;
  };
  readonly contentTruncated?: boolean;
}

/** A commit whose message matches, or what it changed. */
export interface CommitMatch {
  /** A diff is `commit` for clients that know no other. */
  readonly type: "commit" | "diff";
  readonly repositoryID: number;
  readonly repository: string;
  /** Markdown. */
  readonly label: string;
  readonly url: string;
  /** Markdown. */
  readonly detail: string;
  readonly oid: string;
  readonly message: string;
  readonly authorName: string;
  readonly authorDate: string;
  readonly committerName: string;
  readonly committerDate: string;
  /** The message or the diff, between lines of three backticks. */
  readonly content: string;
  /** Line, from 1 because the fence is line 0; column and length in code points. */
  readonly ranges: readonly (readonly [number, number, number])[];
  readonly repoStars?: number;
  readonly repoLastFetched?: string;
  readonly contentTruncated?: true;
}

/** A file with matches in its text. */
export interface ContentMatch {
  readonly type: "content";
  readonly repositoryID: number;
  readonly repository: string;
  readonly path: string;
  readonly hunks: null;
  readonly repoStars?: number;
  readonly repoLastFetched?: string;
  /** The revision as typed, "" for the default branch. */
  readonly branches?: readonly string[];
  readonly commit?: string;
  readonly language?: string;
  /** The path as URLs have it, if it is not UTF-8. */
  readonly escapedPath?: string;
  /** With duplicates=1: equal for files with the same content and matches. */
  readonly contentKey?: string;
  /** With feat=search-debug: how it was scored. */
  readonly debug?: string;
  readonly pathMatches?: readonly Range[];
  /** Without cm=t. */
  readonly lineMatches?: readonly LineMatch[];
  /** With cm=t. */
  readonly chunkMatches?: readonly ChunkMatch[];
}

/** With explain=1: what the search was expected to cost at most, and what it took. */
export interface ExplainedCost {
  readonly plan: string;
  readonly took: {
    readonly durationMs: number;
    readonly workerMs?: number;
    readonly stats?: Readonly<Record<string, number>>;
  };
  readonly estimate?: {
    readonly shards: number;
    readonly shardsRuledOut: number;
    readonly documents: number;
    readonly textBytes: number;
  };
}

/** An element of a `filters` event: a suggestion for narrowing the search. Each event replaces the one before. */
export interface Filter {
  readonly value: string;
  readonly label: string;
  readonly count: number;
  readonly exhaustive: boolean;
  readonly limitHit: boolean;
  readonly kind: "utility" | "type" | "lang" | "repo" | "file" | "symbol type" | "author" | "commit date";
}

/** A line with matches, or a part of a very long one. */
export interface LineMatch {
  /** Without its end. */
  readonly line: string;
  /** From 0. */
  readonly lineNumber: number;
  /** Start and length in code points. */
  readonly offsetAndLengths: readonly (readonly [number, number])[];
  /** Of a search for a list of patterns: the index of the pattern, and its start and end in bytes. */
  readonly patterns?: readonly (readonly [number, number, number])[];
  /** What precedes a part of a line in the line. */
  readonly lineStart?: {
    readonly byte: number;
    readonly column: number;
  };
  readonly lineTruncated?: boolean;
}

/** A location in a file or name. */
export interface Location {
  /** In bytes, from 0. */
  readonly offset: number;
  /** From 0. */
  readonly line: number;
  /** In code points, from 0. */
  readonly column: number;
}

/** An element of a `matches` event. Other types may be added. */
export type Match = ContentMatch | PathMatch | SymbolsMatch | RepositoryMatch | CommitMatch | OwnerMatch;

/** An element of a `changes` event. */
export interface MatchChange {
  /** `moved`: the same line at another place. */
  readonly change: "came" | "went" | "moved";
  readonly type: "content" | "path" | "symbol";
  readonly repository: string;
  readonly repositoryID: number;
  /** As typed; "" for the default branch. */
  readonly revision: string;
  readonly commit: string;
  readonly path: string;
  /** From 0; absent for a path. */
  readonly lineNumber?: number;
  readonly line?: string;
  readonly offsetAndLengths?: readonly (readonly [number, number])[];
  readonly symbol?: {
    readonly name: string;
    readonly containerName: string;
    readonly kind: string;
  };
  /** Where it was; only if it moved. */
  readonly from?: {
    readonly commit: string;
    readonly path: string;
    readonly lineNumber?: number;
  };
}

/** An owner of files with matches, of `select:file.owners`. Clients that end their stream at such an object get none. */
export interface OwnerMatch {
  readonly type: "person";
  readonly handle: string;
  readonly email: string;
}

/** A file whose path matches, or a directory, whose path ends with a slash. */
export interface PathMatch {
  readonly type: "path";
  readonly repositoryID: number;
  readonly repository: string;
  readonly path: string;
  readonly repoStars?: number;
  readonly repoLastFetched?: string;
  /** The revision as typed, "" for the default branch. */
  readonly branches?: readonly string[];
  readonly commit?: string;
  readonly language?: string;
  /** The path as URLs have it, if it is not UTF-8. */
  readonly escapedPath?: string;
  /** With duplicates=1: equal for files with the same content and matches. */
  readonly contentKey?: string;
  /** With feat=search-debug: how it was scored. */
  readonly debug?: string;
  readonly pathMatches?: readonly Range[];
  /** Another match object has the matches of its contentKey. */
  readonly duplicate?: true;
}

/** An error, for clients that accept `application/problem+json` (RFC 9457); for others, it is a line of text. */
export interface Problem {
  /** The status says what is wrong; `code` says it more precisely. */
  readonly type: "about:blank";
  /** The reason phrase of the status. */
  readonly title: string;
  /** The status of the response. */
  readonly status: number;
  /** Does not change; others may be added. docs/api-stability.md lists them. */
  readonly code: "bad-config" | "bad-query" | "bad-request" | "cancelled" | "conflict" | "content-too-large" | "corrupt-shard" | "forbidden" | "format-version" | "git" | "gone" | "headers-too-large" | "http-version-not-supported" | "insufficient-storage" | "internal" | "locked-out" | "method-not-allowed" | "misdirected" | "not-found" | "not-implemented" | "overloaded" | "quarantined" | "range-not-satisfiable" | "request-timeout" | "shutting-down" | "storage" | "store-lost" | "too-many-requests" | "unauthenticated" | "unsupported-media-type" | "uri-too-long";
  /** A sentence for people, which may change. */
  readonly detail: string;
  /** That of `X-Request-Id`, by which the operator finds the request in the log. */
  readonly requestId: string;
}

/** The data of a `progress` event. Each replaces the one before. */
export interface Progress {
  readonly done: boolean;
  readonly matchCount: number;
  readonly durationMs: number;
  readonly skipped: readonly Skipped[];
  readonly repositoriesCount?: number;
  readonly trace?: string;
  readonly receipt?: Receipt;
  readonly explain?: ExplainedCost;
  readonly changes?: ChangeSummary;
  readonly duplicates?: {
    readonly places: number;
    readonly matchesInAllPlaces: number;
    readonly complete: boolean;
  };
}

export interface ProposedQuery {
  readonly query: string;
  readonly description?: string;
}

/** The end is exclusive. */
export interface Range {
  readonly start: Location;
  readonly end: Location;
}

/** What a search covered; docs/query-syntax.md describes it. */
export interface Receipt {
  /** Of the whole lists. */
  readonly url: string;
  readonly generation: string;
  readonly complete: boolean;
  readonly matchCount: number;
  readonly documentsSearched: number;
  readonly digest: string;
  readonly digestedMatches: number;
  readonly repositories: {
    readonly count: number;
    readonly items: readonly ({
      readonly repository: string;
      readonly generation: number;
      readonly revisions: readonly ({
        readonly revision: string;
        readonly commit: string;
      })[];
    })[];
  };
  readonly excluded: {
    readonly count: number;
    readonly items: readonly ({
      readonly reason: string;
      readonly repository?: string;
      readonly path?: string;
      readonly detail?: string;
    })[];
  };
  readonly excludedByReason: Readonly<Record<string, number>>;
}

/** A part of a list of a receipt: repositories, or what was left out. */
export interface ReceiptPage {
  readonly count: number;
  readonly items: readonly ({
    readonly repository: string;
    readonly generation: number;
    readonly revisions: readonly ({
      readonly revision: string;
      readonly commit: string;
    })[];
  } | {
    readonly reason: string;
    readonly repository?: string;
    readonly path?: string;
    readonly detail?: string;
  })[];
}

/** A repository. */
export interface RepositoryMatch {
  readonly type: "repo";
  readonly repositoryID: number;
  readonly repository: string;
  readonly repoStars?: number;
  readonly repoLastFetched?: string;
  readonly branches?: readonly string[];
  /** In the name. */
  readonly repositoryMatches?: readonly Range[];
  readonly description?: string;
  readonly descriptionMatches?: readonly Range[];
  readonly fork?: true;
  readonly archived?: true;
  readonly private?: true;
  readonly metadata?: Readonly<Record<string, string | null>>;
  readonly topics?: readonly string[];
}

/** The data of a `groups` event, with `group`: matches counted by what they have in common. `query` searches for one group. */
export interface ResultGroups {
  readonly by: "repository" | "path" | "language" | "author" | "capture";
  readonly groups: readonly ({
    readonly value: string;
    readonly label: string;
    readonly count: number;
    readonly query?: string;
  })[];
  readonly otherGroups: number;
  readonly otherMatches: number;
  readonly complete: boolean;
}

/** The data of a `resume` event: why the stream may not be resumed after a crash of the daemon. */
export interface ResumeNotice {
  readonly message: string;
}

/** A search job. */
export interface SearchJob {
  /** users/N/searchJobs/N */
  readonly name: string;
  readonly query: string;
  readonly state: "STATE_QUEUED" | "STATE_PROCESSING" | "STATE_ERRORED" | "STATE_FAILED" | "STATE_COMPLETED" | "STATE_CANCELED";
  readonly createTime: string;
  readonly startTime?: string;
  /** As soon as it has begun. */
  readonly logsUrl?: string;
  /** When it has ended. */
  readonly resultsUrl?: string;
}

export interface SearchJobList {
  readonly searchJobs: readonly SearchJob[];
  readonly nextPageToken?: string;
}

/** Why results may be incomplete. */
export interface Skipped {
  readonly reason: string;
  readonly title: string;
  readonly message: string;
  readonly severity: "info" | "warn";
  readonly suggested?: {
    readonly title: string;
    readonly queryExpression: string;
  };
}

/** The data of an `error` event; `done` follows. */
export interface StreamError {
  readonly message: string;
}

/** A definition in a file. */
export interface SymbolMatch {
  readonly url: string;
  readonly name: string;
  readonly containerName: string;
  readonly kind: string;
  /** From 1. */
  readonly line: number;
}

/** A file with symbols that match. */
export interface SymbolsMatch {
  readonly type: "symbol";
  readonly repositoryID: number;
  readonly repository: string;
  readonly path: string;
  readonly symbols: readonly SymbolMatch[];
  readonly repoStars?: number;
  readonly repoLastFetched?: string;
  /** The revision as typed, "" for the default branch. */
  readonly branches?: readonly string[];
  readonly commit?: string;
  readonly language?: string;
  /** The path as URLs have it, if it is not UTF-8. */
  readonly escapedPath?: string;
  /** With duplicates=1: equal for files with the same content and matches. */
  readonly contentKey?: string;
  /** With feat=search-debug: how it was scored. */
  readonly debug?: string;
}

