import { pageOf } from "../connections.js";
import { globalContext, type ContextSource } from "../context-source.js";
import type { ResolversOf } from "../resolver-types.js";

type Query = ResolversOf<"Query">;

/** Search contexts, as queries name them by `context:`. */
export const contextQueries: Pick<Query, "searchContexts" | "searchContextBySpec" | "isSearchContextAvailable" | "defaultSearchContext"> = {
  searchContexts: (_, { first, after, query, namespaces }) => {
    const text = query?.toLowerCase() ?? "";
    const ofInstance = namespaces === null || namespaces.length === 0 || namespaces.includes(null);
    return pageOf(allContexts().filter(({ spec }) => ofInstance && spec.toLowerCase().includes(text)), first, after);
  },
  searchContextBySpec: (_, { spec }) => allContexts().find((context) => context.spec === spec) ?? null,
  isSearchContextAvailable: (_, { spec }) => allContexts().some((context) => context.spec === spec),
  defaultSearchContext: () => globalContext,
};

function allContexts(): readonly ContextSource[] {
  return [globalContext];
}
