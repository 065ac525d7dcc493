import { TrawlError } from "../../base/errors.js";
import { escapeRegexp } from "../../base/text.js";
import type { RequestContext } from "../../browse/request-context.js";
import { quote } from "../../query/syntax/quote.js";
import { type Answer, defineTool, integer, text, texts } from "../calls/tool.js";
import type { Arguments } from "../calls/tool-fields.js";
import { matchItem } from "./match-items.js";
import { runToolSearch } from "./tool-search.js";

const scope = {
  repos: texts(100, "Names of repositories. Without them, all are searched."),
  authors: texts(20, "Names or addresses, or parts of them: commits of any of these authors."),
  after: text('Only commits after this date, such as "2024-01-31" or "2 weeks ago".'),
  before: text("Only commits before this date."),
  revisions: texts(20, "Branches, tags or commits whose history is searched. Without them, the default branch."),
};

export const commitSearch = defineTool({
  name: "commit_search",
  title: "Commit search",
  description: "Finds commits by message, changed text, changed files, author and date, newest first.",
  fields: {
    ...scope,
    messageTerms: texts(20, "Commits whose message contains any of these texts, in any case."),
    contentTerms: texts(20, "Commits that added or removed a line with any of these texts, in any case."),
    files: texts(20, "Commits that changed a file whose path contains any of these texts."),
    count: integer(1, 100, 50, "Number of commits."),
  },
  run: async (args, context) => {
    // Changed text and files are those of diffs; otherwise the message is searched.
    const isDiff = args.contentTerms.length > 0 || args.files.length > 0;
    const words = [
      isDiff ? "type:diff select:commit.diff" : "type:commit",
      ...scopeWords(args),
      ...anyOf("message:", args.messageTerms),
      ...anyOf("file:", args.files),
      ...anyOf("content:", args.contentTerms),
    ];
    return await searchHistory(words, args.count, context);
  },
});

export const diffSearch = defineTool({
  name: "diff_search",
  title: "Diff search",
  description: "Finds changes: commits that added or removed a line that the pattern matches, newest first.",
  fields: {
    pattern: text("Regular expression (RE2 syntax) for one added or removed line."),
    ...scope,
    added: { kind: "boolean", default: false, description: "Only added lines." } as const,
    removed: { kind: "boolean", default: false, description: "Only removed lines." } as const,
    count: integer(1, 50, 20, "Number of changes."),
  },
  run: async (args, context) => {
    if (args.pattern.trim() === "") throw new TrawlError("bad-request", "the argument pattern is missing");
    const side = args.added === args.removed ? "" : args.added ? ".added" : ".removed";
    const words = [`type:diff select:commit.diff${side}`, ...scopeWords(args), `content:${quote(args.pattern)}`];
    return await searchHistory(words, args.count, context);
  },
});

function scopeWords({ repos, authors, after, before, revisions }: Arguments<typeof scope>): string[] {
  for (const revision of revisions)
    if (/[:@*]/.test(revision))
      throw new TrawlError("bad-request", `revisions: ${JSON.stringify(revision)} must be a branch, a tag or a commit`);
  const names = repos.length === 0 ? "" : `^(?:${repos.map(escapeRegexp).join("|")})$`;
  return [
    "context:global fork:yes archived:yes",
    ...(names === "" ? [] : [`repo:${quote(names)}`]),
    ...(revisions.length === 0 ? [] : [`rev:${quote(revisions.join(":"))}`]),
    ...anyOf("author:", authors),
    ...(after === "" ? [] : [`after:${quote(after)}`]),
    ...(before === "" ? [] : [`before:${quote(before)}`]),
  ];
}

/** A field that matches any of the texts, which are not regular expressions. */
function anyOf(field: string, alternatives: readonly string[]): string[] {
  return alternatives.length === 0 ? [] : [`${field}${quote(alternatives.map(escapeRegexp).join("|"))}`];
}

async function searchHistory(words: readonly string[], count: number, context: RequestContext): Promise<Answer> {
  const query = `${words.join(" ")} count:${count}`;
  const found = await runToolSearch({ query, patternType: "regexp", count, contextLines: 0 }, context);
  return {
    head: { query, matchCount: found.matchCount },
    listName: "commits",
    items: found.matches.map(matchItem),
    excluded: found.excluded,
  };
}
