import { globalId } from "./ids.js";

/** A search context. The global one, all repositories, is always there. */
export interface ContextSource {
  readonly __typename: "SearchContext";
  readonly id: string;
  readonly name: string;
  readonly namespace: null;
  readonly description: string;
  readonly spec: string;
  readonly autoDefined: boolean;
  readonly query: string;
  readonly repositories: readonly never[];
  readonly public: boolean;
  readonly updatedAt: string;
  readonly viewerCanManage: boolean;
  readonly viewerHasAsDefault: boolean;
  readonly viewerHasStarred: boolean;
}

export const globalContext: ContextSource = {
  __typename: "SearchContext",
  id: globalId("SearchContext", "global"),
  name: "global",
  namespace: null,
  description: "All repositories",
  spec: "global",
  autoDefined: true,
  query: "",
  repositories: [],
  public: true,
  updatedAt: "1970-01-01T00:00:00Z",
  viewerCanManage: false,
  viewerHasAsDefault: true,
  viewerHasStarred: false,
};
