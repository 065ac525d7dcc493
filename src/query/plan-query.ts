import { TrawlError } from "../base/errors.js";
import { Analyses } from "./analyses.js";
import type { QueryNode } from "./ast.js";
import { basicQueries, type BasicQuery } from "./basic.js";
import { queryLimits } from "./limits.js";
import { parseQuery } from "./parse.js";
import type { BasicPlan, PatternType, SearchPlan } from "./plan.js";
import { planRepositoryNames } from "./repository-names.js";
import { planRepositories } from "./repository-filter.js";
import { QueryError } from "./query-error.js";
import type { QueryType } from "./query-type.js";
import { planRules } from "./result-rules.js";
import { contextGroupsOf, placeContexts, preferOwnFields, type SearchContexts } from "./search-contexts.js";
import { planText } from "./text-plan.js";
import { refuseUnbuilt } from "./unsupported.js";
import { Validator } from "./validate.js";

/**
 * Text to plan. `contexts` are those that are defined beside the global one. Throws `QueryError`, of the kind
 * `UnsupportedError` for what is right but not built yet, and `bad-request` for a structural pattern, which no query of
 * this program can hold.
 */
export function planQuery(text: string, type: QueryType, contexts?: SearchContexts): SearchPlan {
  const tree = parseQuery(text, type);
  const basics = basicQueries(placeContexts(tree, contexts)).map(preferOwnFields);
  const queries = basics.length > 0 ? basics : [{ fields: [], pattern: undefined, termCount: 0 }];
  const analyses = new Analyses(text);
  const validator = new Validator(text, analyses, new Date().getTime());
  for (const query of queries) validator.check(query);
  const patternType = patternTypeOf(text, type, tree.root);
  for (const query of queries) refuseUnbuilt(text, query);
  const { rules, numbers } = planRules(queries);
  const alternatives = queries.flatMap((query, i) => planBasic(query, numbers[i], contexts, analyses));
  if (alternatives.length > queryLimits.basicQueryCountMax) throw tooManyGroups(text, queries);
  return { patternType, alternatives, rules };
}

/** One plan; or, in a context with a list, one for the repositories that it has at the same revisions. */
function planBasic(query: BasicQuery, rules: number, contexts: SearchContexts | undefined, analyses: Analyses): BasicPlan[] {
  const text = planText(query, analyses);
  const repositoryNames = planRepositoryNames(query, analyses);
  const groups = contextGroupsOf(query, contexts) ?? [undefined];
  return groups.map((group) => ({ repositories: planRepositories(query, group, analyses), text, repositoryNames, rules }));
}

function tooManyGroups(text: string, queries: readonly BasicQuery[]): QueryError {
  const field = queries.flatMap(({ fields }) => fields).find(({ name }) => name === "context");
  const message = `the revisions of this context split the query into more than ${queryLimits.basicQueryCountMax} queries`;
  return new QueryError(message, text, field?.place ?? { from: 0, to: text.length });
}

/** A structural query without a pattern is an ordinary one. */
function patternTypeOf(text: string, type: QueryType, root: QueryNode | undefined): PatternType {
  if (type !== "structural") return type;
  if (root === undefined || basicQueries({ text, type, root }).every((query) => query.pattern === undefined)) return "standard";
  throw new TrawlError("bad-request", "Structural search is disabled in the site configuration.");
}
