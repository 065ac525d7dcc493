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
