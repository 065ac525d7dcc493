import { escapeRegexp, wholeWord } from "../../base/text.js";
import { shownPath } from "../../base/path-text.js";
import { BlobSource, CommitSource } from "../../browse/git-sources.js";
import { RepositorySource } from "../../browse/repository-source.js";
import type { RequestContext } from "../../browse/request-context.js";
import { type Candidate, type NameUse, rankDefinitions } from "../../graphql/sources/definition-ranking.js";
import { type ListedPrecise, listPrecise, preciseDefinitions } from "../../graphql/sources/precise-navigation.js";
import {
  candidatesMax,
  type DefinitionText,
  listOccurrences,
  namePattern,
  readDefinition,
} from "../../graphql/sources/navigation.js";
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
    const commit = await findCommit(await findRepository(name, context), rev, context);
    const entry = await requireFile(commit, plainPath(path), context);
    const file = new BlobSource(commit, entry.path, entry, undefined);
    const precise = await preciseDefinitions(file, { name: symbol }, context);
    if (precise !== undefined) {
      const { definitions, isUnique } = precise;
      return {
        head: { symbol, matchCount: definitions.length, precision: "precise", isUnique },
        listName: "definitions",
        items: definitions.map(({ symbol: defined, signature, documentation }) => ({
          repository: defined.file.repository.name,
          path: defined.file.path,
          line: defined.line,
          name: symbol,
          commit: defined.file.commit.oid,
          kind: defined.kind.toLowerCase(),
          ...textItem({ signature, documentation }),
        })),
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
      items: await Promise.all(
        found.ranked.map(async ({ candidate }, at) => ({
          ...definitionItem(candidate),
          ...(at < textsMax ? await readText(candidate, context) : {}),
        })),
      ),
      excluded: found.excluded,
    };
  },
});

/** Definitions whose lines and comments are read. */
const textsMax = 3;

async function readText({ repository, path, commit: oid, line }: FoundSymbol, context: RequestContext) {
  const record = await context.findRepository(repository);
  if (record === undefined || oid === undefined) return {};
  const commit = new CommitSource(new RepositorySource(record, undefined), oid, undefined);
  return textItem(await readDefinition({ file: new BlobSource(commit, path, undefined, undefined), line }, context));
}

/** Fields that would be empty are left out. */
function textItem(text: DefinitionText): Partial<DefinitionText> {
  return Object.fromEntries(Object.entries(text).filter(([, value]) => value !== ""));
}

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

/** Files with the lines of the places, those of the given file first and those of other repositories last. */
function preciseItems({ groups }: ListedPrecise, limit: number): object[] {
  let left = limit;
  return groups.flatMap(({ commit: { repository, oid }, files }, group) =>
    files.flatMap(({ path, language, places }) => {
      const shown = places.slice(0, left);
      left -= shown.length;
      if (shown.length === 0) return [];
      const lines = new Map(shown.map(({ range, preview }) => [range.start.line + 1, preview]));
      const place = { repository: repository.name, path, language, ...(group === 0 ? {} : { commit: oid }) };
      return [{ ...place, lines: [...lines].map(([line, text]) => ({ line, text })) }];
    }),
  );
}

function preciseAnswer(symbol: string, listed: ListedPrecise, limit: number) {
  const matchCount = listed.groups.reduce((sum, { placeCount }) => sum + placeCount, 0);
  return {
    head: { symbol, matchCount, precision: "precise" },
    items: preciseItems(listed, limit),
    excluded: [...(matchCount > limit ? [moreUses] : []), ...(listed.limitHit ? [lackingUses] : [])],
  };
}

export const findImplementations = defineTool({
  name: "find_implementations",
  title: "Find implementations",
  description:
    "Definitions of what implements an interface, trait or method that a file names, by the uploaded indexes of its repository and of others; nothing is known without one.",
  fields: { ...place, limit: integer(1, 1_000, 10, "Number of implementations.") },
  run: async ({ repo: name, path, symbol, revision: rev, limit }, context) => {
    const commit = await findCommit(await findRepository(name, context), rev, context);
    const entry = await requireFile(commit, plainPath(path), context);
    const file = new BlobSource(commit, entry.path, entry, undefined);
    const listed = await listPrecise(file, { name: symbol }, "implementations", context);
    if (listed !== undefined) return { ...preciseAnswer(symbol, listed, limit), listName: "implementations" };
    return {
      head: { symbol, matchCount: 0 },
      listName: "implementations",
      items: [],
      excluded: [{ reason: "index", message: "no uploaded index covers the name: search for it" }],
    };
  },
});

export const findReferences = defineTool({
  name: "find_references",
  title: "Find references",
  description:
    "Lines that use a symbol, those of the given file first: where an uploaded index knows it, of its repository and of others; otherwise lines of the repository that contain the name as a whole word.",
  fields: { ...place, limit: integer(1, 1_000, 10, "Number of uses.") },
  run: async ({ repo: name, path, symbol, revision: rev, limit }, context) => {
    const commit = await findCommit(await findRepository(name, context), rev, context);
    const entry = await requireFile(commit, plainPath(path), context);
    const file = entry.path;
    const source = new BlobSource(commit, file, entry, undefined);
    const precise = await listPrecise(source, { name: symbol }, "references", context);
    if (precise?.groups.some(({ placeCount }) => placeCount > 0) === true)
      return { ...preciseAnswer(symbol, precise, limit), listName: "references" };
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
