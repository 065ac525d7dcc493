import type { SearchPlan } from "../../query/plan/plan.js";
import type { SearchLimits } from "./search-limits.js";

/** Values of `select:` that leave documents as results. */
const rankedSelects: ReadonlySet<string | undefined> = new Set([undefined, "content", "file", "file.path"]);

/**
 * Whether the first results of a search are ranked: somebody waits for the best of them. An exhaustive search is not,
 * because its client wants all, as fast as possible; nor is one for symbols together with texts, for the patterns of a set,
 * or for what documents belong to.
 */
export function isRanked(plan: SearchPlan, { lane, resultLimits, displayCountMax }: SearchLimits): boolean {
  if (lane !== "interactive" || resultLimits !== undefined || displayCountMax === 0) return false;
  const texts = plan.basicQueries.flatMap(({ text }) => text ?? []);
  const selects = plan.resultOptions.map(({ select }) => select);
  if (texts.some(({ symbols }) => symbols !== undefined))
    return texts.every(({ symbols }) => symbols !== undefined) && selects.every(leavesSymbols);
  return (
    selects.every((select) => rankedSelects.has(select)) &&
    texts.every(({ leaves }) => leaves.every(({ set }) => set === undefined))
  );
}

function leavesSymbols(select: string | undefined): boolean {
  return select === undefined || select.startsWith("symbol");
}
