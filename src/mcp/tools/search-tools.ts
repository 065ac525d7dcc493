import type { RequestContext } from "../../browse/request-context.js";
import type { PatternType } from "../../model/search-request.js";
import { type Answer, defineTool, integer, requiredText } from "../calls/tool.js";
import type { Arguments } from "../calls/tool-fields.js";
import { groupedItems, matchItem } from "./match-items.js";
import { readNaturalQuery } from "./natural-query.js";
import { runToolSearch, type ToolMatches } from "./tool-search.js";

const filters =
  "Filters: repo:REGEXP, file:REGEXP, lang:NAME, -file:REGEXP, type:symbol|path|repo|commit|diff, case:yes, rev:REVISION, count:N or count:all, select:repo|file. Combine patterns with AND, OR, NOT and parentheses.";

const fields = {
  query: requiredText(`The query. ${filters}`),
  count: integer(1, 1_000, 30, "Matches after which the search stops, unless the query has count:."),
  duplicates: {
    kind: "boolean",
    default: false,
    description:
      "Show the matches of files with the same content once, with the other files in also_in. Each counts for count.",
  } as const,
  context_lines: integer(0, 10, 0, "Lines before and after each match."),
};

const isRequest = "Exhaustive search of code in all repositories, or in those that repo: selects.";

export const keywordSearch = defineTool({
  name: "keyword_search",
  title: "Keyword search",
  description: `${isRequest} Finds files that contain all the words, in any order and any case; "quoted text" is found as it is.`,
  fields,
  run: (args, context) => search(args, "keyword", context),
});

export const nlsSearch = defineTool({
  name: "nls_search",
  title: "Search in natural language",
  description: `${isRequest} Takes a question or a sentence: words such as "where" and "the" are dropped, others are found in all of their forms. Finds files that contain all the words, or, if there is none, files that contain any. The best come first. No model reads the question: use words that the code must contain.`,
  fields,
  run: searchNaturally,
});

export const regexpSearch = defineTool({
  name: "regexp_search",
  title: "Regular expression search",
  description: `${isRequest} Unquoted words are regular expressions (RE2 syntax); "quoted text" is found as it is.`,
  fields,
  run: (args, context) => search(args, "regexp", context),
});

type SearchArguments = Arguments<typeof fields>;

async function search(args: SearchArguments, patternType: PatternType, context: RequestContext): Promise<Answer> {
  return toAnswer(args, await run(args, args.query, patternType, context), {});
}

async function searchNaturally(args: SearchArguments, context: RequestContext): Promise<Answer> {
  const { words, all, any } = readNaturalQuery(args.query);
  const found = await run(args, all, "keyword", context);
  if (found.matchCount > 0 || any === undefined) return toAnswer(args, found, { words, wordsRequired: "all" });
  const more = await run(args, any, "keyword", context);
  // Whether no file has all of the words is only known as far as the first search went.
  const missed = found.excluded.filter(
    ({ reason, message }) => reason !== "alert" && !more.excluded.some((other) => other.message === message),
  );
  return toAnswer(args, { ...more, excluded: [...more.excluded, ...missed] }, { words, wordsRequired: "any" });
}

function run(
  { count, context_lines, duplicates }: SearchArguments,
  query: string,
  patternType: PatternType,
  context: RequestContext,
): Promise<ToolMatches> {
  return runToolSearch({ query, patternType, count, contextLines: context_lines, duplicates }, context);
}

function toAnswer({ duplicates }: SearchArguments, found: ToolMatches, head: Answer["head"]): Answer {
  return {
    head: { ...head, matchCount: found.matchCount, ...(found.duplicates && { duplicates: found.duplicates }) },
    listName: "results",
    items: duplicates ? groupedItems(found.matches) : found.matches.map(matchItem),
    excluded: found.excluded,
    isRepeatable: found.isRepeatable,
  };
}
