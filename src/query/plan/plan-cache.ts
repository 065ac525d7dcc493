import { BoundedMap } from "../../base/bounded-map.js";
import { parseQuery } from "../syntax/parse.js";
import type { QueryType } from "../syntax/query-type.js";
import type { RequestedPatterns } from "./pattern-set.js";
import type { SearchPlan } from "./plan.js";
import { dependsOnlyOnText, planTreeInSteps } from "./plan-query.js";
import type { SearchContexts } from "./search-contexts.js";

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
