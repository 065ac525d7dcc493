import { addFilters } from "../../query/plan/rewrite.js";
import { type FieldToken, scan, type Token } from "../../query/syntax/scan.js";
import { signal } from "@preact/signals";

/** What the search field holds: the state that the address of the search page names. */
export interface QueryState {
  readonly text: string;
  readonly patternType: PatternType;
  readonly caseSensitive: boolean;
}

export type PatternType = "keyword" | "standard" | "regexp" | "literal";

/** What the field begins with, as on the pages of others. */
export const emptyQuery: QueryState = { text: "", patternType: "keyword", caseSensitive: false };

/** What a query means that names no type, in links as in the stream, so that a shared one keeps its meaning. */
const unnamedType: PatternType = "standard";

const patternTypes: readonly PatternType[] = ["keyword", "standard", "regexp", "literal"];

/** What is in the search field now, run or not. */
export const typedQuery = signal<QueryState>(emptyQuery);

/** The state in an address, `/search?q=TEXT&patternType=TYPE&case=yes`. */
export function queryOfAddress(url: URL): QueryState {
  const given = url.searchParams;
  const text = given.get("q") ?? "";
  const type = patternTypes.find((known) => known === given.get("patternType"));
  return {
    text,
    patternType: type ?? (text === "" ? emptyQuery.patternType : unnamedType),
    caseSensitive: given.get("case") === "yes",
  };
}

/** The state of a text that says itself what decides its meaning, as saved and proposed queries do. */
export function queryOfText(whole: string): QueryState {
  const tokens = scan(whole, unnamedType, false);
  const isNamed = (token: Token, name: string): token is FieldToken => token.kind === "field" && token.name === name;
  const named = tokens.find((token) => isNamed(token, "patterntype"))?.value.toLowerCase();
  const type = patternTypes.find((known) => known === named) ?? unnamedType;
  // In an alternative, `case:` is for this alone, and stays.
  const isPlain = !tokens.some(({ kind }) => kind === "or");
  const isCase = (token: Token): boolean => isNamed(token, "case") && token.value === "yes" && isPlain;
  const left = tokens.filter((token) => (isNamed(token, "patterntype") && type === named) || isCase(token));
  let text = "";
  let at = 0;
  for (const { span } of left) {
    text += whole.slice(at, span.from).trimEnd();
    at = span.to;
  }
  return {
    text: (text + whole.slice(at)).trim(),
    patternType: type,
    caseSensitive: tokens.some(isCase),
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
