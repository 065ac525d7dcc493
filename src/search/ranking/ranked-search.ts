import type { SearchPlan } from "../../query/plan/plan.js";
import type { SearchLimits } from "../search-limits.js";

/** Values of `select:` that leave documents as results. */
const rankedSelects: ReadonlySet<string | undefined> = new Set([undefined, "content", "file", "file.path"]);

/**
 * Whether the first results of a search are ranked: somebody waits for the best of them. An exhaustive search is not,
 * because its client wants all, as fast as possible; nor is one for symbols, for the patterns of a set, or for what
 * documents belong to.
 */
export function isRanked(plan: SearchPlan, { lane, resultLimits, displayCountMax }: SearchLimits): boolean {
  return (
    lane === "interactive" &&
    resultLimits === undefined &&
    displayCountMax > 0 &&
    plan.resultOptions.every(({ select }) => rankedSelects.has(select)) &&
    plan.basicQueries.every(
      ({ text }) => text?.symbols === undefined && text?.leaves.every(({ set }) => set === undefined) !== false,
    )
  );
}
