import { isObject } from "../../base/is-object.js";
import { groupCountMax, groupKinds, type WantedGroups } from "../../model/result-groups.js";
import type { RevisionSpec } from "../../model/revision-syntax.js";
import { partitionsMax } from "../../catalog/partitions.js";
import type { PartitionVersion, SearchRequest } from "../../model/search-request.js";
import type { NarrowedView, Viewer } from "../../model/viewer.js";
import type { MetadataTest, RepositoryPredicate, TextPredicate } from "../../query/fields/repository-predicates.js";
import { patternSetLimits, requirePatternCount } from "../../query/plan/pattern-set.js";
import { queryLimits } from "../../query/syntax/limits.js";
import type {
  BasicQueryPlan,
  CommittedAfter,
  ContributorFilter,
  FileFilter,
  HistoryPlan,
  LanguageFilter,
  Leaf,
  MessageFilter,
  OwnerFilter,
  PathFilter,
  PeopleFilter,
  PersonFilter,
  RepositoryCondition,
  RepositoryFilter,
  RepositoryInclude,
  RepositoryNamePlan,
  ResultOptions,
  SearchPlan,
  SymbolPlan,
  TextNode,
  TextPlan,
} from "../../query/plan/plan.js";
import type { RegexpAnalysis } from "../../regexp/analysis/analysis.js";
import {
  atMost,
  choice,
  flag,
  list,
  natural,
  object,
  optional,
  type Shape,
  text,
  whole,
  word,
  unfit,
} from "../../wire/shapes.js";

/** Members of all lists of a plan that repeat what the query has; distributing `or` copies some of them. */
const termsMax = queryLimits.distributedTermCountMax;

/** Groups, with a few nodes for each. */
const depthMax = 4 * queryLimits.groupDepthMax;

/** A regexp, or another text that was made of a query: escaped, and joined with others of it. */
const source = text(16 * queryLimits.textBytesMax);
const name = text(4_096);

/** Repositories of a search context, or of a narrow token. */
const namesMax = 1_000_000;

/** The members of an object, each of them: what is added to a type is added here. */
export function members<T extends object>(shapes: { readonly [K in keyof T]-?: Shape<T[K]> }): Shape<T> {
  return object(shapes as Readonly<Record<string, Shape<unknown>>>) as unknown as Shape<T>;
}

/** Checks a value once that several basic queries share. */
function once<T>(shape: Shape<T>): Shape<T> {
  const checked = new WeakMap<object, T>();
  return (value, place) => {
    if (typeof value !== "object" || value === null) return shape(value, place);
    const known = checked.get(value);
    if (known !== undefined) return known;
    const result = shape(value, place);
    checked.set(value, result);
    return result;
  };
}

/** One of several shapes, by a member. */
export function either<T extends object>(member: string, shapes: Readonly<Record<string, Shape<T>>>): Shape<T> {
  const which = choice(Object.keys(shapes));
  return (value, place) => {
    if (!isObject(value)) throw unfit(place, "an object");
    return shapes[which(value[member], `${place}.${member}`)](value, place);
  };
}

const nothing: Shape<undefined> = (value, place) => {
  if (value !== undefined) throw unfit(place, "absent");
  return undefined;
};

const yesNoOnly = choice(["yes", "no", "only"]);

const analysis: Shape<RegexpAnalysis> = members<RegexpAnalysis>({
  literal: optional(source),
  alternatives: optional(list(source, termsMax)),
  clauses: list(list(source, termsMax), termsMax),
  crossesLines: flag,
  matchesEmpty: flag,
});

function leafShape(wantsSet: Shape<boolean | undefined>): Shape<Leaf> {
  return once(
    members<Leaf>({
      source,
      either: list(source, termsMax),
      // Each node makes it.
      set: nothing,
      wantsSet,
      foldCase: flag,
      inContent: flag,
      inPath: flag,
      highlighted: flag,
      analysis,
    }),
  );
}

const leaf = leafShape(nothing);
/** Of what is searched for, and not of a condition. */
const searchedLeaf = leafShape(optional(flag));

/** A tree whose leaves are those of a list. */
function checkNode(value: unknown, place: string, leafCount: number, depth: number): void {
  if (!isObject(value) || depth > depthMax) throw unfit(place, `a tree of up to ${depthMax} levels`);
  const { kind } = value;
  if (kind === "leaf") {
    if (natural(value["leaf"], place) >= leafCount) throw unfit(place, "one of the leaves");
  } else if (kind === "not") checkNode(value["child"], place, leafCount, depth + 1);
  else {
    andOr(kind, place);
    const check: Shape<void> = (child) => checkNode(child, place, leafCount, depth + 1);
    list(check, termsMax)(value["children"], place);
  }
}

const andOr = choice(["and", "or"]);

const anyNode: Shape<TextNode> = (value, place) => {
  if (!isObject(value)) throw unfit(place, "a tree");
  return value as unknown as TextNode;
};

/** Checks the tree of a plan when its leaves are known. */
function withTree<T extends { readonly pattern: TextNode | undefined; readonly leaves: readonly Leaf[] }>(
  shape: Shape<T>,
): Shape<T> {
  return once((value, place) => {
    const plan = shape(value, place);
    if (plan.pattern !== undefined) checkNode(plan.pattern, `${place}.pattern`, plan.leaves.length, 0);
    return plan;
  });
}

const fileFilter = once(
  either<FileFilter>("kind", {
    path: members<PathFilter>({
      kind: choice(["path"]),
      negated: flag,
      source,
      foldCase: flag,
      highlighted: flag,
      label: source,
      analysis,
    }),
    language: members<LanguageFilter>({ kind: choice(["language"]), negated: flag, language: source, label: source }),
  }),
);

const people: Shape<PeopleFilter> = either<PeopleFilter>("kind", {
  owner: members<OwnerFilter>({ kind: choice(["owner"]), negated: flag, owner: source }),
  contributor: members<ContributorFilter>({ kind: choice(["contributor"]), negated: flag, source, foldCase: flag }),
});

function textShape(ofLeaf: Shape<Leaf>): Shape<TextPlan> {
  return withTree(
    members<TextPlan>({
      symbols: optional(members<SymbolPlan>({ kind: optional(name) })),
      content: flag,
      path: flag,
      fileFilters: list(fileFilter, termsMax),
      pattern: optional(anyNode),
      leaves: list(ofLeaf, termsMax),
      people: list(people, termsMax),
    }),
  );
}

const historyPlan = withTree(
  members<HistoryPlan>({
    kind: choice(["commit", "diff"]),
    pattern: optional(anyNode),
    includesFilters: flag,
    leaves: list(leaf, termsMax),
    fileFilters: list(fileFilter, termsMax),
    messages: list(members<MessageFilter>({ negated: flag, leaf }), termsMax),
    persons: list(
      members<PersonFilter>({ role: choice(["author", "committer"]), negated: flag, source, foldCase: flag }),
      termsMax,
    ),
    committedAfter: optional(whole),
    committedBefore: optional(whole),
    onlySign: optional(choice(["+", "-"])),
  }),
);

const namePlan: Shape<RepositoryNamePlan> = (value, place) => namePlanAt(value, place, 0);

function namePlanAt(value: unknown, place: string, depth: number): RepositoryNamePlan {
  if (depth > depthMax) throw unfit(place, `nested up to ${depthMax} levels`);
  return members<RepositoryNamePlan>({
    combine: choice(["and", "or"]),
    sources: list(source, termsMax),
    exclude: list(source, termsMax),
    groups: list((group) => namePlanAt(group, place, depth + 1), termsMax),
    foldCase: flag,
  })(value, place);
}

const revision: Shape<RevisionSpec> = either<RevisionSpec>("kind", {
  name: members<Extract<RevisionSpec, { kind: "name" }>>({ kind: choice(["name"]), typed: source }),
  glob: members<Extract<RevisionSpec, { kind: "glob" }>>({
    kind: choice(["glob"]),
    typed: source,
    negated: flag,
    pattern: source,
  }),
  "at-time": members<Extract<RevisionSpec, { kind: "at-time" }>>({
    kind: choice(["at-time"]),
    typed: source,
    unixSeconds: whole,
    base: source,
  }),
});

const textPredicate: Shape<TextPredicate> = members<TextPredicate>({ text: source, isRegexp: flag });

const metadataValue: Shape<MetadataTest["value"]> = (value, place) =>
  value === "any" || value === "none" ? value : textPredicate(value, place);

const predicate: Shape<RepositoryPredicate> = members<RepositoryPredicate>({
  negated: flag,
  label: source,
  test: either<RepositoryPredicate["test"]>("kind", {
    description: object({ kind: choice(["description"]), source }),
    topic: object({ kind: choice(["topic"]), topic: source }),
    metadata: members<MetadataTest>({ kind: choice(["metadata"]), key: textPredicate, value: metadataValue }),
  }),
});

const repositories = once(
  members<RepositoryFilter>({
    context: optional(name),
    among: optional(once(list(name, namesMax))),
    include: list(
      members<RepositoryInclude>({
        source,
        revisions: list(revision, termsMax),
        withoutHistoryOf: list(source, termsMax),
        exactName: optional(source),
      }),
      termsMax,
    ),
    exclude: list(source, termsMax),
    predicates: list(predicate, termsMax),
    fork: yesNoOnly,
    archived: yesNoOnly,
    forkGiven: flag,
    archivedGiven: flag,
    visibility: choice(["any", "public", "private"]),
    index: yesNoOnly,
    onlyIndexedRevisions: flag,
    conditions: list(members<RepositoryCondition>({ negated: flag, file: textShape(leaf) }), termsMax),
    committedAfter: list(members<CommittedAfter>({ negated: flag, unixSeconds: whole }), termsMax),
  }),
);

const basicQuery: Shape<BasicQueryPlan> = members<BasicQueryPlan>({
  repositories,
  text: optional(textShape(searchedLeaf)),
  history: list(historyPlan, 2),
  repositoryNames: optional(namePlan),
  optionsIndex: natural,
});

const resultOptions: Shape<ResultOptions> = members<ResultOptions>({
  select: optional(name),
  count: optional(natural),
  timeoutMs: optional(natural),
});

/** The plan of a search, all of it. */
export const searchPlan: Shape<SearchPlan> = (value, place) => {
  const plan = members<SearchPlan>({
    patternType: choice(["keyword", "standard", "literal", "regexp"]),
    basicQueries: list(basicQuery, queryLimits.basicQueryCountMax),
    resultOptions: list(resultOptions, queryLimits.basicQueryCountMax),
  })(value, place);
  if (plan.basicQueries.some(({ optionsIndex }) => optionsIndex >= plan.resultOptions.length))
    throw unfit(`${place}.basicQueries`, "of options of the plan");
  return plan;
};

/** A viewer as it crosses to another node. */
export const searchViewer: Shape<Viewer> = members<Viewer>({
  userId: optional(natural),
  name,
  isSiteAdmin: flag,
  readerNames: list(name, 100_000),
  sudoBy: optional(name),
  isSignedIn: flag,
  narrowed: optional(members<NarrowedView>({ seesPrivate: flag, repositories: optional(list(name, namesMax)) })),
  // It stays at the node that the client has asked.
  credential: nothing,
});

/**
 * Texts that together are not longer than those of a request. They are checked one by one in steps, before the leaf makes sets of them:
 * here they may take no longer than reading them does.
 */
const patterns: Shape<readonly string[] | undefined> = (value, place) => {
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) throw unfit(place, "a list");
  requirePatternCount(value.length);
  let units = 0;
  for (let i = 0; i < value.length; i++) {
    const text: unknown = value[i];
    if (typeof text !== "string") throw unfit(`${place}[${i}]`, "a text");
    units += text.length;
  }
  if (units > patternSetLimits.allBytesMax) throw unfit(place, `texts of up to ${patternSetLimits.allBytesMax} bytes`);
  return value as readonly string[];
};

/** Throws `bad-request` unless the patterns of a request are searched for as the plan of a client's request would. */
export function requireSets({ basicQueries }: SearchPlan, { patterns }: SearchRequest): void {
  for (const { text, history, repositoryNames } of basicQueries) {
    const leaves = text?.leaves.filter(({ wantsSet }) => wantsSet === true) ?? [];
    const isForFiles = text?.symbols === undefined && history.length === 0 && repositoryNames === undefined;
    const isOne = patterns === undefined ? leaves.length === 0 : leaves.length === 1 && isForFiles;
    if (!isOne || !leaves.every(isOfSet)) throw unfit("ask.plan.basicQueries", "of the patterns of the request");
  }
}

function isOfSet({ source, either, inContent, inPath, highlighted }: Leaf): boolean {
  return source === "" && either.length === 0 && inContent && !inPath && highlighted;
}

/** A request as it crosses to another node. */
export const searchRequest: Shape<SearchRequest> = members<SearchRequest>({
  query: text(queryLimits.textBytesMax),
  version: name,
  patternType: name,
  display: optional(natural),
  chunkMatches: flag,
  contextLines: natural,
  lineBytesMax: word,
  cutsAround: optional(flag),
  diffType: choice(["commit", "diff"]),
  refusesOwners: optional(flag),
  defaultCount: optional(natural),
  debug: flag,
  receipt: choice(["none", "report", "strict"]),
  duplicates: optional(flag),
  groups: optional(members<WantedGroups>({ by: choice(groupKinds), countMax: atMost(groupCountMax) })),
  patterns: patterns as Shape<readonly string[]>,
  explain: optional(flag),
  near: optional(flag),
  isForAllNodes: optional(flag),
  // Of searches of a node itself.
  scope: nothing as Shape<never>,
  // It is told apart, because it may be long.
  since: nothing as Shape<never>,
  isBase: optional(flag),
  atLeast: optional(members<PartitionVersion>({ partition: atMost(partitionsMax), version: natural })),
  viewer: searchViewer,
  client: name,
  origin: nothing as Shape<never>,
});
