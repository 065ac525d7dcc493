/**
 * What a regexp requires of every text that it matches, conservatively: the requirement accepts everything that the
 * regexp accepts, and more. It is a conjunction of clauses; a clause is a set of literals of which the text must
 * contain at least one.
 *
 * Soundness, which `test/regexp-*.test.ts` tests: if the regexp matches a text, then for each clause some literal of it
 * occurs in the matched part of the text. With `foldCase`, "occurs" ignores ASCII case, literals are lower-cased in
 * ASCII, and they are split at every non-ASCII character. The caller must handle the two characters that fold into
 * ASCII from outside it (U+017F to s, U+212A to k): a text that contains one of them is always a candidate.
 */
export interface RegexpAnalysis {
  /**
   * The text to which the regexp is equivalent, if it has no operators; otherwise undefined. Never "". With `foldCase`
   * it is lower-cased in ASCII, and undefined if ignoring the case of ASCII letters is not sufficient.
   */
  readonly literal: string | undefined;
  /**
   * The texts of an alternation that consists only of texts, such as `get|put`: two or more, none of which begins with
   * an earlier one. Its matches are therefore all occurrences of all texts, ordered by start with the longer first,
   * without those that overlap an earlier one. With `foldCase` as for `literal`. Undefined for every other regexp.
   */
  readonly alternatives: readonly string[] | undefined;
  /**
   * Clauses, most selective first. A clause is never empty; no literal is "". If there is no clause, nothing is
   * required.
   */
  readonly clauses: readonly (readonly string[])[];
  /**
   * True if some match can contain a newline, or depends on where the text begins or ends. False is a guarantee: each
   * match lies within one line and can be found by examining that line alone.
   */
  readonly crossesLines: boolean;
  /** True if a match can be empty at some position of some text: `^`, `$` and `\b` alone are empty. */
  readonly matchesEmpty: boolean;
}
