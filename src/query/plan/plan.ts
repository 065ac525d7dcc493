import type { RevisionSpec } from "../../model/revision.js";
import type { PatternType } from "../../model/search-request.js";
import type { HistoryPlan } from "./history-plan.js";
import type { FileFilter, Leaf, PathFilter, TextNode } from "./pattern-plan.js";

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
  /** The limit on matches; 99,999,999 stands for `count:all`, undefined for no `count:`. */
  readonly count: number | undefined;
  /** Milliseconds, before the site's maximum is applied; undefined without `timeout:`. */
  readonly timeoutMs: number | undefined;
}

export type { FileFilter, HistoryPlan, Leaf, PathFilter, PatternType, TextNode };

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

export type YesNoOnly = "yes" | "no" | "only";

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

/** A predicate on attributes of a repository, which do not depend on its content. */
export interface RepositoryPredicate {
  readonly negated: boolean;
  /** As typed, for example `has.topic(go)`. */
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

/** Some key of the repository's metadata must match together with its value. */
export interface MetadataTest {
  readonly kind: "metadata";
  readonly key: TextPredicate;
  /** "any" matches every value, and a key without one; "none" only a key without a value. */
  readonly value: TextPredicate | "any" | "none";
}

/** A text that must be equal; or an RE2 source that must match somewhere, case-sensitively. */
export interface TextPredicate {
  readonly text: string;
  readonly isRegexp: boolean;
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
