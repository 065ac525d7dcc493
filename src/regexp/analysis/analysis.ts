/**
 * What a regexp requires of every text it matches, in the conservative sense: the requirement accepts all that the
 * regexp accepts, and more. It is a conjunction of clauses; a clause is a set of literals of which the text must hold
 * at least one.
 *
 * Soundness, which `test/regexp-*.test.ts` attacks: if the regexp matches a text, then for each clause some literal of
 * it occurs in the matched part of the text. With `foldCase` "occurs" ignores ASCII case, literals are ASCII-lowered,
 * and they are cut at every character that is not ASCII; the two characters that fold into ASCII from outside it
 * (U+017F to s, U+212A to k) are the caller's to handle: a text that holds one of them is always a candidate.
 */
export interface RegexpAnalysis {
  /**
   * The text that the regexp is equal to, when it has no operators; else undefined. Never "". With `foldCase` it is
   * ASCII-lowered, and undefined when ignoring the case of ASCII letters is not enough.
   */
  readonly literal: string | undefined;
  /**
   * The texts of an alternation of nothing but texts, such as `get|put`: two or more, none of which begins with one
   * before it. So its matches are all places of all of them, by start and the longer first, without those that overlap
   * an earlier one. With `foldCase` as for `literal`. Undefined for every other regexp.
   */
  readonly alternatives: readonly string[] | undefined;
  /**
   * Clauses, most selective first. A clause is never empty; no literal is "". No clause at all: nothing is required.
   */
  readonly clauses: readonly (readonly string[])[];
  /**
   * True when some match can hold a newline, or depends on where the text begins or ends. False is a promise: each
   * match lies within one line and is found by looking at that line alone.
   */
  readonly crossesLines: boolean;
  /** True when a match can be empty, at some place of some text: `^`, `$` and `\b` alone are empty. */
  readonly matchesEmpty: boolean;
}
