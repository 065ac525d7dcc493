import type { RevisionSpec } from "../../model/revision-syntax.js";
import type { Analyses } from "../fields/analyses.js";
import type { FieldNode, PatternNode, QueryNode } from "../syntax/ast.js";
import { type BasicQuery, readResultTypes } from "../syntax/basic.js";
import type {
  CommittedAfter,
  Leaf,
  PathFilter,
  RepositoryCondition,
  RepositoryFilter,
  RepositoryInclude,
  RepositoryNamePlan,
} from "./plan.js";
import type { YesNoOnly } from "../fields/values.js";
import { readPredicates } from "../fields/repository-predicates.js";
import { type ContextGroup, findContextName } from "./search-contexts.js";
import { findField, isCaseSensitive, readRevisions, searchesOnlyHistory } from "../fields/validate.js";
import { readVisibility, readYesNoOnly, splitRepository } from "../fields/values.js";
import type { Span } from "../syntax/characters.js";
import { readDateMs } from "../fields/dates.js";
import { type FileArgument, readFileArgument } from "../fields/predicates.js";
import { escapeRegexp } from "../../base/text.js";
import type { FieldName } from "../syntax/fields.js";
import { queryLimits } from "../syntax/limits.js";

/**
 * The repositories and revisions of a valid basic query. A `rev:` applies to each of its `repo:` filters and, if these
 * are only predicates, to everything that they choose. `group` is the part of its context's list to choose from.
 */
export function planRepositories(
  query: BasicQuery,
  group: ContextGroup | undefined,
  analyses: Analyses,
  nowMs: number,
): RepositoryFilter {
  const revision = findField(query, "rev");
  const given = query.fields.filter(({ name, predicate }) => name === "repo" && predicate === undefined);
  const includes = given
    .filter(({ negated }) => !negated)
    .map((field) => planInclude(field, revision ?? field, analyses, nowMs));
  const ofAll =
    includes.length > 0 || revision === undefined
      ? []
      : [ofAllRepositories(planRevisions(revision, nowMs), planExclusions(revision))];
  const ofGroup =
    group === undefined || group.revisions.length === 0
      ? []
      : [ofAllRepositories(group.revisions.map(parseRevisionSpec), [])];
  const index = readYesNoOnly("index", findField(query, "index")?.value ?? "yes");
  return {
    context: findContextName(query),
    among: group?.names,
    include: [...includes, ...ofAll, ...ofGroup],
    exclude: given.filter(({ negated }) => negated).map(({ value }) => splitRepository(value).source),
    predicates: readPredicates(query.fields),
    fork: yesNoOnly(query, "fork"),
    archived: yesNoOnly(query, "archived"),
    forkGiven: findField(query, "fork") !== undefined,
    archivedGiven: findField(query, "archived") !== undefined,
    visibility: readVisibility(findField(query, "visibility")?.value ?? "any"),
    index,
    onlyIndexedRevisions: index === "only" && !searchesOnlyHistory(query),
    conditions: planRepositoryConditions(query, analyses),
    committedAfter: planCommittedAfter(query, nowMs),
  };
}

function ofAllRepositories(revisions: readonly RevisionSpec[], withoutHistoryOf: readonly string[]): RepositoryInclude {
  return { source: "", revisions, withoutHistoryOf, exactName: undefined };
}

function planInclude(
  { value, span }: FieldNode,
  revisionField: FieldNode,
  analyses: Analyses,
  nowMs: number,
): RepositoryInclude {
  const { source } = splitRepository(value);
  return {
    source,
    revisions: planRevisions(revisionField, nowMs),
    withoutHistoryOf: planExclusions(revisionField),
    exactName: findExactName(source, span, analyses),
  };
}

/** The text between `^` and `$` if it is literal, without groups. An escaped `\$` at the end is not an anchor. */
function findExactName(source: string, span: FieldNode["span"], analyses: Analyses): string | undefined {
  const inner = /^\^((?:[^\\(]|\\.)+)\$$/s.exec(source)?.[1];
  if (inner === undefined) return undefined;
  // The part between the anchors is not necessarily a valid regexp, as in `^a)|(b$`.
  return analyses.isRegexp(inner, false, span) ? analyses.regexp(inner, false, span).literal : undefined;
}

function yesNoOnly(query: BasicQuery, name: "fork" | "archived"): YesNoOnly {
  const field = findField(query, name);
  return field === undefined ? "no" : readYesNoOnly(name, field.value);
}

/** The conditions of a valid basic query on the contents of repositories. */
function planRepositoryConditions(query: BasicQuery, analyses: Analyses): readonly RepositoryCondition[] {
  return query.fields.flatMap((field) => {
    const argument = fileArgument(field);
    return argument === undefined ? [] : [{ negated: field.negated, file: planFile(argument, field.span, analyses) }];
  });
}

/** The conditions of a valid basic query on the histories of repositories. */
function planCommittedAfter(query: BasicQuery, nowMs: number): readonly CommittedAfter[] {
  return query.fields.flatMap((field) => {
    const date = readCommitDate(field);
    return date === undefined
      ? []
      : [{ negated: field.negated, unixSeconds: Math.floor(readDateMs(date, nowMs) / 1000) }];
  });
}

/** The date in the field; undefined if it has none. */
function readCommitDate({ name, value, predicate }: FieldNode): string | undefined {
  if (name === "repohascommitafter") return value;
  const isPredicate =
    name === "repo" && (predicate?.name === "has.commit.after" || predicate?.name === "contains.commit.after");
  return isPredicate ? predicate.argument : undefined;
}

/** The condition of the field on one file of a repository; undefined if it has none. */
function fileArgument({ name, value, predicate }: FieldNode): FileArgument | undefined {
  if (name === "repohasfile") return { path: value, content: "" };
  if (name !== "repo" || predicate === undefined) return undefined;
  switch (predicate.name) {
    case "has.path":
    case "contains.path":
      return { path: predicate.argument, content: "" };
    case "has.content":
    case "contains.content":
      return { path: "", content: predicate.argument };
    case "has.file":
    case "contains.file":
    case "contains":
      return readFileArgument(predicate.argument);
    default:
      return undefined;
  }
}

/** Case is ignored, as by every filter on repositories. */
function planFile({ path, content }: FileArgument, span: Span, analyses: Analyses): RepositoryCondition["file"] {
  const fileFilters: PathFilter[] =
    path === ""
      ? []
      : [
          {
            kind: "path",
            negated: false,
            source: path,
            foldCase: true,
            highlighted: false,
            label: `file:/${path}/i`,
            analysis: analyses.regexp(path, true, span),
          },
        ];
  const leaves: Leaf[] =
    content === ""
      ? []
      : [
          {
            source: content,
            either: [],
            foldCase: true,
            inContent: true,
            inPath: false,
            highlighted: false,
            analysis: analyses.regexp(content, true, span),
          },
        ];
  return {
    symbols: undefined,
    content: true,
    path: true,
    fileFilters,
    pattern: content === "" ? undefined : { kind: "leaf", leaf: 0 },
    leaves,
    people: [],
  };
}

/** The revisions in a validated `repo:` or `rev:` field; none for the default branch. */
function planRevisions(field: FieldNode, nowMs: number): readonly RevisionSpec[] {
  if (field.name === "rev" && field.predicate?.name === "at.time") return [atTime(field.predicate.argument, nowMs)];
  return readRevisions(field)
    .filter((typed) => !isExclusion(typed))
    .map(parseRevisionSpec);
}

/** The revisions whose history a search of history excludes, in a validated `repo:` or `rev:` field; without the `^`. */
function planExclusions(field: FieldNode): readonly string[] {
  return readRevisions(field)
    .filter(isExclusion)
    .map((typed) => typed.slice(1));
}

function isExclusion(typed: string): boolean {
  return typed.startsWith("^");
}

/** A revision as typed: a name or a glob. */
export function parseRevisionSpec(typed: string): RevisionSpec {
  if (typed.startsWith("*!")) return { kind: "glob", typed, negated: true, pattern: typed.slice(2) };
  if (typed.startsWith("*")) return { kind: "glob", typed, negated: false, pattern: typed.slice(1) };
  return { kind: "name", typed };
}

/** A date and, after a comma, the revision whose history is used. */
function atTime(argument: string, nowMs: number): RevisionSpec {
  const [date, base = ""] = argument.split(",", 2);
  const unixSeconds = Math.floor(readDateMs(date, nowMs) / 1000);
  return {
    kind: "at-time",
    typed: `at.time(${argument})`,
    unixSeconds,
    base: base.trim() === "" ? "HEAD" : base.trim(),
  };
}

/** A query with any other field has no repository results. `rev:` counts as part of `repo:`. */
const fieldsOfRepositories: ReadonlySet<FieldName> = new Set([
  "repo",
  "rev",
  "context",
  "type",
  "index",
  "count",
  "timeout",
  "fork",
  "archived",
  "visibility",
  "case",
  "repohasfile",
  "repohascommitafter",
  "patterntype",
  "select",
]);

/** The condition on names for repository results; undefined if the query has none. */
export function planRepositoryNames(query: BasicQuery, analyses: Analyses): RepositoryNamePlan | undefined {
  if (!readResultTypes(query).repository || query.fields.some(({ name }) => !fieldsOfRepositories.has(name)))
    return undefined;
  const foldCase = !isCaseSensitive(query);
  if (query.pattern === undefined) return { combine: "and", sources: [], exclude: [], groups: [], foldCase };
  return planNode(query.pattern, foldCase, analyses);
}

/** Undefined for a condition that no repository satisfies, whatever its name. */
function planNode(node: QueryNode, foldCase: boolean, analyses: Analyses): RepositoryNamePlan | undefined {
  const children = node.kind === "and" || node.kind === "or" || node.kind === "concat" ? node.children : [node];
  const combine = node.kind === "or" ? "or" : "and";
  const sources = new Set<string>();
  const exclude: string[] = [];
  const groups: RepositoryNamePlan[] = [];
  for (const child of children) {
    if (child.kind === "pattern" && child.negated) {
      const source = nameSource(child, foldCase, analyses);
      if (combine === "and" && source !== undefined) exclude.push(source);
      continue;
    }
    const source = child.kind === "pattern" ? nameSource(child, foldCase, analyses) : undefined;
    const group = child.kind === "pattern" ? undefined : planNode(child, foldCase, analyses);
    if (source !== undefined) sources.add(source);
    else if (group !== undefined) groups.push(group);
    else if (combine === "and") return undefined;
  }
  return sources.size + groups.length === 0 ? undefined : { combine, sources: [...sources], exclude, groups, foldCase };
}

/** No name has more UTF-16 code units. */
const nameLengthMax = 255;

/**
 * The condition of a pattern on a name: the text before the first `@`. Undefined if it cannot match a name, if that
 * text is not a valid regexp, as in `(a@b)`, or if it exceeds the length limit of a regexp on names.
 */
function nameSource(pattern: PatternNode, foldCase: boolean, analyses: Analyses): string | undefined {
  if (pattern.contentOnly || pattern.value.startsWith("@")) return undefined;
  const at = pattern.value.indexOf("@");
  const value = at < 0 ? pattern.value : pattern.value.slice(0, at);
  if (pattern.form === "literal") return value.length > nameLengthMax ? undefined : escapeRegexp(value);
  if (value.length > queryLimits.namePatternLengthMax) return undefined;
  return at < 0 || analyses.isRegexp(value, foldCase, pattern.span) ? value : undefined;
}
