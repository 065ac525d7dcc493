import { TrawlError } from "../../base/errors.js";
import { findMisspellings } from "../../query/fields/misspellings.js";
import { choosePatternType, parseQuery } from "../../query/syntax/parse.js";
import { basicQueries, type BasicQuery } from "../../query/syntax/basic.js";
import { addFilters } from "../../query/plan/rewrite.js";
import type { QueryTree } from "../../query/syntax/ast.js";

/** The query with filters that apply to all of it, whatever operators it has. */
export function addToQuery(query: string, patternType: string, filters: string): string {
  return addFilters(query, parse(query, patternType).type, filters);
}

/** Whether each part of the query limits its matches. */
export function hasCount(query: string, patternType: string): boolean {
  const basics = parseBasics(query, patternType);
  return basics.length > 0 && basics.every(({ fields }) => fields.some(({ name }) => name === "count"));
}

/** One sentence for each name that was probably misspelt. */
export function listMisspellings(query: string, patternType: string): readonly string[] {
  return findMisspellings(parse(query, patternType)).map(({ sentence }) => sentence);
}

function parseBasics(query: string, patternType: string): readonly BasicQuery[] {
  return basicQueries(parse(query, patternType));
}

/** An empty tree for an invalid query: the daemon reports what is wrong with it. */
function parse(query: string, patternType: string): QueryTree {
  try {
    const tree = parseQuery(query, choosePatternType(query, "", patternType));
    basicQueries(tree);
    return tree;
  } catch (error) {
    if (error instanceof TrawlError) return { text: query, type: "standard", root: undefined };
    throw error;
  }
}
