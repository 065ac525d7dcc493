import type { Viewer } from "./viewer.js";

/** What a client asked for, after its parameters were parsed and before its query is. */
export interface SearchRequest {
  /** The query text as typed. Not empty. */
  readonly query: string;
  /** The syntax version as the client sent it, which need not be one; empty when it sent none. */
  readonly version: string;
  /**
   * How a pattern without quotes is read, as the client sent it; empty when it sent none. It wins over the version, and
   * a `patternType:` in the query wins over both.
   */
  readonly patternType: string;
  /** At most this many matches are sent, while counting goes on; undefined when the client set no cap. */
  readonly display: number | undefined;
  /** True for `chunkMatches`, false for `lineMatches`. */
  readonly chunkMatches: boolean;
  /** Lines before and after each match; counts only with `chunkMatches`. */
  readonly contextLines: number;
  /** Lines of chunks longer than this are cut; `lineBytesUnlimited` when the client set no limit. */
  readonly lineBytesMax: number;
  /** Matches after which a search stops when its query has no `count:`; undefined for the daemon's own default. */
  readonly defaultCount: number | undefined;
  /** Who asks: what they may not see is not there for this search. */
  readonly viewer: Viewer;
  /** Whose share of the machine the search takes; see `clientOf`. */
  readonly client: string;
}

export type PatternType = "keyword" | "standard" | "literal" | "regexp";

/** The largest length that fits the kernel's 32-bit numbers: no line is longer. */
export const lineBytesUnlimited = 0xffff_ffff;
