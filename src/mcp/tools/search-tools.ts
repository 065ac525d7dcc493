import type { RequestContext } from "../../browse/request-context.js";
import type { PatternType } from "../../model/search-request.js";
import { type Answer, defineTool, integer, requiredText } from "../calls/tool.js";
import type { Arguments } from "../calls/tool-fields.js";
import { groupedItems, matchItem } from "./match-items.js";
import { runToolSearch } from "./tool-search.js";

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

/** There is no model behind it: the words are what counts. */
export const nlsSearch = defineTool({
  name: "nls_search",
  title: "Search by words",
  description: `${isRequest} Like keyword_search: use the few words that the code must contain, not a whole sentence.`,
  fields,
  run: (args, context) => search(args, "keyword", context),
});

export const regexpSearch = defineTool({
  name: "regexp_search",
  title: "Regular expression search",
  description: `${isRequest} Unquoted words are regular expressions (RE2 syntax); "quoted text" is found as it is.`,
  fields,
  run: (args, context) => search(args, "regexp", context),
});

async function search(
  { query, count, context_lines, duplicates }: Arguments<typeof fields>,
  patternType: PatternType,
  context: RequestContext,
): Promise<Answer> {
  const found = await runToolSearch({ query, patternType, count, contextLines: context_lines, duplicates }, context);
  return {
    head: { matchCount: found.matchCount, ...(found.duplicates && { duplicates: found.duplicates }) },
    listName: "results",
    items: duplicates ? groupedItems(found.matches) : found.matches.map(matchItem),
    excluded: found.excluded,
    isRepeatable: found.isRepeatable,
  };
}
