import { fieldAt, fields } from "../../query/syntax/fields.js";
import { addFilters } from "../../query/plan/rewrite.js";
import { scan } from "../../query/syntax/scan.js";
import type { QueryState } from "./query-state.js";

/** The query with an expression such as `count:all` at its end, which applies to all of it and replaces a field that may be used only once. */
export function addExpression(query: QueryState, expression: string): QueryState {
  const name = fieldAt(expression, 0)?.name;
  if (name === undefined || !fields[name].once)
    return { ...query, text: addFilters(query.text, query.patternType, expression) };
  let text = "";
  let at = 0;
  for (const token of scan(query.text, query.patternType, false)) {
    if (token.kind !== "field" || token.name !== name) continue;
    text += query.text.slice(at, token.span.from).trimEnd();
    at = token.span.to;
  }
  return { ...query, text: addFilters(text + query.text.slice(at), query.patternType, expression) };
}

/** Whether a filter that was added to the end of a query is found again, as a whole word of it. */
export function hasFilter(text: string, filter: string): boolean {
  return indexOfFilter(text, filter) >= 0;
}

/** The query without the filter if it has it, and with it otherwise. */
export function toggleFilter(text: string, filter: string): string {
  const at = indexOfFilter(text, filter);
  if (at < 0) return `${text.trimEnd()} ${filter}`;
  return `${text.slice(0, at).trimEnd()} ${text.slice(at + filter.length).trimStart()}`.trim();
}

function indexOfFilter(text: string, filter: string): number {
  for (let at = text.indexOf(filter); at >= 0; at = text.indexOf(filter, at + 1)) {
    const after = text.charAt(at + filter.length);
    if ((at === 0 || text.charAt(at - 1) === " ") && (after === "" || after === " ")) return at;
  }
  return -1;
}
