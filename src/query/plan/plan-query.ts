import { TrawlError } from "../../base/errors.js";
import { resultAtOnce } from "../../base/yielding.js";
import { Analyses } from "../fields/analyses.js";
import { collectLeaves, type QueryNode, type QueryTree } from "../syntax/ast.js";
import { basicQueries, type BasicQuery } from "../syntax/basic.js";
import { planHistory, selectsHistory } from "./plan-history.js";
import { queryLimits } from "../syntax/limits.js";
import { parseQuery } from "../syntax/parse.js";
import type { BasicQueryPlan, PatternSet, ResultOptions, SearchPlan } from "./plan.js";
import type { PatternType } from "../../model/search-request.js";
import { type FieldName, fields } from "../syntax/fields.js";
import { planRepositories, planRepositoryNames } from "./repository-filter.js";
import { QueryError } from "../syntax/query-error.js";
import type { QueryType } from "../syntax/scan.js";
import { makePatternSet, type RequestedPatterns } from "./pattern-set.js";
import { expandContext, placeContexts, preferOwnFields, type SearchContexts } from "./search-contexts.js";
import { planSymbols, planText } from "./text-plan.js";
import { findField, isCaseSensitive, refuseUnbuilt, Validator } from "../fields/validate.js";
import { readCount, readTimeoutMs } from "../fields/values.js";
import { BoundedMap } from "../../base/bounded-map.js";

/**
 * Converts a text to a plan. `contexts` are those defined in addition to the global one. Throws `QueryError`, in
 * particular `UnsupportedError` for a valid query that is not implemented yet, and `bad-request` for a structural
 * pattern, which is not supported.
 */
export function planQuery(text: string, type: QueryType, contexts?: SearchContexts): SearchPlan {
  return resultAtOnce(planInSteps(text, type, contexts));
}

/** Like `planQuery`, in steps: a query of 64 KiB takes up to 200 ms. */
export function* planInSteps(
  text: string,
  type: QueryType,
  contexts?: SearchContexts,
): Generator<undefined, SearchPlan> {
  const tree = parseQuery(text, type);
  yield;
  return yield* planTreeInSteps(tree, contexts);
}

/** Plans a parsed query. With `patterns`, its results are the files that also contain one of them. */
export function* planTreeInSteps(
  tree: QueryTree,
  contexts: SearchContexts | undefined,
  patterns?: RequestedPatterns,
): Generator<undefined, SearchPlan> {
  const { text, type } = tree;
  const basics = basicQueries(placeContexts(tree, contexts)).map(preferOwnFields);
  const queries = basics.length > 0 ? basics : [{ fields: [], pattern: undefined, termCount: 0 }];
  boundRepositoryFilters(text, queries);
  const analyses = new Analyses(text);
  const nowMs = new Date().getTime();
  const validator = new Validator(text, analyses, nowMs);
  for (const query of queries) yield* validator.checkInSteps(query);
  const patternType = effectivePatternType(text, type, tree.root);
  for (const query of queries) refuseUnbuilt(text, query);
  boundContributors(text, queries);
  const sets = patterns === undefined ? undefined : yield* makeSets(text, queries, patterns);
  const { resultOptions, indexes } = planResultOptions(queries);
  const plans: BasicQueryPlan[] = [];
  for (const [i, query] of queries.entries()) {
    plans.push(...planBasic(query, indexes[i], contexts, analyses, nowMs, sets?.get(isCaseSensitive(query))));
    yield;
  }
  if (plans.length > queryLimits.basicQueryCountMax) throw tooManyGroups(text, queries);
  const plan = { patternType, basicQueries: plans, resultOptions };
  treesOfPlans.set(plan, tree);
  return plan;
}

/** Not a part of the plan, which is sent to other threads. */
const treesOfPlans = new WeakMap<SearchPlan, QueryTree>();

/** The tree of the text as `plan.patternType`: that from which the plan was made, if it is still known. */
export function parsedTree(text: string, plan: SearchPlan): QueryTree {
  const tree = treesOfPlans.get(plan);
  return tree?.text === text && tree.type === plan.patternType ? tree : parseQuery(text, plan.patternType);
}

/** The patterns by whether case counts, as far as the queries need them. */
function* makeSets(
  text: string,
  queries: readonly BasicQuery[],
  patterns: RequestedPatterns,
): Generator<undefined, ReadonlyMap<boolean, PatternSet>> {
  const sets = new Map<boolean, PatternSet>();
  for (const query of queries) {
    requireSetFields(text, query);
    const isSensitive = isCaseSensitive(query);
    if (!sets.has(isSensitive)) sets.set(isSensitive, yield* makePatternSet(patterns, !isSensitive));
  }
  return sets;
}

/** True if the plan depends on nothing but the text: neither on the time nor on search contexts. */
function dependsOnlyOnText({ root }: QueryTree): boolean {
  return (
    root === undefined ||
    collectLeaves(root).every(
      (leaf) =>
        leaf.kind === "pattern" ||
        (leaf.predicate === undefined && fields[leaf.name].value !== "date" && fields[leaf.name].value !== "context"),
    )
  );
}

/** One plan, and one more for symbols; in a context with a list, one per group of repositories with the same revisions. */
function planBasic(
  query: BasicQuery,
  optionsIndex: number,
  contexts: SearchContexts | undefined,
  analyses: Analyses,
  nowMs: number,
  set: PatternSet | undefined,
): BasicQueryPlan[] {
  const text = selectsHistory(query) ? undefined : planText(query, analyses, set);
  const history = planHistory(query, analyses, nowMs);
  const repositoryNames = set === undefined ? planRepositoryNames(query, analyses) : undefined;
  const symbols = planSymbols(query, analyses);
  const groups = expandContext(query, contexts) ?? [undefined];
  return groups.flatMap((group) => {
    const plan = {
      repositories: planRepositories(query, group, analyses, nowMs),
      text,
      history,
      repositoryNames,
      optionsIndex,
    };
    if (symbols === undefined) return [plan];
    const ofSymbols = { ...plan, text: symbols, history: [], repositoryNames: undefined };
    const isOnlySymbols = text === undefined && history.length === 0 && repositoryNames === undefined;
    return isOnlySymbols ? [ofSymbols] : [plan, ofSymbols];
  });
}

function boundRepositoryFilters(text: string, queries: readonly BasicQuery[]): void {
  const filters = new Set(queries.flatMap(({ fields }) => fields.filter(({ name }) => name === "repo")));
  const [excess] = [...filters].slice(queryLimits.repositoryFilterCountMax);
  if (excess === undefined) return;
  const message = `the query has more than ${queryLimits.repositoryFilterCountMax} repo: filters; one regexp can name many, as in repo:^(a|b)$`;
  throw new QueryError(message, text, excess.span);
}

function tooManyGroups(text: string, queries: readonly BasicQuery[]): QueryError {
  const field = queries.flatMap(({ fields }) => fields).find(({ name }) => name === "context");
  const message = `the revisions of this context split the query into more than ${queryLimits.basicQueryCountMax} queries`;
  return new QueryError(message, text, field?.span ?? { from: 0, to: text.length });
}

function boundContributors(text: string, queries: readonly BasicQuery[]): void {
  const fields = queries
    .flatMap((query) => query.fields)
    .filter(({ predicate }) => predicate?.name === "has.contributor");
  const seen = new Set<string>();
  for (const { predicate, span } of fields) {
    seen.add(predicate?.argument ?? "");
    if (seen.size <= queryLimits.contributorCountMax) continue;
    throw new QueryError(
      `more than ${queryLimits.contributorCountMax} different file:has.contributor() in one query`,
      text,
      span,
    );
  }
}

/** A structural query without a pattern is treated as an ordinary one. */
function effectivePatternType(text: string, type: QueryType, root: QueryNode | undefined): PatternType {
  if (type !== "structural") return type;
  if (root === undefined || basicQueries({ text, type, root }).every((query) => query.pattern === undefined))
    return "standard";
  throw new TrawlError("bad-request", "Structural search is disabled in the site configuration.");
}

/** Throws a `QueryError` if the query asks for results in which the patterns of a set are not searched for. */
function requireSetFields(text: string, query: BasicQuery): void {
  const other = query.fields.find(({ name, value }) => name === "type" && value !== "file");
  if (other !== undefined)
    throw new QueryError(
      `patterns are searched for in the contents of files only, not with type:${other.value}; leave it out, or search for each pattern separately`,
      text,
      other.span,
    );
  const select = findField(query, "select");
  if (select === undefined || !/^(symbol|commit)/.test(select.value)) return;
  throw new QueryError(
    `patterns are searched for in the contents of files, which have no select:${select.value}`,
    text,
    select.span,
  );
}

/**
 * The result options of valid basic queries, and the index of the options of each.
 *
 * If all have the same `count:`, the limit of the whole search enforces it, and equal options are shared. Otherwise
 * each query has its own options, so that its matches are counted separately.
 */
function planResultOptions(queries: readonly BasicQuery[]): {
  readonly resultOptions: readonly ResultOptions[];
  readonly indexes: readonly number[];
} {
  const typed = queries.map(planOptions);
  if (typed.some(({ count }) => count !== typed[0].count)) return { resultOptions: typed, indexes: [...typed.keys()] };
  const numberOf = new Map<string, number>();
  const resultOptions: ResultOptions[] = [];
  const indexes = typed.map((one) => {
    const key = `${one.select} ${one.timeoutMs}`;
    const number = numberOf.get(key) ?? resultOptions.push(one) - 1;
    numberOf.set(key, number);
    return number;
  });
  return { resultOptions, indexes };
}

function planOptions(query: BasicQuery): ResultOptions {
  const fieldValue = (name: FieldName): string | undefined => findField(query, name)?.value;
  const [count, timeout] = [fieldValue("count"), fieldValue("timeout")];
  return {
    select: fieldValue("select"),
    count: count === undefined ? undefined : readCount(count),
    timeoutMs: timeout === undefined ? undefined : readTimeoutMs(timeout),
  };
}

/** Number of plans kept. */
const plansMax = 256;

/** Plans of longer queries, in UTF-16 units, are not kept: a plan may take 100 times the memory of its text. */
const textLengthMax = 256;

/**
 * The plans of the most recently used query texts. A client repeats its queries, and a page sends one again with other
 * options; planning takes 0.1 ms for a short query, a quarter of a search without results.
 *
 * Only plans that depend on nothing but the text are kept. Plans are never modified, so searches share them.
 */
export class PlanCache {
  readonly #plans = new BoundedMap<string, SearchPlan>(plansMax, () => 1);

  get size(): number {
    return this.#plans.size;
  }

  /** Like `planInSteps`. */
  *planInSteps(
    text: string,
    type: QueryType,
    contexts: SearchContexts | undefined,
    patterns?: RequestedPatterns,
  ): Generator<undefined, SearchPlan> {
    if (patterns !== undefined) return yield* planTreeInSteps(parseQuery(text, type), contexts, patterns);
    const key = `${type} ${text}`;
    const known = this.#plans.get(key);
    if (known !== undefined) return known;
    const tree = parseQuery(text, type);
    yield;
    const plan = yield* planTreeInSteps(tree, contexts);
    if (text.length <= textLengthMax && dependsOnlyOnText(tree)) this.#plans.set(key, plan);
    return plan;
  }
}
