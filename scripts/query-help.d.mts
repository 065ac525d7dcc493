/** The filters of the query language, from the text of docs/query-syntax.md. */
export function describeFilters(text: string): readonly {
  readonly names: readonly string[];
  readonly takes: string;
  readonly examples: readonly string[];
  readonly finds: string;
  readonly isNegatable: boolean;
}[];
