/** A search context, as the pages show it. */
export interface SearchContext {
  readonly id: string;
  readonly spec: string;
  readonly name: string;
  readonly description: string;
  readonly query: string;
  readonly public: boolean;
  readonly autoDefined: boolean;
  readonly viewerCanManage: boolean;
  readonly viewerHasAsDefault: boolean;
  readonly viewerHasStarred: boolean;
  readonly repositories?: readonly {
    readonly revisions: readonly string[];
    readonly repository: { readonly name: string; readonly url: string };
  }[];
}

export const contextFields =
  "id spec name description query public autoDefined viewerCanManage viewerHasAsDefault viewerHasStarred";

export function contextAddress(spec: string): string {
  return `/contexts/${spec.split("/").map(encodeURIComponent).join("/")}`;
}

export function contextSearch(spec: string): string {
  return `/search?${new URLSearchParams({ q: `context:${spec} ` })}`;
}
