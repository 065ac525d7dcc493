import type { YesNoOnly } from "../fields/values.js";
import type { RepositoryPredicate } from "../fields/repository-predicates.js";
import type { RevisionSpec } from "../../model/revision-syntax.js";
import type { PatternType } from "../../model/search-request.js";
import type { PatternTable } from "../../native/kernel/pattern-kernel.js";
import type { RegexpAnalysis } from "../../regexp/analysis/analysis.js";
import { foldedCharacters } from "../../base/ascii-folding.js";

/**
 * What a search does, not bound to any shard: plain data that is sent to the workers by structured clone. A plan is a
 * union of basic queries; a result found by several is one result.
 */
export interface SearchPlan {
  readonly patternType: PatternType;
  readonly basicQueries: readonly BasicQueryPlan[];
  /** The result options of the basic queries, which refer to theirs by index. One element when all have the same. */
  readonly resultOptions: readonly ResultOptions[];
}

/** How a basic query treats its results. */
export interface ResultOptions {
  readonly select: string | undefined;
  /** The limit on matches; 99,999,999 stands for `count:all`, which is no limit, undefined for no `count:`. */
  readonly count: number | undefined;
  /** Milliseconds, before the site's maximum is applied; undefined without `timeout:`. */
  readonly timeoutMs: number | undefined;
}

/** One basic query: filters, and at most one pattern tree. */
export interface BasicQueryPlan {
  readonly repositories: RepositoryFilter;
  /** What is needed for file and path results; undefined if this basic query has none. */
  readonly text: TextPlan | undefined;
  /** What is needed for commit and diff results; at most one plan of each kind. */
  readonly history: readonly HistoryPlan[];
  /** Regexps on repository names; undefined if this basic query has no repository results. */
  readonly repositoryNames: RepositoryNamePlan | undefined;
  /** Index of its options in the plan's `resultOptions`. */
  readonly optionsIndex: number;
}

export interface RepositoryFilter {
  /** Name of the search context; undefined for the global one. */
  readonly context: string | undefined;
  /** The only names to choose from; undefined for all. */
  readonly among: readonly string[] | undefined;
  /** All must match the name, ignoring case. */
  readonly include: readonly RepositoryInclude[];
  /** None may match the name. RE2 sources. */
  readonly exclude: readonly string[];
  /** All must hold. */
  readonly predicates: readonly RepositoryPredicate[];
  readonly fork: YesNoOnly;
  readonly archived: YesNoOnly;
  /**
   * True if the query contains `fork:` or `archived:`, respectively; otherwise an exclusion is reported to the user.
   */
  readonly forkGiven: boolean;
  readonly archivedGiven: boolean;
  readonly visibility: "any" | "public" | "private";
  /** "only" excludes what is not indexed, "no" searches without using posting lists. */
  readonly index: YesNoOnly;
  /**
   * Whether revisions that are not indexed are excluded: with `index:only`, unless only histories are searched, because
   * the index of histories has the commits of other revisions too.
   */
  readonly onlyIndexedRevisions: boolean;
  /** A repository must satisfy all of them, each at the revision that is searched. */
  readonly conditions: readonly RepositoryCondition[];
  /** A repository must satisfy all of them, each for the history of the commit that is searched. */
  readonly committedAfter: readonly CommittedAfter[];
}

/** The history has a commit after the date or, if `negated`, has none. */
export interface CommittedAfter {
  readonly negated: boolean;
  readonly unixSeconds: number;
}

/** Some file of the repository satisfies `file` or, if `negated`, none does. */
export interface RepositoryCondition {
  readonly negated: boolean;
  readonly file: TextPlan;
}

export interface RepositoryInclude {
  /** RE2 source; empty if only revisions are specified. */
  readonly source: string;
  /** Revisions as typed after `@` or in `rev:`; empty for the default branch. */
  readonly revisions: readonly RevisionSpec[];
  /** Revisions after a `^`: a search of history leaves out their commits, and those that they reach. */
  readonly withoutHistoryOf: readonly string[];
  /** The only name that the filter can match (`^...$` around literal text); otherwise undefined. */
  readonly exactName: string | undefined;
}

export interface TextPlan {
  /** Defined if the patterns are for the names of symbols instead of contents. */
  readonly symbols: SymbolPlan | undefined;
  /** Whether the types of the query include contents and paths, respectively. At least one is true. */
  readonly content: boolean;
  readonly path: boolean;
  /** The document must satisfy all of them. */
  readonly fileFilters: readonly FileFilter[];
  /** The pattern tree; undefined if there are only filters. Leaves are indexes into `leaves`. */
  readonly pattern: TextNode | undefined;
  readonly leaves: readonly Leaf[];
  /** A document must satisfy all of them, at the revision for which it is a result. */
  readonly people: readonly PeopleFilter[];
}

/** Which symbols of a document are results. */
export interface SymbolPlan {
  /** The only kind, such as `enum-member`; undefined for all. */
  readonly kind: string | undefined;
}

/** `file:has.owner(...)`, `file:has.contributor(...)`: conditions on the owners and authors of a file. */
export type PeopleFilter = OwnerFilter | ContributorFilter;

export interface OwnerFilter {
  readonly kind: "owner";
  readonly negated: boolean;
  /** As typed; "" for any owner. */
  readonly owner: string;
}

export interface ContributorFilter {
  readonly kind: "contributor";
  readonly negated: boolean;
  /** RE2 source for the name or the e-mail address of an author. */
  readonly source: string;
  readonly foldCase: boolean;
}

/**
 * A condition on repository names. Without sources and groups it is true for every repository of the filter. An
 * excluded source never adds a repository: it only removes some.
 */
export interface RepositoryNamePlan {
  /** Whether all of the sources and groups must match, or any of them. */
  readonly combine: "and" | "or";
  /** RE2 sources that match the name. */
  readonly sources: readonly string[];
  /** None of these RE2 sources may match the name. Empty if `combine` is "or". */
  readonly exclude: readonly string[];
  /** Nested conditions; none for a pattern without parentheses. */
  readonly groups: readonly RepositoryNamePlan[];
  readonly foldCase: boolean;
}

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

/** A condition on a file that its content's matches have no influence on. */
export type FileFilter = PathFilter | LanguageFilter;

/** A `lang:` filter: the file must be in the language or, if `negated`, must not. */
export interface LanguageFilter {
  readonly kind: "language";
  readonly negated: boolean;
  /** As shards name it. */
  readonly language: string;
  /** The filter in its printed form: `lang:Go`. */
  readonly label: string;
}

/** A `file:` filter: the path must match or, if `negated`, must not. */
export interface PathFilter {
  readonly kind: "path";
  readonly negated: boolean;
  /** RE2 source. */
  readonly source: string;
  readonly foldCase: boolean;
  /** Whether matches in the path are highlighted, unless the filter is negated. */
  readonly highlighted: boolean;
  /** The filter in its printed form, for example `-file:/_test\.go$/i`. */
  readonly label: string;
  /** What `source` requires of a path. */
  readonly analysis: RegexpAnalysis;
}

export type TextNode =
  | { readonly kind: "leaf"; readonly leaf: number }
  | { readonly kind: "not"; readonly child: TextNode }
  | { readonly kind: "and" | "or"; readonly children: readonly TextNode[] };

/**
 * One pattern, or several alternative texts: a document satisfies it by a match in its content or in its path, as far
 * as these may match.
 */
export interface Leaf {
  /** RE2 source: a regexp as typed, a literal with its operators escaped. */
  readonly source: string;
  /**
   * RE2 sources of the texts of an `or` that this leaf represents. Each is found as if it were a separate leaf, so
   * ranges of two may overlap, and `source` only determines whether one of them matches. Empty for a single pattern.
   */
  readonly either: readonly string[];
  /** The patterns of a set, any of which satisfies it; `source` is then empty. Undefined for other leaves. */
  readonly set?: PatternSet | undefined;
  /** Of a plan that was told to another node: it makes the set of the patterns of the request. */
  readonly wantsSet?: boolean | undefined;
  readonly foldCase: boolean;
  /**
   * Where it may match, according to the query's types and `content:`. Both are false for `content:x` in a query for
   * paths: no document satisfies it, and every document satisfies its negation.
   */
  readonly inContent: boolean;
  readonly inPath: boolean;
  /** False for `file:has.content(...)`: a document has to satisfy it, and its matches are not reported. */
  readonly highlighted: boolean;
  /** What `source` requires of a text. */
  readonly analysis: RegexpAnalysis;
}

/**
 * Many patterns that are searched for in one pass: plain data for the workers. A literal of the table locates patterns:
 * either it is one, or a regexp cannot match a text without it.
 */
export interface PatternSet {
  /** Number of patterns. They are numbered as in the request. */
  readonly count: number;
  readonly table: PatternTable;
  /**
   * What literal i of the table locates: `targets[targetStarts[i]]` to before `targets[targetStarts[i + 1]]`. A number
   * below `count` is a pattern that is this literal; `count + j` is regexp j.
   */
  readonly targetStarts: Uint32Array;
  readonly targets: Uint32Array;
  readonly regexps: readonly SetRegexp[];
}

export interface SetRegexp {
  /** Its number among all patterns. */
  readonly pattern: number;
  /** RE2 source. */
  readonly source: string;
  /** False if it is tried on every content. */
  readonly isLocated: boolean;
}

/** What a pattern requires of a text, as bytes to look up in an index whose trigrams fold ASCII case. */
export interface LeafLiterals {
  /**
   * Literals for which the kernel alone suffices; with case ignored, ASCII letters are in lower case. One for a text,
   * two or more for an alternation of texts that can all be looked up. Undefined for any other regexp.
   */
  readonly exact: readonly Buffer[] | undefined;
  /** The text contains at least one of the literals of each clause. */
  readonly clauses: readonly (readonly Buffer[])[];
  /**
   * Whether characters outside ASCII may match letters of the pattern: with case ignored, U+212A matches k, and U+017F
   * matches s. Exact literals without these letters match ASCII only.
   */
  readonly foldsOutsideAscii: boolean;
}

/** Shorter literals are not in the index. */
export const trigramBytes = 3;

/** A leaf is planned for each shard of a search; its literals are the same in all. */
const known = new WeakMap<object, LeafLiterals>();

export function requiredLiterals(leaf: Pick<Leaf, "analysis" | "foldCase">): LeafLiterals {
  let literals = known.get(leaf);
  if (literals === undefined) known.set(leaf, (literals = makeLiterals(leaf)));
  return literals;
}

function makeLiterals(leaf: Pick<Leaf, "analysis" | "foldCase">): LeafLiterals {
  const exact = exactLiterals(leaf);
  if (exact !== undefined) {
    const hasLetter = exact.some((literal) => foldedCharacters.some(({ letter }) => literal.includes(letter)));
    return { exact, clauses: [exact], foldsOutsideAscii: leaf.foldCase && hasLetter };
  }
  const clauses = leaf.analysis.clauses.map((clause) => clause.map((text) => Buffer.from(text)));
  return { exact, clauses, foldsOutsideAscii: leaf.foldCase };
}

/**
 * The exact literal of a pattern that consists of this text; undefined if it needs RE2, because ignoring case reaches
 * outside ASCII. The same as `requiredLiterals` of its analysis, in a tenth of the time. Caller guarantees: the text has no
 * unpaired surrogate.
 */
export function exactLiteral(text: string, foldCase: boolean): string | undefined {
  return foldCase ? (isAscii(text) ? text.toLowerCase() : undefined) : text;
}

function exactLiterals({ analysis, foldCase }: Pick<Leaf, "analysis" | "foldCase">): readonly Buffer[] | undefined {
  const texts = analysis.literal === undefined ? analysis.alternatives : [analysis.literal];
  if (texts === undefined || (foldCase && !texts.every(isAscii))) return undefined;
  const exact = texts.map((text) => Buffer.from(foldCase ? text.toLowerCase() : text));
  return exact.length === 1 || exact.every((literal) => literal.length >= trigramBytes) ? exact : undefined;
}

export function isAscii(text: string): boolean {
  return /^[\x00-\x7f]*$/.test(text); // eslint-disable-line no-control-regex
}

/** Values of `select:` that replace a document by something else. */
const documentSelects = ["repo", "file.directory", "file.owners"] as const;

export type DocumentSelect = (typeof documentSelects)[number];

export function isDocumentSelect(select: string | undefined): select is DocumentSelect {
  return documentSelects.some((known) => known === select);
}

/** The leaf of a plan that has no other one; undefined if it has several, or none. */
export function onlyLeaf({ basicQueries }: Pick<SearchPlan, "basicQueries">): Leaf | undefined {
  const text = basicQueries.length === 1 ? basicQueries[0].text : undefined;
  return text?.pattern?.kind === "leaf" ? text.leaves[text.pattern.leaf] : undefined;
}
