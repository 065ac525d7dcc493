import type { RequestContext } from "../../browse/request-context.js";
import { toRepositorySource, type RepositorySource } from "../../browse/repository-source.js";
import { TrawlError } from "../../base/errors.js";
import type { ResolversOf } from "./resolver-types.js";
import type { SearchResultsSource } from "../sources/search-sources.js";

export const search: ResolversOf<"Search"> = {
  results: (source, _, context) => source.results(context),
  stats: (source) => source,
};

export const searchQueryAggregate: ResolversOf<"SearchQueryAggregate"> = {
  modeAvailability: (source, _, context) => source.modes(context),
  aggregations: (source, { mode, limit }, context) => source.groups(mode ?? undefined, limit, context),
};

export const searchResults: ResolversOf<"SearchResults"> = {
  cloning: (source, _, context) => named(source.notSearched("cloning"), context),
  missing: (source, _, context) => named(source.notSearched("missing"), context),
  timedout: (source, _, context) => named(source.notSearched("timedOut"), context),
};

export const searchResultsStats: ResolversOf<"SearchResultsStats"> = {
  approximateResultCount: async (source, _, context) => (await source.results(context)).approximateResultCount,
  sparkline: async (source, _, context) => (await source.results(context)).sparkline,
  languages: async (source, _, context) => (await source.results(context)).languages,
};

export const searchReceipt: ResolversOf<"SearchReceipt"> = {
  repositories: ({ lists }, { first, from }) => lists.repositories(readCount("from", from), readCount("first", first)),
  excluded: ({ lists }, { first, from }) => {
    const { count, items } = lists.excluded(readCount("from", from), readCount("first", first));
    return {
      count,
      items: items.map(({ reason, repository = null, path = null, detail = null }) => ({
        reason,
        repository,
        path,
        detail,
      })),
    };
  },
};

export const fileMatch: ResolversOf<"FileMatch"> = {
  places: (source, { first, from }) => {
    const start = readCount("from", from);
    return { count: source.places.length, files: source.places.slice(start, start + readCount("first", first)) };
  },
};

/** Most items of a page. */
const itemsMax = 10_000;

function readCount(name: string, given: number | null): number {
  if (given !== null && given >= 0 && (name === "from" || given <= itemsMax)) return given;
  throw new TrawlError("bad-request", `${name} must be a number from 0 to ${itemsMax}, and is ${given}`);
}

function named(
  names: ReturnType<SearchResultsSource["notSearched"]>,
  { repositories }: RequestContext,
): RepositorySource[] {
  return names.flatMap((name) => {
    const record = repositories.byName(name);
    return record === undefined ? [] : [toRepositorySource(record)];
  });
}
