import type { RequestContext } from "../../browse/request-context.js";
import { toRepositorySource, type RepositorySource } from "../../browse/repository-source.js";
import type { ResolversOf } from "../execution/resolver-types.js";
import type { SearchResultsSource } from "../sources/search-sources.js";

export const search: ResolversOf<"Search"> = {
  results: (source, _, context) => source.results(context),
  stats: (source) => source,
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

function named(
  names: ReturnType<SearchResultsSource["notSearched"]>,
  { repositories }: RequestContext,
): RepositorySource[] {
  return names.flatMap((name) => {
    const record = repositories.byName(name);
    return record === undefined ? [] : [toRepositorySource(record)];
  });
}
