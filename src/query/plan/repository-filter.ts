import type { RevisionSpec } from "../../model/revision.js";
import type { Analyses } from "./analyses.js";
import type { FieldNode } from "../syntax/ast.js";
import type { BasicQuery } from "./basic.js";
import type { RepositoryFilter, RepositoryInclude, YesNoOnly } from "./plan.js";
import { planCommittedAfter, planRepositoryConditions } from "./repository-conditions.js";
import { readPredicates } from "./repository-predicates.js";
import { parseRevisionSpec, planExclusions, planRevisions } from "../fields/revisions.js";
import { findContextName, type ContextGroup } from "./search-contexts.js";
import { findField, searchesOnlyHistory } from "../fields/validate.js";
import { readVisibility, readYesNoOnly, splitRepository } from "../fields/values.js";

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
