import { Analyses } from "./analyses.js";
import { hasPattern, placeOf, type QueryNode } from "./ast.js";
import { basicQueries, type BasicQuery } from "./basic.js";
import { planNames } from "./name-plan.js";
import { parseQuery } from "./parse.js";
import type { BasicPlan, SearchPlan } from "./plan.js";
import { printBasicQuery } from "./print.js";
import { UnsupportedError } from "./query-error.js";
import type { QueryType } from "./query-type.js";
import { planRepositories } from "./repository-filter.js";
import { planText } from "./text-plan.js";
import { refuseUnbuilt } from "./unbuilt.js";
import { fieldOf, Validator } from "./validate.js";
import { readCount, readTimeoutMs } from "./values.js";

/** How many matches a query without `count:` finds, where the caller has no rule of its own. */
export const defaultMatchCountMax = 10_000;

/**
 * Text to plan: parse, split into basic queries, validate, plan. Throws a `QueryError` for a wrong query and an
 * `UnsupportedError` for a right one that asks for what is not built. A blank query is a plan without alternatives.
 */
export function planQuery(text: string, type: QueryType): SearchPlan {
  return planAt(text, type, Date.now());
}

function planAt(text: string, type: QueryType, nowMs: number): SearchPlan {
  const tree = parseQuery(text, type);
  const queries = distinct(basicQueries(tree));
  const analyses = new Analyses(text);
  const validator = new Validator(text, analyses, nowMs);
  for (const query of queries) validator.check(query);
  if (type === "structural" && tree.root !== undefined) refuseStructural(text, tree.root);
  for (const query of queries) refuseUnbuilt(text, query);
  return {
    patternType: type === "structural" ? "literal" : type,
    alternatives: queries.map((query) => planBasic(query, analyses)),
    ...planLimits(queries),
    select: commonSelect(text, queries),
  };
}

function planBasic(query: BasicQuery, analyses: Analyses): BasicPlan {
  return {
    repositories: planRepositories(query, analyses),
    text: planText(query, analyses),
    repositoryNames: planNames(query, analyses),
  };
}

/** `repo:a or repo:a` is one query. */
function distinct(queries: readonly BasicQuery[]): readonly BasicQuery[] {
  return [...new Map(queries.map((query) => [printBasicQuery(query), query])).values()];
}

/** The limits are those of the whole query: where alternatives differ, the largest. */
function planLimits(
  queries: readonly BasicQuery[],
): Pick<SearchPlan, "matchCountMax" | "hasCount" | "timeoutMs"> {
  const counts = valuesOf(queries, "count").map(readCount);
  const timeouts = valuesOf(queries, "timeout").map(readTimeoutMs);
  return {
    matchCountMax: counts.length === 0 ? defaultMatchCountMax : Math.max(...counts),
    hasCount: counts.length > 0,
    timeoutMs: timeouts.length === 0 ? undefined : Math.max(...timeouts),
  };
}

function valuesOf(queries: readonly BasicQuery[], name: "count" | "timeout"): readonly string[] {
  return queries.map((query) => fieldOf(query, name)?.value).filter((value) => value !== undefined);
}

/** One plan has one `select:`; alternatives that disagree would need one each. */
function commonSelect(text: string, queries: readonly BasicQuery[]): string | undefined {
  const selects = queries.map((query) => fieldOf(query, "select"));
  const given = selects.find((select) => select !== undefined);
  if (given === undefined) return undefined;
  if (selects.every((select) => select?.value === given.value)) return given.value;
  const message = "a select: of its own for each alternative of a query is understood but not built yet";
  throw new UnsupportedError(message, text, given.place);
}

function refuseStructural(text: string, root: QueryNode): void {
  if (!hasPattern(root)) return;
  const message = "Structural search is disabled in the site configuration.";
  throw new UnsupportedError(message, text, placeOf(root));
}
