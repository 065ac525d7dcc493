import type { ResultRow } from "./result-rows.js";

/** A column of a table of results, in every format. */
export interface ResultColumn {
  readonly name: string;
  readonly type: "text" | "integer" | "boolean";
  readonly read: (row: ResultRow) => string | number | boolean | undefined;
}

/** Columns are only ever added at the end. */
export const resultColumns: readonly ResultColumn[] = [
  { name: "kind", type: "text", read: ({ kind }) => kind },
  { name: "repository", type: "text", read: ({ repository }) => repository },
  { name: "revision", type: "text", read: ({ revision }) => revision },
  { name: "commit", type: "text", read: ({ commit }) => commit },
  { name: "path", type: "text", read: ({ path }) => path },
  { name: "language", type: "text", read: ({ language }) => language },
  { name: "line", type: "integer", read: ({ line }) => line },
  { name: "match_count", type: "integer", read: ({ matchCount }) => matchCount },
  { name: "ranges", type: "text", read: ({ ranges }) => ranges },
  { name: "text", type: "text", read: ({ text }) => text },
  { name: "cut", type: "boolean", read: ({ isCut }) => isCut },
  { name: "symbol", type: "text", read: ({ symbol }) => symbol },
  { name: "symbol_kind", type: "text", read: ({ symbolKind }) => symbolKind },
  { name: "author", type: "text", read: ({ author }) => author },
  { name: "date", type: "text", read: ({ date }) => date },
  { name: "url", type: "text", read: ({ url }) => url },
];
