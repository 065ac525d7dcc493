import { escapeRegexp, wholeWord } from "../../base/text.js";
import { shownPath } from "../../base/path-text.js";
import { BlobSource } from "../../browse/git-sources.js";
import type { RequestContext } from "../../browse/request-context.js";
import { type Candidate, type NameUse, rankDefinitions } from "../../graphql/sources/definition-ranking.js";
import { askPrecise, definitionSources, isOnly } from "../../graphql/sources/precise-navigation.js";
import { candidatesMax, listOccurrences, namePattern } from "../../graphql/sources/navigation.js";
import type { FoundPrecise } from "../../protocol/precise-messages.js";
import type { SymbolMatch } from "../../model/stream-events.js";
import { commitPattern } from "../../graphql/sources/symbol-lists.js";
import { quote } from "../../query/syntax/quote.js";
import { defineTool, integer, repo, requiredText, revision } from "../calls/tool.js";
import { requireFile, findCommit, findRepository, plainPath } from "./file-tools.js";
import { matchItem } from "./match-items.js";
import { runToolSearch, type ToolMatches } from "./tool-search.js";

const everything = "context:global fork:yes archived:yes";

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
    const file = new BlobSource(commit, entry.path, entry, undefined);
    const precise = await askPrecise(file, { name: symbol }, "definitions", context);
    if (precise !== undefined && precise.placeCount > 0) {
      const definitions = definitionSources(precise, file);
      return {
        head: { symbol, matchCount: precise.placeCount, precision: "precise", isUnique: isOnly(precise) },
        listName: "definitions",
        items: definitions.map(
          ({
            symbol: {
              line,
              kind,
              file: { path: definedIn },
            },
          }) => ({
            repository: name,
            path: definedIn,
            line,
            name: symbol,
            commit: commit.oid,
            kind: kind.toLowerCase(),
          }),
        ),
        excluded: [],
      };
    }
    const { language, imports } = await listOccurrences(file, { line: 0, character: 0 }, false, context.git);
    const use: NameUse = { path: entry.path, language, line: undefined, before: "", after: "", imports };
    const near = await searchDefinitions(`repo:${quote(commitPattern(commit))}`, symbol, name, use, context);
    const found = near.ranked.length > 0 ? near : await searchDefinitions("", symbol, name, use, context);
    return {
      head: { symbol, matchCount: found.ranked.length, precision: "by name", isUnique: found.isUnique },
      listName: "definitions",
      items: found.ranked.map(({ candidate }) => definitionItem(candidate)),
      excluded: found.excluded,
    };
  },
});

interface FoundSymbol extends Candidate {
  readonly repository: string;
  readonly commit: string | undefined;
  readonly symbol: SymbolMatch;
}

/** The symbols with exactly this name, the likeliest first. */
async function searchDefinitions(scope: string, symbol: string, own: string, use: NameUse, context: RequestContext) {
  const query = `${everything} type:symbol count:${candidatesMax} ${scope} ${namePattern(symbol)}`;
  const found = await runToolSearch({ query, patternType: "regexp", count: candidatesMax, contextLines: 0 }, context);
  return { ...rankDefinitions(listSymbols(found, own), use), excluded: found.excluded };
}

function listSymbols({ matches }: ToolMatches, own: string): FoundSymbol[] {
  return matches.flatMap(({ repository = "", path = "", commit, language = "", symbols = [] }) =>
    symbols.map((symbol) => ({
      repository,
      path,
      commit,
      language,
      symbol,
      kind: symbol.kind,
      line: symbol.line,
      isOwnRepository: repository === own,
    })),
  );
}

function definitionItem({ repository, path, commit, symbol }: FoundSymbol): object {
  const { name, kind, line, containerName } = symbol;
  return {
    repository,
    path,
    line,
    name,
    ...(containerName === "" ? {} : { container: containerName }),
    ...(commit === undefined ? {} : { commit }),
    kind: kind.toLowerCase(),
  };
}

const moreUses = { reason: "limit", message: "there are more uses: raise limit" };

const lackingUses = {
  reason: "index",
  message:
    "there may be uses that the index does not have, as in lines that have changed and in other packages: search for the name",
};

/** Files with the lines that use the symbol, those of the given file first. */
function preciseItems({ files }: FoundPrecise, repository: string, limit: number): object[] {
  let left = limit;
  return files.flatMap(({ path, language, places }) => {
    const shown = places.slice(0, left);
    left -= shown.length;
    if (shown.length === 0) return [];
    const lines = new Map(shown.map(({ range, preview }) => [range.start.line + 1, preview]));
    return [{ repository, path, language, lines: [...lines].map(([line, text]) => ({ line, text })) }];
  });
}

export const findReferences = defineTool({
  name: "find_references",
  title: "Find references",
  description:
    "Lines of the repository that contain the name of a symbol as a whole word, those of the given file first.",
  fields: { ...place, limit: integer(1, 1_000, 10, "Number of uses.") },
  run: async ({ repo: name, path, symbol, revision: rev, limit }, context) => {
    const commit = await findCommit(findRepository(name, context), rev, context);
    const entry = await requireFile(commit, plainPath(path), context);
    const file = entry.path;
    const source = new BlobSource(commit, file, entry, undefined);
    const precise = await askPrecise(source, { name: symbol }, "references", context);
    if (precise !== undefined && precise.placeCount > 0)
      return {
        head: { symbol, matchCount: precise.placeCount, precision: "precise" },
        listName: "references",
        items: preciseItems(precise, name, limit),
        excluded: [...(precise.placeCount > limit ? [moreUses] : []), ...(precise.limitHit ? [lackingUses] : [])],
      };
    const pattern = `content:${quote(wholeWord(symbol))}`;
    const scope = `${everything} case:yes type:file repo:${quote(commitPattern(commit))}`;
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
      head: { symbol, matchCount: own.matchCount + (others?.matchCount ?? 0), precision: "by name" },
      listName: "references",
      items: [...own.matches, ...(others?.matches ?? [])].map(matchItem),
      excluded: [...own.excluded, ...(others === undefined ? [unseen] : others.excluded)],
    };
  },
});
