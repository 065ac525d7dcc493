import { escapeRegexp } from "../../base/text.js";
import type { RequestContext } from "../../browse/request-context.js";
import { repositoryPage } from "../../graphql/resolvers/repository-lists.js";
import { quote } from "../../query/syntax/quote.js";
import type { Repository } from "../../model/repository.js";
import { type Exclusion, defineTool, integer, text } from "../calls/tool.js";
import { runToolSearch } from "./tool-search.js";

const listedMax = 10_000;
const pageMax = 1_000;

/** Commits of an author that are counted. */
const countedCommitsMax = 2_000;

export const listRepos = defineTool({
  name: "list_repos",
  title: "List repositories",
  description: "Names of the repositories that can be searched and read, in alphabetical order.",
  fields: {
    query: text("Regular expression for names. Without it, all repositories."),
    limit: integer(1, listedMax, 50, "Number of names."),
  },
  run: async ({ query, limit }, context) => {
    const records: Repository[] = [];
    const { table, lacks } = await context.listRepositories(undefined);
    let [after, totalCount] = [null as string | null, 0];
    do {
      const first = Math.min(pageMax, limit - records.length);
      const page = await repositoryPage(table, { query, first, after }, context);
      records.push(...page.records);
      totalCount = page.totalCount;
      after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
    } while (after !== null && records.length < limit);
    return {
      head: { totalCount, hasMoreResults: records.length < totalCount },
      listName: "repositories",
      items: records.map(({ name }) => name),
      excluded: [
        ...lacks.map((message) => ({ reason: "node", message })),
        ...(records.length < totalCount
          ? [
              {
                reason: "limit",
                message: `${totalCount - records.length} of ${totalCount} repositories are left out: raise limit, or narrow query`,
              },
            ]
          : []),
      ],
    };
  },
});

export const getContributorRepos = defineTool({
  name: "get_contributor_repos",
  title: "Repositories of authors",
  description: "Repositories in which authors have commits on the default branch, those with the most commits first.",
  fields: {
    authors: {
      kind: "texts",
      countMax: 5,
      isRequired: true,
      description: "Names or addresses, or parts of them.",
    } as const,
    limit: integer(1, 1_000, 50, "Number of repositories."),
    minCommits: integer(1, 1_000_000, 1, "Only repositories with at least this many commits of an author."),
  },
  run: async ({ authors, limit, minCommits }, context) => {
    const found = [];
    const excluded: Exclusion[] = [];
    for (const author of authors) {
      const { counts, ...of } = await countCommits(author, context);
      for (const [repository, commitCount] of counts)
        if (commitCount >= minCommits) found.push({ repository, author, commitCount });
      excluded.push(...of.excluded.map(({ reason, message }) => ({ reason, message: `${author}: ${message}` })));
    }
    found.sort((a, b) => b.commitCount - a.commitCount || (a.repository < b.repository ? -1 : 1));
    if (found.length > limit)
      excluded.push({
        reason: "limit",
        message: `${found.length - limit} of ${found.length} repositories are left out: raise limit, or minCommits`,
      });
    return { head: {}, listName: "repositories", items: found.slice(0, limit), excluded };
  },
});

/** The commits of an author by repository. */
async function countCommits(author: string, context: RequestContext) {
  const query = `context:global fork:yes archived:yes type:commit author:${quote(escapeRegexp(author))} count:${countedCommitsMax}`;
  const { matches, excluded } = await runToolSearch(
    { query, patternType: "regexp", count: countedCommitsMax, contextLines: 0 },
    context,
  );
  const counts = new Map<string, number>();
  for (const { repository = "" } of matches) counts.set(repository, (counts.get(repository) ?? 0) + 1);
  return { counts, excluded };
}
