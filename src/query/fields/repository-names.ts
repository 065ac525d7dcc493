import { escapeRegexp } from "../../base/text.js";
import type { Analyses } from "../plan/analyses.js";
import type { PatternNode, QueryNode } from "../syntax/ast.js";
import type { BasicQuery } from "../plan/basic.js";
import type { FieldName } from "./fields.js";
import { queryLimits } from "../syntax/limits.js";
import type { RepositoryNamePlan } from "../plan/plan.js";
import { readResultTypes } from "./result-types.js";
import { isCaseSensitive } from "./validate.js";

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
