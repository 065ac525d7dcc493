import type { RevisionSpec } from "../../model/revision.js";
import type { PatternType } from "../../model/search-request.js";
import type { RegexpAnalysis } from "../../regexp/analysis/analysis.js";

/**
 * What a search does, bound to nothing yet: plain data that crosses to the workers by structured clone. A plan is a
 * union of basic plans; results found by several are one.
 */
export interface SearchPlan {
  readonly patternType: PatternType;
  readonly basicQueries: readonly BasicQueryPlan[];
  /** The result options of the basic queries, which refer to theirs by index. One element when all have the same. */
  readonly resultOptions: readonly ResultOptions[];
}

/** What a basic query says of its results. */
export interface ResultOptions {
  readonly select: string | undefined;
  /** At most so many matches are found; 99,999,999 stands for `count:all`, undefined for no `count:`. */
  readonly count: number | undefined;
  /** Milliseconds, before the site's maximum is applied; undefined without `timeout:`. */
  readonly timeoutMs: number | undefined;
}

export type { PatternType };

/** One basic query: filters, and at most one pattern tree. */
export interface BasicQueryPlan {
  readonly repositories: RepositoryFilter;
  /** What file and path results need; undefined when this basic query has none. */
  readonly text: TextPlan | undefined;
  /** Regexps on repository names; undefined when this basic query gives no repository results. */
  readonly repositoryNames: RepositoryNamePlan | undefined;
  /** Index of its options in the plan's `resultOptions`. */
  readonly optionsIndex: number;
}

export type YesNoOnly = "yes" | "no" | "only";

export interface RepositoryFilter {
  /** Name of the search context; undefined for the global one. */
  readonly context: string | undefined;
  /** The only names to choose from; undefined for all. */
  readonly among: readonly string[] | undefined;
  /** All must match the name, without regard to case. */
  readonly include: readonly RepositoryInclude[];
  /** None may match the name. RE2 sources. */
  readonly exclude: readonly string[];
  /** All must hold. */
  readonly predicates: readonly RepositoryPredicate[];
  readonly fork: YesNoOnly;
  readonly archived: YesNoOnly;
  /** True when the query said `fork:` resp. `archived:`; without it an exclusion is reported to the user. */
  readonly forkGiven: boolean;
  readonly archivedGiven: boolean;
  readonly visibility: "any" | "public" | "private";
  /** "only" leaves out revisions that are not indexed, "no" searches without the help of posting lists. */
  readonly index: YesNoOnly;
  /** All must hold for a repository, each at the revision that is searched. */
  readonly conditions: readonly RepositoryCondition[];
  /** All must hold for a repository, each for the history of the commit that is searched. */
  readonly committedAfter: readonly CommittedAfter[];
}

/** The history has a commit that is younger than the moment, or with `negated` none. */
export interface CommittedAfter {
  readonly negated: boolean;
  readonly unixSeconds: number;
}

/** Some file of the repository, or with `negated` none, is as `file` says. */
export interface RepositoryCondition {
  readonly negated: boolean;
  readonly file: TextPlan;
}

export interface RepositoryInclude {
  /** RE2 source; empty where it is about revisions only. */
  readonly source: string;
  /** Revisions as typed after `@` or in `rev:`; empty for the default branch. */
  readonly revisions: readonly RevisionSpec[];
  /** The one name that the filter can match (`^...$` around literal text); else undefined. */
  readonly exactName: string | undefined;
}

/** A predicate on what is known about a repository without its content. */
export interface RepositoryPredicate {
  readonly negated: boolean;
  /** As typed, as in `has.topic(go)`. */
  readonly label: string;
  readonly test: DescriptionTest | TopicTest | MetadataTest;
}

export interface DescriptionTest {
  readonly kind: "description";
  /** RE2 source; case is ignored. */
  readonly source: string;
}

export interface TopicTest {
  readonly kind: "topic";
  readonly topic: string;
}

/** Some key of the repository's metadata, with its value, has to pass. */
export interface MetadataTest {
  readonly kind: "metadata";
  readonly key: TextPredicate;
  /** "any" takes every value, and a key without one; "none" only a key without. */
  readonly value: TextPredicate | "any" | "none";
}

/** A text that has to be equal; or a RE2 source that has to match somewhere, with regard to case. */
export interface TextPredicate {
  readonly text: string;
  readonly isRegexp: boolean;
}

export interface TextPlan {
  /** Whether the types of the query let contents, resp. paths, match. At least one is true. */
  readonly content: boolean;
  readonly path: boolean;
  /** All must hold for a document's path. */
  readonly pathFilters: readonly PathFilter[];
  /** The pattern tree; undefined when only filters were given. Leaves are indexes into `leaves`. */
  readonly pattern: TextNode | undefined;
  readonly leaves: readonly Leaf[];
  /** All must hold for a document, at the revision that it is a result of. */
  readonly people: readonly PeopleFilter[];
}

/** `file:has.owner(...)`, `file:has.contributor(...)`: a condition on those who own a file, resp. who wrote it. */
export type PeopleFilter = OwnerFilter | ContributorFilter;

export interface OwnerFilter {
  readonly kind: "owner";
  readonly negated: boolean;
  /** As typed; "" for anybody. */
  readonly owner: string;
}

export interface ContributorFilter {
  readonly kind: "contributor";
  readonly negated: boolean;
  /** RE2 source for the name or the e-mail of an author. */
  readonly source: string;
  readonly foldCase: boolean;
}

/** A `file:` or `lang:` filter: the path must match, or with `negated` must not. */
export interface PathFilter {
  readonly negated: boolean;
  /** RE2 source: as typed for `file:`, made from the language's extensions and file names for `lang:`. */
  readonly source: string;
  /** Whether case is ignored; always for `lang:`. */
  readonly foldCase: boolean;
  /** True for `file:`, whose matches in the path are highlighted unless it is negated; false for `lang:`. */
  readonly highlighted: boolean;
  /** The filter in its printed form, as in `-file:/_test\.go$/i` or `lang:Go`. */
  readonly label: string;
  /** What `source` requires of a path. */
  readonly analysis: RegexpAnalysis;
}

export type TextNode =
  | { readonly kind: "leaf"; readonly leaf: number }
  | { readonly kind: "not"; readonly child: TextNode }
  | { readonly kind: "and" | "or"; readonly children: readonly TextNode[] };

/**
 * One pattern, or several texts of which any will do: a document satisfies it by a match in its content or in its path,
 * as far as these may match.
 */
export interface Leaf {
  /** RE2 source: a regexp as typed, a literal with its operators escaped. */
  readonly source: string;
  /**
   * RE2 sources of the texts of an `or` that this leaf stands for. Each is found as by a leaf of its own, so ranges of
   * two may overlap, and `source` says no more than whether one of them matches. Empty for one pattern.
   */
  readonly either: readonly string[];
  readonly foldCase: boolean;
  /**
   * Where it may match, after the query's types and `content:` had their say. Both are false for `content:x` in a query
   * for paths: no document satisfies it, and every document satisfies its negation.
   */
  readonly inContent: boolean;
  readonly inPath: boolean;
  /** False for `file:has.content(...)`: a document has to satisfy it, and what it matches is not reported. */
  readonly highlighted: boolean;
  /** What `source` requires of a text. */
  readonly analysis: RegexpAnalysis;
}

/**
 * A condition on repository names. Without sources and groups it holds for every repository of the filter. An excluded
 * source never gives a repository by itself: it only takes some away.
 */
export interface RepositoryNamePlan {
  /** Each of the sources and groups must hold, resp. any of them. */
  readonly combine: "and" | "or";
  /** RE2 sources that match the name. */
  readonly sources: readonly string[];
  /** None of these RE2 sources may match the name. Empty where `combine` is "or". */
  readonly exclude: readonly string[];
  /** Nested conditions; none for a pattern without parentheses. */
  readonly groups: readonly RepositoryNamePlan[];
  readonly foldCase: boolean;
}
