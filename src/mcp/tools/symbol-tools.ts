import { escapeRegexp } from "../../base/text.js";
import { shownPath } from "../../base/path-text.js";
import { BlobSource, type CommitSource } from "../../browse/git-sources.js";
import type { RequestContext } from "../../browse/request-context.js";
import type { EntryData } from "../../git/objects/directories.js";
import { areRelated, folderDistance, kindRank } from "../../graphql/sources/navigation.js";
import { commitPattern, quote } from "../../graphql/sources/symbol-lists.js";
import { defineTool, integer, repo, requiredText, revision } from "../calls/tool.js";
import { requireFile, findCommit, findRepository, plainPath } from "./file-tools.js";
import { matchItem } from "./match-items.js";
import { runToolSearch, type ToolMatches } from "./tool-search.js";

/** Candidates that are looked at in a repository, and in all others. */
const candidatesMax = 200;

const everything = "context:global fork:yes archived:yes case:yes";

const place = {
  repo,
  path: requiredText("Path of a file that uses the symbol."),
  symbol: requiredText("Name of the symbol, without its container."),
  revision,
};

export const goToDefinition = defineTool({
  name: "go_to_definition",
  title: "Go to definition",
  description:
    "Where a symbol that a file uses is defined: in its repository, otherwise in others; the likeliest definition first.",
  fields: place,
  run: async ({ repo: name, path, symbol, revision: rev }, context) => {
    const commit = await findCommit(findRepository(name, context), rev, context);
    const entry = await requireFile(commit, plainPath(path), context);
    const file = entry.path;
    const language = await readLanguage(commit, entry, context);
    const near = await searchDefinitions(`repo:${quote(commitPattern(commit))}`, symbol, language, context);
    const found = near.definitions.length > 0 ? near : await searchDefinitions("", symbol, language, context);
    const definitions = [...found.definitions].sort(
      (a, b) => kindRank(a.kind) - kindRank(b.kind) || folderDistance(a.path, file) - folderDistance(b.path, file),
    );
    return {
      head: { symbol, matchCount: definitions.length },
      listName: "definitions",
      items: definitions.map(({ kind, ...rest }) => ({ ...rest, kind: kind.toLowerCase() })),
      excluded: found.excluded,
    };
  },
});

/** The symbols with exactly this name, in languages that go together. */
async function searchDefinitions(scope: string, symbol: string, language: string, context: RequestContext) {
  const query = `${everything} type:symbol count:${candidatesMax} ${scope} content:${quote(`^${escapeRegexp(symbol)}$`)}`;
  const found = await runToolSearch({ query, patternType: "regexp", count: candidatesMax, contextLines: 0 }, context);
  return { definitions: listDefinitions(found, language), excluded: found.excluded };
}

function listDefinitions({ matches }: ToolMatches, wanted: string) {
  return matches.flatMap(({ repository = "", path = "", commit, language = "", symbols = [] }) =>
    wanted !== "" && !areRelated(language, wanted)
      ? []
      : symbols.map(({ name, kind, line, containerName }) => ({
          repository,
          path,
          line,
          name,
          ...(containerName === "" ? {} : { container: containerName }),
          kind,
          ...(commit === undefined ? {} : { commit }),
        })),
  );
}

async function readLanguage(commit: CommitSource, entry: EntryData, context: RequestContext): Promise<string> {
  const blob = new BlobSource(commit, entry.path, entry, undefined);
  return (await context.git.file(blob, { kind: "attributes" }, undefined, undefined)).language;
}

export const findReferences = defineTool({
  name: "find_references",
  title: "Find references",
  description:
    "Lines of the repository that contain the name of a symbol as a whole word, those of the given file first.",
  fields: { ...place, limit: integer(1, 1_000, 10, "Number of uses.") },
  run: async ({ repo: name, path, symbol, revision: rev, limit }, context) => {
    const commit = await findCommit(findRepository(name, context), rev, context);
    const { path: file } = await requireFile(commit, plainPath(path), context);
    const pattern = `content:${quote(wholeWord(symbol))}`;
    const scope = `${everything} type:file repo:${quote(commitPattern(commit))}`;
    // A path that is not UTF-8 matches nothing here: its lines come with those of the others.
    const only = quote(`^${escapeRegexp(shownPath(file))}$`);
    const options = { patternType: "regexp" as const, count: limit, contextLines: 0 };
    const own = await runToolSearch({ ...options, query: `${scope} count:${limit} file:${only} ${pattern}` }, context);
    const left = limit - own.matchCount;
    const others =
      left <= 0
        ? undefined
        : await runToolSearch({ ...options, query: `${scope} count:${left} -file:${only} ${pattern}` }, context);
    const unseen = { reason: "limit", message: "other files were not searched: raise limit" };
    return {
      head: { symbol, matchCount: own.matchCount + (others?.matchCount ?? 0) },
      listName: "references",
      items: [...own.matches, ...(others?.matches ?? [])].map(matchItem),
      excluded: [...own.excluded, ...(others === undefined ? [unseen] : others.excluded)],
    };
  },
});

/** `\b` only beside a character of words: names of operators have none. */
function wholeWord(symbol: string): string {
  return `${/^\w/.test(symbol) ? "\\b" : ""}${escapeRegexp(symbol)}${/\w$/.test(symbol) ? "\\b" : ""}`;
}
