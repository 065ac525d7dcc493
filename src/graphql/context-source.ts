import { globalContextName, type SearchContext } from "../model/search-context.js";
import { globalId } from "./ids.js";

/** A search context. Contexts are configured, so what changes them is a start, or an order to read the configuration again. */
export class ContextSource {
  readonly __typename = "SearchContext";
  readonly namespace = null;
  readonly autoDefined: boolean;
  readonly viewerCanManage = false;
  readonly viewerHasStarred = false;
  readonly context: SearchContext;

  constructor(context: SearchContext) {
    this.context = context;
    this.autoDefined = context === globalContext;
  }

  get id(): string {
    return globalId("SearchContext", this.spec);
  }

  get name(): string {
    return this.context.name;
  }

  get spec(): string {
    return this.context.name;
  }

  get description(): string {
    return this.context.description;
  }

  get query(): string {
    return this.context.query;
  }

  get public(): boolean {
    return this.context.public;
  }

  /** When it was last changed is not recorded: the start of the daemon. */
  get updatedAt(): string {
    return new Date(performance.timeOrigin).toISOString();
  }

  /** What a query without `context:` searches is the global context. */
  get viewerHasAsDefault(): boolean {
    return this.autoDefined;
  }
}

/** All repositories; always there. */
export const globalContext: SearchContext = { name: globalContextName, description: "All repositories", public: true, query: "", repositories: [] };
