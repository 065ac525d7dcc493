import type { SearchRequest } from "../../model/search-request.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import { printPlan } from "../../query/plan/print.js";
import type { SearchEnd } from "../search-environment.js";

/**
 * The trace of a query up to this length is written when it is requested, which is rare and saves the main thread a
 * tenth of its time for a short search. The plan of a longer query takes more memory than its trace.
 */
const lazyLengthMax = 1_000;

/** Returns a function that writes the trace of a search. `stats` are those that its viewer may see. */
export function traceWriter(
  request: SearchRequest,
  plan: SearchPlan,
  end: SearchEnd,
  stats: Partial<SearchEnd["stats"]>,
): () => string {
  if (request.query.length <= lazyLengthMax) return () => writeTrace(request, plan, end, stats);
  const text = writeTrace(request, plan, end, stats);
  return () => text;
}

function writeTrace(
  request: SearchRequest,
  plan: SearchPlan,
  end: SearchEnd,
  stats: Partial<SearchEnd["stats"]>,
): string {
  const lines = [
    `query: ${request.query}`,
    `plan: ${printPlan(plan)}`,
    `outcome: ${end.outcome}`,
    `matches: ${end.matchCount}`,
    `duration: ${end.durationMs.toFixed(2)} ms`,
    `first matches: ${end.firstMatchesMs === undefined ? "none" : `${end.firstMatchesMs.toFixed(2)} ms`}`,
    ...Object.entries(stats).map(([name, value]) => `${name}: ${value}`),
    ...end.shardFailures.map((failure) => `failure: ${failure}`),
  ];
  return `${lines.join("\n")}\n`;
}
