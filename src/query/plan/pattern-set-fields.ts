import { findField } from "../fields/validate.js";
import { QueryError } from "../syntax/query-error.js";
import type { BasicQuery } from "./basic.js";

/** Throws a `QueryError` if the query asks for results in which the patterns of a set are not searched for. */
export function requireSetFields(text: string, query: BasicQuery): void {
  const other = query.fields.find(({ name, value }) => name === "type" && value !== "file");
  if (other !== undefined)
    throw new QueryError(
      `patterns are searched for in the contents of files only, not with type:${other.value}; leave it out, or search for each pattern separately`,
      text,
      other.span,
    );
  const select = findField(query, "select");
  if (select === undefined || !/^(symbol|commit)/.test(select.value)) return;
  throw new QueryError(
    `patterns are searched for in the contents of files, which have no select:${select.value}`,
    text,
    select.span,
  );
}
