/**
 * The JSON of the events of a search's stream: what `search` writes and the kernel encodes, and what clients in this
 * repository read. Members that are undefined are absent.
 */
import type { ChangeSummary } from "./match-change.js";
import { unescapeUrlPath } from "../base/path-text.js";
import type { ShownSymbolKind } from "./symbol-kind.js";

/** A location in a file or name: `offset` in bytes, `column` in code points; these and `line` are 0-based. */
export interface StreamLocation {
  readonly offset: number;
  readonly line: number;
  readonly column: number;
}

/** `end` is exclusive. */
export interface StreamRange {
  readonly start: StreamLocation;
  readonly end: StreamLocation;
}

/** What precedes the text of a part of a line, in the line: in bytes and in code points. */
export interface LineStart {
  readonly byte: number;
  readonly column: number;
}

/** A line with matches; of a line of more than 1,500,000 bytes, a part of it with matches. */
export interface LineMatch {
  readonly line: string;
  /** 0-based. */
  readonly lineNumber: number;
  /** Start and length in code points. */
  readonly offsetAndLengths: readonly (readonly [start: number, length: number])[];
  readonly patterns?: readonly PatternLabel[];
  /** Of a part of a line, in which offsets count from the start of the part. */
  readonly lineStart?: LineStart;
  readonly lineTruncated?: boolean;
}

/** Consecutive whole lines with matches, or a part of a line of more than 1,500,000 bytes. */
export interface ChunkMatch {
  readonly content: string;
  readonly contentStart: StreamLocation;
  readonly ranges: readonly StreamRange[];
  readonly patterns?: readonly PatternLabel[];
  /** Of a part of a line: `contentStart` is where it begins. */
  readonly lineStart?: LineStart;
  readonly contentTruncated?: boolean;
}

/**
 * Which pattern of the request has this range, in bytes from the start of the file. Ranges of different patterns may
 * overlap; each is on the element on whose lines it begins.
 */
export type PatternLabel = readonly [pattern: number, start: number, end: number];

/** A symbol of a file, such as a function. */
export interface SymbolMatch {
  readonly url: string;
  readonly name: string;
  readonly containerName: string;
  readonly kind: ShownSymbolKind;
  readonly line: number;
}

/** A match object: an element of a `matches` event. Its type determines which members it has. */
export interface StreamMatch {
  readonly type: string;
  /** Undefined for an owner. */
  readonly repositoryID?: number;
  readonly repository?: string;
  readonly branches?: readonly string[];
  readonly repoStars?: number;
  readonly repoLastFetched?: string;
  /** Of a file, if the client asked for duplicates: equal for files with the same content and the same matches in it. */
  readonly contentKey?: string;
  /** True if another match object has the matches of its `contentKey`. */
  readonly duplicate?: true;
  /** For a repository. */
  readonly repositoryMatches?: readonly StreamRange[];
  readonly description?: string;
  readonly fork?: boolean;
  readonly archived?: boolean;
  readonly private?: boolean;
  readonly topics?: readonly string[];
  readonly metadata?: Readonly<Record<string, string | null>>;
  readonly commit?: string;
  readonly path?: string;
  /** The path as a URL has it, if it is not UTF-8: `path` has U+FFFD for its other bytes. */
  readonly escapedPath?: string;
  readonly language?: string;
  readonly pathMatches?: readonly StreamRange[];
  /** The one or the other, as the client asked. */
  readonly lineMatches?: readonly LineMatch[];
  readonly chunkMatches?: readonly ChunkMatch[];
  /** Of the file; lines are counted from 1. */
  readonly symbols?: readonly SymbolMatch[];
  /** For an owner: an account or team, or an address. */
  readonly handle?: string;
  readonly email?: string;
  /** For a commit. */
  readonly label?: string;
  readonly url?: string;
  readonly detail?: string;
  readonly oid?: string;
  readonly authorName?: string;
  readonly authorDate?: string;
  readonly message?: string;
  readonly content?: string;
  readonly ranges?: readonly (readonly [number, number, number])[];
  /** True if the content of a diff is a part of it, or if some of the ranges were left out. */
  readonly contentTruncated?: true;
}

/** The path of a file, as `decodePath` returns it. */
export function pathOfMatch({ path = "", escapedPath }: StreamMatch): string {
  return (escapedPath === undefined ? undefined : unescapeUrlPath(escapedPath)) ?? path;
}

/** An element of a `filters` event: a suggestion for narrowing a search. */
export interface Filter {
  readonly value: string;
  readonly label: string;
  readonly count: number;
  readonly exhaustive: boolean;
  /** The older name of the same property: clients of either kind exist. */
  readonly limitHit: boolean;
  readonly kind: "utility" | "type" | "lang" | "repo" | "file" | "symbol type" | "author" | "commit date";
}

/** A `progress` event. */
export interface Progress {
  readonly done: boolean;
  readonly repositoriesCount?: number;
  readonly matchCount: number;
  readonly durationMs: number;
  readonly skipped: readonly Skipped[];
  readonly trace: string;
  /** Only in the last event, if the client asked for it. */
  readonly receipt?: Receipt;
  /** Only in the last event, if the client asked for it. */
  readonly explain?: ExplainedCost;
  /** Only of a search for changes. */
  readonly changes?: ChangeSummary;
  /** If the client asked for them; `matchCount` has the matches of each content once. */
  readonly duplicates?: DuplicateCounts;
}

/** Results with the content and matches of another one. */
export interface DuplicateCounts {
  /** Further places, in addition to the first of each content. */
  readonly places: number;
  readonly matchesInAllPlaces: number;
  /** False if there were too many contents, so that some are reported in full more than once. */
  readonly complete: boolean;
}

/** What a search was expected to cost at most, and what it took. */
export interface ExplainedCost {
  /** The printed form of the plan. */
  readonly plan: string;
  /**
   * What is indexed and may contain a result: an upper limit. Undefined if the viewer does not see all repositories.
   */
  readonly estimate?: {
    readonly shards: number;
    readonly shardsRuledOut: number;
    readonly documents: number;
    readonly textBytes: number;
  };
  readonly took: {
    /** Rounded up to whole 10 ms if the viewer does not see all repositories. */
    readonly durationMs: number;
    /** Sum over search workers; undefined like the estimate. */
    readonly workerMs?: number;
    /** The members of `SearchStats`; undefined like the estimate. */
    readonly stats?: Readonly<Record<string, number>>;
  };
}

/** One reason why the results may be incomplete. */
export interface Skipped {
  readonly reason: string;
  readonly title: string;
  readonly message: string;
  readonly severity: "info" | "warn";
  readonly suggested?: { readonly title: string; readonly queryExpression: string };
}

/** The title of the alert about what may have been meant by a query that found nothing. */
export const nothingFoundTitle = "Nothing found";

/** An `alert` event: a message to the user. */
export interface Alert {
  readonly title: string;
  readonly description?: string;
  readonly proposedQueries: readonly ProposedQuery[] | null;
  /** The erroneous part of an invalid query: UTF-8 bytes, `to` exclusive. */
  readonly place?: { readonly from: number; readonly to: number };
}

/** What it says, on one line. */
export function alertText({ title, description }: Pick<Alert, "title" | "description">): string {
  return description === undefined ? title : `${title}: ${description}`;
}

export interface ProposedQuery {
  readonly description?: string;
  readonly query: string;
}

/** An `error` event: why the search could not run, or could not continue. */
export interface StreamError {
  readonly message: string;
}

/** What a search covered: part of its last progress event, if the client asked for it. */
export interface Receipt {
  /** The whole lists of repositories and of what was left out: `?list=repositories` or `?list=excluded`. */
  readonly url: string;
  /** Equal for searches of the same repositories in the same state. */
  readonly generation: string;
  /** False if something was left out that could have contained a result, or results were left out. */
  readonly complete: boolean;
  readonly matchCount: number;
  /** Documents of the chosen repositories, revisions and paths, including those that the index ruled out. */
  readonly documentsSearched: number;
  /** Of the matches that were sent. */
  readonly digest: string;
  readonly digestedMatches: number;
  readonly repositories: ReceiptPage<ReceiptRepository>;
  readonly excluded: ReceiptPage<Omission>;
  /** Numbers of what was left out, by reason. */
  readonly excludedByReason: Readonly<Record<string, number>>;
}

/** Part of a list. */
export interface ReceiptPage<Item> {
  /** Of the whole list. */
  readonly count: number;
  readonly items: readonly Item[];
}

export interface ReceiptRepository {
  readonly repository: string;
  /** Grows each time the repository is indexed. */
  readonly generation: number;
  readonly revisions: readonly ReceiptRevision[];
}

export interface ReceiptRevision {
  /** As typed; "" for the default branch. */
  readonly revision: string;
  /** "" if it is not indexed. */
  readonly commit: string;
}

/** Something that was not searched, or not sent. */
export interface Omission {
  readonly reason: string;
  readonly repository?: string;
  readonly path?: string;
  readonly detail?: string;
}
