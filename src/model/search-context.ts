/** A named part of all repositories, as the configuration defines it: by a list, or by a query. */
export interface SearchContext {
  /** What `context:` takes. */
  readonly name: string;
  readonly description: string;
  /** Whether everybody is told of it; who knows its name may search in it in any case. */
  readonly public: boolean;
  /** Filters whose repositories and files the context holds; empty for a context with a list. */
  readonly query: string;
  readonly repositories: readonly ContextRepository[];
}

export interface ContextRepository {
  readonly name: string;
  /** As typed behind `@`; empty for the default branch, and for whatever the query asks for. */
  readonly revisions: readonly string[];
}

/** The context that holds everything, and is what a query without `context:` searches. */
export const globalContextName = "global";
