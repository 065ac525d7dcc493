/** A named set of repositories from the configuration, defined by a list or by a query. */
export interface SearchContext {
  /** The value of `context:`. */
  readonly name: string;
  readonly description: string;
  /** Whether it is listed for everyone; anyone who knows its name may search in it in any case. */
  readonly public: boolean;
  /** Filters that define the repositories and files of the context; empty for a context with a list. */
  readonly query: string;
  readonly repositories: readonly ContextRepository[];
}

export interface ContextRepository {
  readonly name: string;
  /** As typed after `@`; empty for the default branch, or whatever the query specifies. */
  readonly revisions: readonly string[];
}

/** The context that contains everything, and that a query without `context:` searches. */
export const globalContextName = "global";
