import { TrawlError } from "../base/errors.js";
import { Analyses } from "./analyses.js";
import type { FieldNode, QueryNode } from "./ast.js";
import { basicQueries, type BasicQuery } from "./basic.js";
import { countAll } from "./normalise.js";
import { parseQuery } from "./parse.js";
import type { BasicPlan, PatternType, SearchPlan } from "./plan.js";
import { planRepositoryNames } from "./repository-names.js";
import { planRepositories } from "./repository-filter.js";
import { UnsupportedError } from "./query-error.js";
import type { QueryType } from "./query-type.js";
import { planText } from "./text-plan.js";
import { refuseUnbuilt } from "./unsupported.js";
import { fieldOf, Validator } from "./validate.js";
import { readCount, readTimeoutMs } from "./values.js";

/**
 * Text to plan. Throws `QueryError`, of the kind `UnsupportedError` for what is right but not built yet, and
 * `bad-request` for a structural pattern, which no query of this program can hold.
 */
export function planQuery(text: string, type: QueryType): SearchPlan {
  const tree = parseQuery(text, type);
  const basics = basicQueries(tree);
  const queries = basics.length > 0 ? basics : [{ fields: [], pattern: undefined, termCount: 0 }];
  const analyses = new Analyses(text);
  const validator = new Validator(text, analyses, new Date().getTime());
  for (const query of queries) validator.check(query);
  const patternType = patternTypeOf(text, type, tree.root);
  for (const query of queries) refuseUnbuilt(text, query);
  const fields = queries.flatMap((query) => query.fields);
  const counts = valuesOf(fields, "count").map(readCount);
  const timeouts = valuesOf(fields, "timeout").map(readTimeoutMs);
  return {
    patternType,
    alternatives: queries.map((query) => planBasic(query, analyses)),
    // Counts of basic queries that are united: the largest holds for the union.
    matchCountMax: counts.length > 0 ? Math.max(...counts) : countAll,
    hasCount: counts.length > 0,
    timeoutMs: timeouts.length > 0 ? Math.max(...timeouts) : undefined,
    select: commonSelect(text, queries),
  };
}

function planBasic(query: BasicQuery, analyses: Analyses): BasicPlan {
  return {
    repositories: planRepositories(query, analyses),
    text: planText(query, analyses),
    repositoryNames: planRepositoryNames(query, analyses),
  };
}

function valuesOf(fields: readonly FieldNode[], name: "count" | "timeout"): string[] {
  return fields.filter((field) => field.name === name).map((field) => field.value);
}

/** One plan has one `select:`. */
function commonSelect(text: string, queries: readonly BasicQuery[]): string | undefined {
  const selects = queries.map((query) => fieldOf(query, "select"));
  const first = selects.find((select) => select !== undefined);
  if (first === undefined || selects.every((select) => select?.value === first.value)) return first?.value;
  throw new UnsupportedError("A select: for one alternative of a query only is understood but not built yet.", text, first.place);
}

/** A structural query without a pattern is an ordinary one. */
function patternTypeOf(text: string, type: QueryType, root: QueryNode | undefined): PatternType {
  if (type !== "structural") return type;
  if (root === undefined || basicQueries({ text, type, root }).every((query) => query.pattern === undefined)) return "standard";
  throw new TrawlError("bad-request", "Structural search is disabled in the site configuration.");
}
