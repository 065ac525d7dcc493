import { TrawlError } from "../../base/errors.js";
import { basicQueries } from "../../query/plan/basic.js";
import { parseQuery } from "../../query/syntax/parse.js";
import { choosePatternType } from "../../query/fields/pattern-type.js";

/**
 * Whether both sides of an `or` contain filters. Also false for an invalid query: the daemon reports what is wrong with
 * it.
 */
export function isUnion(query: string, patternType: string): boolean {
  try {
    return basicQueries(parseQuery(query, choosePatternType(query, "", patternType))).length > 1;
  } catch (error) {
    if (error instanceof TrawlError) return false;
    throw error;
  }
}
