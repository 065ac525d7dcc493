import { csvField } from "../../base/csv.js";
import { resultColumns } from "./result-columns.js";
import type { ResultRow } from "./result-rows.js";

const lineEnd = "\r\n";

/** The first line of a table. */
export const csvHeader = resultColumns.map(({ name }) => name).join(",") + lineEnd;

export function csvLine(row: ResultRow): string {
  return resultColumns.map(({ read }) => csvField(String(read(row) ?? ""))).join(",") + lineEnd;
}
