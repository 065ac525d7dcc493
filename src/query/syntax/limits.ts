/**
 * What a query may cost before it has touched any repository. Each limit keeps a hostile text from holding the main
 * thread or its stack; no query that a person or a program writes on purpose comes near one.
 */
export const queryLimits = {
  /** UTF-8 bytes of the query text. A generated query of 2,000 file names fits. */
  textBytesMax: 64 * 1024,
  /** Groups inside groups. The parser and all tree walks recurse this deep, at a few frames a level. */
  groupDepthMax: 500,
  /** Fields and patterns in the text: reading and planning 10,000 of them takes 50 to 150 ms of the main thread. */
  termCountMax: 3_000,
  /** `repo:` filters in the text: all names are asked for each, which takes up to 2 ms for 10,000 of them. */
  repositoryFilterCountMax: 1_000,
  /** UTF-16 units of the regexp of a `repo:` filter, which the main thread compiles. 200 long names fit. */
  repositoryFilterLengthMax: 8_192,
  /** The same of a regexp that is tried on repository names; a longer one gives no repository results. */
  namePatternLengthMax: 1_024,
  /** Basic queries after `or` was distributed over fields. */
  basicQueryCountMax: 500,
  /** Fields and patterns of all basic queries together: distributing copies a shared one into each of them. */
  distributedTermCountMax: 30_000,
  /**
   * Different `file:has.contributor(...)`; with and without regard to case they count twice. A file has 32 bits for
   * them.
   */
  contributorCountMax: 16,
} as const;
