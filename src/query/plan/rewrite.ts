import type { FieldName } from "../fields/fields.js";
import type { QueryType } from "../syntax/query-type.js";
import { scan } from "../syntax/scan.js";

/** How a query is changed to propose another. */
export interface Rewrite {
  /** Fields to take away, wherever they stand. */
  readonly without: readonly FieldName[];
  /** Filters to put before the query resp. behind it, "" for none. They hold for all of it. */
  readonly before: string;
  readonly after: string;
}

/**
 * The query with other filters, as a person can type it: its own pattern type is said, so that it means the same in any
 * client. `isUnion` says that operators stand between its filters; then it is put in parentheses.
 */
export function rewriteQuery(
  text: string,
  type: QueryType,
  isUnion: boolean,
  { without, before, after }: Rewrite,
): string {
  const kept = withoutFields(text, type, [...without, "patterntype"]);
  const inner = isUnion ? `(${kept})` : kept;
  return [before, inner, after, `patternType:${type}`].filter((part) => part !== "").join(" ");
}

function withoutFields(text: string, type: QueryType, names: readonly FieldName[]): string {
  let kept = "";
  let at = 0;
  for (const token of scan(text, type, false)) {
    if (token.kind !== "field" || !names.includes(token.name)) continue;
    kept += text.slice(at, token.span.from).trimEnd();
    at = token.span.to;
    // The blank before the field goes with it, unless it began something.
    if (kept === "" || kept.endsWith("(")) while (text[at] === " ") at++;
  }
  return (kept + text.slice(at)).trim();
}
