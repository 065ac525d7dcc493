/**
 * Exit codes of commands. `incomplete`: something was excluded, and standard error says what. `unwritten`: results
 * could not be written.
 */
export const exitCodes = {
  matches: 0,
  noMatches: 1,
  failed: 2,
  incomplete: 3,
  unwritten: 4,
  excluded: 5,
  interrupted: 130,
} as const;

/** The same for people: part of the help and of the manual page. */
export const exitCodeText: readonly (readonly [code: number, meaning: string])[] = [
  [exitCodes.matches, "success; for a search: matches were found"],
  [exitCodes.noMatches, "a search found no matches; or a check found problems that remain"],
  [exitCodes.failed, "an error, which is on standard error"],
  [exitCodes.incomplete, "results are incomplete; the reason is on standard error"],
  [exitCodes.unwritten, "the output could not be written"],
  [exitCodes.excluded, "a search with --strict left something out; standard error says what"],
  [exitCodes.interrupted, "interrupted by Ctrl-C"],
];
