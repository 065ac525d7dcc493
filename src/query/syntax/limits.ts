/**
 * Limits on a query before it accesses any repository. Each limit prevents a hostile text from occupying the main
 * thread or its stack; legitimate queries do not come near them.
 */
export const queryLimits = {
  /** UTF-8 bytes of the query text. A generated query with 2,000 file names fits. */
  textBytesMax: 64 * 1024,
  /** Nested groups. The parser and all tree traversals recurse this deep, with a few frames per level. */
  groupDepthMax: 500,
  /** Fields and patterns in the text: parsing and planning 10,000 of them takes 50 to 150 ms of the main thread. */
  termCountMax: 3_000,
  /** `repo:` filters in the text: all names are matched for each, which takes up to 2 ms for 10,000 names. */
  repositoryFilterCountMax: 1_000,
  /** UTF-16 code units of the regexp of a `repo:` filter, which the main thread compiles. 200 long names fit. */
  repositoryFilterLengthMax: 8_192,
  /** The same for a regexp that is matched against repository names; a longer one has no repository results. */
  namePatternLengthMax: 1_024,
  /** Basic queries after `or` has been distributed over fields. */
  basicQueryCountMax: 500,
  /** Fields and patterns of all basic queries together: distributing copies a shared one into each of them. */
  distributedTermCountMax: 30_000,
  /**
   * Different `file:has.contributor(...)`; case-sensitive and case-insensitive ones count separately. A file has 32
   * bits for them.
   */
  contributorCountMax: 16,
} as const;
