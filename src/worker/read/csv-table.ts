import { csvField } from "../../base/csv.js";
import type { ResultRow } from "./result-rows.js";

/** A column: its name, and its value in a row. */
type Column = readonly [name: string, read: (row: ResultRow) => string | number | boolean | undefined];

/** Columns are only ever added at the end. */
const columns: readonly Column[] = [
  ["kind", ({ kind }) => kind],
  ["repository", ({ repository }) => repository],
  ["revision", ({ revision }) => revision],
  ["commit", ({ commit }) => commit],
  ["path", ({ path }) => path],
  ["language", ({ language }) => language],
  ["line", ({ line }) => line],
  ["match_count", ({ matchCount }) => matchCount],
  ["ranges", ({ ranges }) => ranges],
  ["text", ({ text }) => text],
  ["cut", ({ isCut }) => isCut],
  ["symbol", ({ symbol }) => symbol],
  ["symbol_kind", ({ symbolKind }) => symbolKind],
  ["author", ({ author }) => author],
  ["date", ({ date }) => date],
  ["url", ({ url }) => url],
];

const lineEnd = "\r\n";

/** The first line of a table. */
export const csvHeader = columns.map(([name]) => name).join(",") + lineEnd;

export function csvLine(row: ResultRow): string {
  return columns.map(([, read]) => csvField(String(read(row) ?? ""))).join(",") + lineEnd;
}
