import type { FieldName } from "../fields/fields.js";
import type { QueryType } from "../syntax/query-type.js";
import { scan } from "../syntax/scan.js";

/** How a query is changed to propose another one. */
export interface Rewrite {
  /** Fields to remove, wherever they occur. */
  readonly without: readonly FieldName[];
  /** Filters to add before and after the query, respectively, "" for none. They apply to all of it. */
  readonly before: string;
  readonly after: string;
}

/**
 * The query with changed filters, as a user could type it: it includes its pattern type, so that it has the same
 * meaning in any client. `isUnion` means that there are operators between its filters; it is then put in parentheses.
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
    // The space before the field is removed with it, unless the field was at the beginning.
    if (kept === "" || kept.endsWith("(")) while (text[at] === " ") at++;
  }
  return (kept + text.slice(at)).trim();
}
