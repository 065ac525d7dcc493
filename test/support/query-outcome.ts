import { TrawlError } from "../../src/base/errors.js";
import { planQuery } from "../../src/query/plan/plan-query.js";
import { printPlan } from "../../src/query/plan/print.js";
import { QueryError } from "../../src/query/syntax/query-error.js";
import type { QueryType } from "../../src/query/syntax/scan.js";

export const types: readonly QueryType[] = ["keyword", "standard", "literal", "regexp", "structural"];

/** Tokens with a meaning to some part of the parser, joined with and without spaces. */
export const pieces = [
  "(",
  "(",
  ")",
  ")",
  "and",
  "or",
  "not",
  "AND",
  "Or",
  "NOT",
  `"`,
  "'",
  "/",
  "\\",
  "-",
  "a",
  "b",
  "aé",
  " ",
  " ",
  " ",
  "\n",
  "\u00a0",
  "@",
  ":",
  ".",
  "*",
  "[",
  "|",
  "{2}",
  "repo:",
  "r:",
  "-repo:",
  "file:",
  "-f:",
  "lang:go",
  "lang:",
  "content:",
  "-content:",
  "count:",
  "count:2",
  "count:all",
  "timeout:1s",
  "type:",
  "type:repo",
  "type:path",
  "case:",
  "case:yes",
  "fork:",
  "rev:",
  "select:",
  "select:repo",
  "patternType:",
  "patterntype:regexp",
  "repo:has.path(",
  "repo:has.file(path:",
  "file:has.content(",
  "rev:at.time(",
  "author:",
  "before:",
  "index:only",
  "context:",
  "g:",
  "foo:",
  "()",
  "(?i)",
  "\\b",
  "\\.",
  "\u{1f600}",
];

/** The printed plan, or the error message; throws for a result that a client must never see. */
export function outcomeOf(text: string, type: QueryType): string {
  try {
    return printPlan(planQuery(text, type));
  } catch (error) {
    if (type === "structural" && error instanceof TrawlError && error.code === "bad-request") return error.message;
    if (!(error instanceof QueryError)) throw error;
    const length = Buffer.byteLength(text);
    const isPlaced = Number.isInteger(error.from) && error.from >= 0 && error.from <= error.to && error.to <= length;
    if (!isPlaced) throw new TrawlError("internal", `${error.message}: place ${error.from}-${error.to} of ${length}`);
    if (error.message === "" || error.description === "" || !error.printWithCaret().includes("^"))
      throw new TrawlError("internal", "says nothing");
    return error.message;
  }
}
