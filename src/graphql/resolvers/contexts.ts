import { pageOf } from "../connections.js";
import { ContextSource, globalContext } from "../context-source.js";
import type { RequestContext } from "../context.js";
import { RepositorySource } from "../repository-source.js";
import type { ResolversOf } from "../resolver-types.js";

type Query = ResolversOf<"Query">;

/** Search contexts, as queries name them by `context:`. */
export const contextQueries: Pick<Query, "searchContexts" | "searchContextBySpec" | "isSearchContextAvailable" | "defaultSearchContext"> = {
  searchContexts: (_, { first, after, query, namespaces, descending }, context) => {
    const text = query?.toLowerCase() ?? "";
    const ofInstance = namespaces === null || namespaces.length === 0 || namespaces.includes(null);
    const others = context.services.searcher.contexts.map((other) => new ContextSource(other)).sort((a, b) => (a.spec < b.spec ? -1 : 1));
    if (descending === true) others.reverse();
    const all = [new ContextSource(globalContext), ...others];
    return pageOf(all.filter((source) => ofInstance && source.public && source.spec.toLowerCase().includes(text)), first, after);
  },
  searchContextBySpec: (_, { spec }, context) => contextOf(spec, context),
  isSearchContextAvailable: (_, { spec }, context) => contextOf(spec, context) !== null,
  defaultSearchContext: () => new ContextSource(globalContext),
};

export const searchContext: ResolversOf<"SearchContext"> = {
  repositories: ({ context }, _, { repositories }) => context.repositories.flatMap(({ name, revisions }) => {
    const record = repositories.byName(name);
    return record === undefined ? [] : [{ repository: new RepositorySource(record, undefined), revisions: revisions.length === 0 ? ["HEAD"] : revisions }];
  }),
};

/** Who knows the name of a context that is not public may use it. Null when there is none. */
export function contextOf(spec: string, { services: { searcher } }: RequestContext): ContextSource | null {
  if (spec === globalContext.name) return new ContextSource(globalContext);
  const found = searcher.contexts.find(({ name }) => name === spec);
  return found === undefined ? null : new ContextSource(found);
}
