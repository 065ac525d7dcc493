import { TrawlError } from "../../base/errors.js";
import { fields } from "../../query/syntax/fields.js";
import { checkPlainValue } from "../../query/fields/check-value.js";
import { collectLeaves, type FieldNode } from "../../query/syntax/ast.js";
import { placeOfBytes } from "../../query/syntax/characters.js";
import { parseQuery } from "../../query/syntax/parse.js";
import { locateErrors, QueryError } from "../../query/syntax/query-error.js";
import { serverTimeMs } from "../route/viewer.js";
import type { PatternType } from "./query-state.js";

/** What is wrong with a query, and where: UTF-16 code units, `to` exclusive. */
export interface QueryProblem {
  readonly message: string;
  readonly from: number;
  readonly to: number;
}

/**
 * The first error that can be seen without the server: in the syntax, and in values that are not regular expressions,
 * languages or revisions. The same code as the daemon's finds it, with the same message.
 */
export function findProblem(text: string, type: PatternType): QueryProblem | undefined {
  try {
    const { root } = parseQuery(text, type);
    for (const leaf of root === undefined ? [] : collectLeaves(root))
      if (leaf.kind === "field" && leaf.predicate === undefined) locateErrors(text, leaf.span, () => checkValue(leaf));
    return undefined;
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    return { message: error.description, ...placeOfBytes(text, error.from, error.to) };
  }
}

function checkValue({ name, value, negated }: FieldNode): void {
  if (negated && !fields[name].negatable)
    throw new TrawlError("bad-query", `field "${name}" does not support negation`);
  checkPlainValue(name, value, serverTimeMs());
}
