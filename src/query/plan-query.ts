import { TrawlError } from "../base/errors.js";
import { Analyses } from "./analyses.js";
import type { QueryNode } from "./ast.js";
import { basicQueries, type BasicQuery } from "./basic.js";
import { parseQuery } from "./parse.js";
import type { BasicPlan, PatternType, SearchPlan } from "./plan.js";
import { planRepositoryNames } from "./repository-names.js";
import { planRepositories } from "./repository-filter.js";
import type { QueryType } from "./query-type.js";
import { planRules } from "./result-rules.js";
import { planText } from "./text-plan.js";
import { refuseUnbuilt } from "./unsupported.js";
import { Validator } from "./validate.js";

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
  const { rules, numbers } = planRules(queries);
  return { patternType, alternatives: queries.map((query, i) => planBasic(query, numbers[i], analyses)), rules };
}

function planBasic(query: BasicQuery, rules: number, analyses: Analyses): BasicPlan {
  return {
    repositories: planRepositories(query, analyses),
    text: planText(query, analyses),
    repositoryNames: planRepositoryNames(query, analyses),
    rules,
  };
}

/** A structural query without a pattern is an ordinary one. */
function patternTypeOf(text: string, type: QueryType, root: QueryNode | undefined): PatternType {
  if (type !== "structural") return type;
  if (root === undefined || basicQueries({ text, type, root }).every((query) => query.pattern === undefined)) return "standard";
  throw new TrawlError("bad-request", "Structural search is disabled in the site configuration.");
}
