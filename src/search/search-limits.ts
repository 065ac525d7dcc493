import { lineBytesUnlimited, type SearchRequest } from "../model/search-request.js";
import type { SearchPlan } from "../query/plan/plan.js";
import { makeResultLimits, type ResultLimits } from "../protocol/result-limits.js";
import type { RepositorySelection, SearchOptions } from "../protocol/search-options.js";
import type { Lane } from "../protocol/messages.js";
import type { SearchEnvironment } from "./search-environment.js";

/** A line's text is cut at this size, so that no event passes 10 MiB however its bytes are escaped. */
const lineTextBytesMax = 1_500_000;

/** Above this limit a search counts as exhaustive, and gives way to those that a person waits for. */
const interactiveCountMax = 100_000;

/** How many results a search may have, and how long it may take. */
export interface SearchLimits {
  readonly matchCountMax: number;
  readonly displayCountMax: number;
  /** True when a larger count is of use to all basic queries alike. */
  readonly isSuggestible: boolean;
  /** Undefined when the same result options apply to all results. */
  readonly resultLimits: ResultLimits | undefined;
  /** By index in the plan's result options; the search ends after the longest. */
  readonly timeoutsMs: readonly number[];
  readonly lane: Lane;
}

export function searchLimits(
  plan: SearchPlan,
  request: SearchRequest,
  environment: Pick<SearchEnvironment, "defaultCount" | "defaultTimeoutMs" | "maxTimeoutMs">,
): SearchLimits {
  const counts = plan.resultOptions.map(({ count }) => count ?? request.defaultCount ?? environment.defaultCount);
  const matchCountMax = Math.max(...counts);
  return {
    matchCountMax,
    displayCountMax: Math.min(request.display ?? matchCountMax, matchCountMax),
    isSuggestible: counts.every((count) => count === matchCountMax),
    // Options that several basic queries share have the limit of the whole search, which enforces it.
    resultLimits:
      counts.length === 1
        ? undefined
        : makeResultLimits(counts.map((count) => (count < matchCountMax ? count : undefined))),
    timeoutsMs: plan.resultOptions.map(({ timeoutMs, count }) =>
      Math.min(
        timeoutMs ?? (count === undefined ? environment.defaultTimeoutMs : environment.maxTimeoutMs),
        environment.maxTimeoutMs,
      ),
    ),
    lane: matchCountMax > interactiveCountMax ? "exhaustive" : "interactive",
  };
}

/** What workers are told of a search whose people and commits are not known yet. */
export function searchOptions(
  plan: SearchPlan,
  request: SearchRequest,
  limits: SearchLimits,
  selections: readonly RepositorySelection[],
): SearchOptions {
  return {
    plan,
    chunkMatches: request.chunkMatches,
    contextLines: request.contextLines,
    lineBytesMax: Math.min(request.chunkMatches ? request.lineBytesMax : lineBytesUnlimited, lineTextBytesMax),
    matchCountMax: limits.matchCountMax,
    displayCountMax: limits.displayCountMax,
    resultLimits: limits.resultLimits,
    people: undefined,
    selections,
    useIndex: plan.basicQueries.every(({ repositories }) => repositories.index !== "no"),
    commitSets: undefined,
  };
}
