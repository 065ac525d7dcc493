import type { FileFilter, Leaf, TextNode } from "./pattern-plan.js";

/** What the results of a search of history are: commits found by their messages, or by the lines that they changed. */
export type HistoryKind = "commit" | "diff";

/**
 * What a basic query requires of a commit, as plain data. Which commits are searched (those that the chosen revisions
 * reach) is not part of it.
 *
 * A *changed file* is a file that a commit added, changed or removed in comparison with its parent; a commit without
 * parents added all its files, and a merge has no changed files.
 */
export interface HistoryPlan {
  readonly kind: HistoryKind;
  /**
   * For "commit": a test of the message, which includes the query's `message:` filters, so that their matches are
   * highlighted too. For "diff": a test of each changed file. A leaf matches if it matches within one added or removed
   * line, without its sign and without its newline; `not` holds for the files in which no changed line matches.
   * Undefined if there is none: then every message, and every changed file, satisfies it.
   */
  readonly pattern: TextNode | undefined;
  /**
   * Whether it includes such filters, for "commit": a commit is then a result even if no match is reported. A pattern that
   * has only empty matches is a condition and no result.
   */
  readonly includesFilters: boolean;
  /** The leaves of `pattern`. In a message `^` and `$` match at each line; `.` does not match a newline. */
  readonly leaves: readonly Leaf[];
  /**
   * Some changed file must satisfy all of them, by its path before or after the change; for "diff" the same file must
   * satisfy `pattern`. Without filters a commit needs no changed file for "commit", and at least one for "diff".
   */
  readonly fileFilters: readonly FileFilter[];
  /** All must hold, for "diff" only. */
  readonly messages: readonly MessageFilter[];
  /** All must hold. */
  readonly persons: readonly PersonFilter[];
  /** Unix seconds: the committer date must be later, and earlier, than these. Undefined for no bound. */
  readonly committedAfter: number | undefined;
  readonly committedBefore: number | undefined;
  /**
   * Of `select:commit.diff.added` and `select:commit.diff.removed`: only highlights in lines with this sign are kept. A
   * result without one is dropped; if there is no pattern, a result without a line of this sign. Undefined for both.
   */
  readonly onlySign: "+" | "-" | undefined;
}

/** The message must match or, if `negated`, must not. */
export interface MessageFilter {
  readonly negated: boolean;
  readonly leaf: Leaf;
}

/** `author:` or `committer:`: the name or the e-mail address must match; if `negated`, neither may. */
export interface PersonFilter {
  readonly role: "author" | "committer";
  readonly negated: boolean;
  /** RE2 source, tried on the name and on the address separately. */
  readonly source: string;
  readonly foldCase: boolean;
}
