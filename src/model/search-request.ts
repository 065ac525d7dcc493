/** What a client asked for, after its parameters were parsed and before its query is. */
export interface SearchRequest {
  /** The query text as typed. Not empty. */
  readonly query: string;
  readonly version: SyntaxVersion;
  /** How a pattern without quotes is read; a `patternType:` in the query overrides it. */
  readonly patternType: PatternType;
  /** At most this many matches are sent, while counting goes on; undefined when the client set no cap. */
  readonly display: number | undefined;
  /** True for `chunkMatches`, false for `lineMatches`. */
  readonly chunkMatches: boolean;
  /** Lines before and after each match; counts only with `chunkMatches`. */
  readonly contextLines: number;
  /** Lines of chunks longer than this are cut; `lineBytesUnlimited` when the client set no limit. */
  readonly lineBytesMax: number;
}

export type SyntaxVersion = "V1" | "V2" | "V3" | "V4-rc1";

export type PatternType = "keyword" | "standard" | "literal" | "regexp";

/** The largest length that fits the kernel's 32-bit numbers: no line is longer. */
export const lineBytesUnlimited = 0xffff_ffff;
