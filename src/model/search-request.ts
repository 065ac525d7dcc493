import type { BaseRevisions } from "./match-change.js";
import type { RequestOrigin } from "./request-origin.js";
import type { WantedGroups } from "./result-groups.js";
import type { Viewer } from "./viewer.js";

/** A client's request, with its parameters parsed but its query not yet parsed. */
export interface SearchRequest {
  /** The query text as typed. Empty only with `patterns`. */
  readonly query: string;
  /** The syntax version as sent by the client, which may be invalid; empty if none was sent. */
  readonly version: string;
  /**
   * How unquoted patterns are parsed, as sent by the client; empty if none was sent. It takes precedence over the
   * version, and a `patternType:` in the query over both.
   */
  readonly patternType: string;
  /** At most this many matches are sent, while counting continues; undefined if the client set no limit. */
  readonly display: number | undefined;
  /** True for `chunkMatches`, false for `lineMatches`. */
  readonly chunkMatches: boolean;
  /** Lines before and after each match; used only with `chunkMatches`. */
  readonly contextLines: number;
  /** Lines of chunks longer than this are truncated; `lineBytesUnlimited` if the client set no limit. */
  readonly lineBytesMax: number;
  /** Whether longer lines are cut around their matches, and not at their end. */
  readonly cutsAround?: boolean;
  /** The `type` of match objects that are diffs: some clients end a stream that contains "diff". */
  readonly diffType: "commit" | "diff";
  /** True for a client that ends a stream with an error when it has an owner: such a search is refused. */
  readonly refusesOwners?: boolean;
  /** Matches after which a search stops if its query has no `count:`; undefined for the daemon's default. */
  readonly defaultCount: number | undefined;
  /** True to describe in the match objects of ranked documents how they were scored. */
  readonly debug: boolean;
  /**
   * Whether the last progress event has a receipt of what was searched. "strict": the search ends with an error if
   * anything was left out.
   */
  readonly receipt: ReceiptMode;
  /** True to report the matches of a blob once, and the other places that have the blob by their paths. */
  readonly duplicates?: boolean;
  /** Undefined unless matches are only counted, by what they have in common: none is sent. */
  readonly groups?: WantedGroups;
  /** Undefined unless results must contain one of these patterns, with which matches are then labelled. */
  readonly patterns?: readonly string[];
  /** True to describe in the last progress event what the search was expected to cost and what it took. */
  readonly explain?: boolean;
  /** False if no other queries are tried when this one finds nothing; those that are tried may have results. */
  readonly near?: boolean;
  /** True if all nodes of a fleet are searched, and not only the one that was asked. */
  readonly isForAllNodes?: boolean;
  /** Undefined unless the search is part of a search job, or evaluates a saved search. */
  readonly scope?: SearchScope;
  /** Undefined unless only the documents are searched that differ from those of these revisions. */
  readonly since?: BaseRevisions;
  /** Undefined unless a partition of the index is searched only where it has so many changes: see `waitForCommit`. */
  readonly atLeast?: PartitionVersion;
  /** True if changes since this search will be searched for: all nodes tell all of what they have covered. */
  readonly isBase?: boolean;
  /** The requesting viewer: what it may not see does not exist for this search. */
  readonly viewer: Viewer;
  /** The client whose share of the machine the search uses; see `clientKey`. */
  readonly client: string;
  /** Undefined for a search of the daemon itself. */
  readonly origin?: RequestOrigin;
}

/** A partition of the index of a fleet, and how many changes it has had. */
export interface PartitionVersion {
  readonly partition: number;
  readonly version: number;
}

/**
 * What a search of the daemon itself covers, such as part of a search job. It has all results: limits of the query do
 * not apply, and neither do budgets.
 */
export interface SearchScope {
  readonly repositoryIds: ReadonlySet<number>;
  readonly timeoutMs: number;
  /** True to leave out revisions that are not indexed. */
  readonly onlyIndexedRevisions?: boolean;
  /**
   * Undefined unless only new commits are searched: by repository id and revision as typed, the commits whose histories are left
   * out. A revision without one leaves out those of all others, and a repository without any is not searched.
   */
  readonly historyBase?: HistoryBase;
}

export type HistoryBase = ReadonlyMap<number, ReadonlyMap<string, string>>;

export type ReceiptMode = "none" | "report" | "strict";

export type PatternType = "keyword" | "standard" | "literal" | "regexp";

/** The largest length that fits the kernel's 32-bit numbers; no line is longer. */
export const lineBytesUnlimited = 0xffff_ffff;

/** The request of a search that the daemon itself runs for a viewer, apart from its scope. */
export function ownRequest(query: string, viewer: Viewer, client: string): SearchRequest {
  return {
    query,
    version: "V3",
    patternType: "",
    display: undefined,
    chunkMatches: false,
    contextLines: 0,
    lineBytesMax: lineBytesUnlimited,
    diffType: "commit",
    defaultCount: undefined,
    debug: false,
    receipt: "report",
    viewer,
    client,
  };
}
