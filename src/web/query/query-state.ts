import { addFilters } from "../../query/plan/rewrite.js";
import { signal } from "@preact/signals";

/** What the search field holds: the state that the address of the search page names. */
export interface QueryState {
  readonly text: string;
  readonly patternType: PatternType;
  readonly caseSensitive: boolean;
}

export type PatternType = "keyword" | "standard" | "regexp" | "literal";

const defaultPatternType: PatternType = "standard";

export const emptyQuery: QueryState = { text: "", patternType: defaultPatternType, caseSensitive: false };

/** What is in the search field now, run or not. */
export const typedQuery = signal<QueryState>(emptyQuery);

/** The state in an address, `/search?q=TEXT&patternType=TYPE&case=yes`. Unknown types mean the default. */
export function queryOfAddress(url: URL): QueryState {
  const given = url.searchParams;
  const type = given.get("patternType");
  return {
    text: given.get("q") ?? "",
    patternType: type === "keyword" || type === "regexp" || type === "literal" ? type : defaultPatternType,
    caseSensitive: given.get("case") === "yes",
  };
}

export function addressOfQuery({ text, patternType, caseSensitive }: QueryState): string {
  const parameters = new URLSearchParams({ q: text, patternType });
  if (caseSensitive) parameters.set("case", "yes");
  return `/search?${parameters}`;
}

/** The query as one text, with everything that decides what it finds. */
export function wholeText({ text, patternType, caseSensitive }: QueryState): string {
  return addFilters(text, patternType, `${caseSensitive ? "case:yes " : ""}patterntype:${patternType}`);
}

/** Loads the page again from the server; what is in the search field stays there. */
export function reloadWithQuery(): void {
  history.replaceState({ typed: typedQuery.peek() }, "");
  window.location.reload();
}

/** What was in the search field before `reloadWithQuery`; undefined after the first call. */
export function takeKeptQuery(): QueryState | undefined {
  const kept = (history.state as { readonly typed?: QueryState } | null)?.typed;
  if (kept !== undefined) history.replaceState(null, "");
  return kept;
}
