import { TrawlError } from "../../base/errors.js";
import { escapeRegexp } from "../../base/text.js";
import type { BlobSource } from "../../browse/git-sources.js";
import type { RequestContext } from "../../browse/request-context.js";
import type { ListedOccurrences } from "../../protocol/git-messages.js";
import { commitPattern, quote, runSearch, searchSymbols } from "./symbol-lists.js";
import { SymbolSource } from "./match-sources.js";

/** Candidates that are looked at in a repository, and in all others. */
const candidatesMax = 200;

/** Uses that are listed. */
const referencesMax = 1000;

/** Languages whose files use each other's definitions. */
const families: readonly (readonly string[])[] = [
  ["C", "C++", "Objective-C", "Objective-C++", "Cuda"],
  ["JavaScript", "TypeScript", "TSX"],
  ["Java", "Kotlin", "Scala", "Groovy"],
];

/** Kinds that a name usually refers to, the likeliest first. */
const kindOrder: readonly string[] = [
  "CLASS INTERFACE STRUCT ENUM FUNCTION METHOD CONSTRUCTOR TYPEPARAMETER",
  "CONSTANT VARIABLE MODULE NAMESPACE PACKAGE OPERATOR OBJECT",
  "ENUMMEMBER FIELD PROPERTY KEY",
];

/** A place in a file. */
export interface PlaceSource {
  readonly resource: BlobSource;
  readonly range: {
    readonly start: { readonly line: number; readonly character: number };
    readonly end: { readonly line: number; readonly character: number };
  };
  readonly url: string;
  readonly canonicalURL: string;
}

/** A word, and candidates for its definition. */
interface Definitions {
  readonly word: ListedOccurrences["word"];
  readonly definitions: readonly SymbolSource[];
}

/** The word at a position of a file, and everything in the file that has its name; null if there is none. */
async function findWord(file: BlobSource, line: number, character: number, { git }: RequestContext) {
  const listed = await listOccurrences(file, { line, character }, false, git);
  const { word, language, names } = listed;
  if (word === undefined) return null;
  const own = names.find(({ name }) => name === word.name);
  const definitions = (own?.definitions ?? []).map((symbol) => new SymbolSource(file, language, symbol));
  return { word, language, definitions, references: own?.references ?? [] };
}

/** Names that the file defines, with their definitions and uses in it. */
export async function listOccurrences(
  file: BlobSource,
  { line, character }: { readonly line: number; readonly character: number },
  all: boolean,
  git: RequestContext["git"],
): Promise<ListedOccurrences> {
  if (line < 0 || character < 0) throw new TrawlError("bad-request", "lines and characters are counted from 0");
  const entry = file.entry ?? (await git.entry(file.commit, file.path));
  if (entry?.kind !== "file") return { language: "", word: undefined, names: [] };
  return git.run({
    kind: "list-occurrences",
    repositoryId: file.repository.record.id,
    oid: entry.oid,
    path: file.path,
    line,
    character,
    all,
  });
}

/**
 * Candidates for the definition of the word at a position, the likeliest first: symbols with exactly its name, in the
 * same file, else in the same repository, else in others, in languages that go together; among those by kind and path.
 */
export async function findDefinitions(
  file: BlobSource,
  line: number,
  character: number,
  context: RequestContext,
): Promise<Definitions> {
  const found = await findWord(file, line, character, context);
  if (found === null) return { word: undefined, definitions: [] };
  const { word, language } = found;
  if (found.definitions.length > 0) return { word, definitions: sortCandidates(found.definitions, file) };
  const name = `content:${quote(`^${escapeRegexp(word.name)}$`)}`;
  const isRelated = (symbol: SymbolSource): boolean => areRelated(symbol.language, language);
  const near = await searchSymbols(
    [`repo:${quote(commitPattern(file.commit))}`, "case:yes", name],
    candidatesMax,
    context,
  );
  const related = near.filter(isRelated);
  const candidates =
    related.length > 0 ? related : (await searchSymbols(["case:yes", name], candidatesMax, context)).filter(isRelated);
  return { word, definitions: sortCandidates(candidates, file) };
}

/** Where the word at a position occurs, as a whole word: in its file, then in the other files of its commit. */
export async function findReferences(
  file: BlobSource,
  line: number,
  character: number,
  context: RequestContext,
): Promise<PlaceSource[]> {
  const found = await findWord(file, line, character, context);
  if (found === null) return [];
  const own = found.references.map((at) => makePlace(file, at, at.length));
  const results = await runSearch(
    `context:global type:file fork:yes archived:yes case:yes count:${referencesMax} repo:${quote(commitPattern(file.commit))} -file:${quote(`^${escapeRegexp(file.path)}$`)} content:${quote(`\\b${escapeRegexp(found.word.name)}\\b`)}`,
    context,
  );
  const others = results.results.flatMap((result) =>
    result.__typename !== "FileMatch"
      ? []
      : result.chunkMatches.flatMap(({ ranges }) =>
          ranges.map(({ start, end }) => makePlace(result.file, start, end.character - start.character)),
        ),
  );
  return [...own, ...others];
}

function makePlace(
  resource: BlobSource,
  { line, character }: { readonly line: number; readonly character: number },
  length: number,
): PlaceSource {
  const place = `?L${line + 1}:${character + 1}-${line + 1}:${character + 1 + length}`;
  return {
    resource,
    range: { start: { line, character }, end: { line, character: character + length } },
    url: `${resource.url}${place}`,
    canonicalURL: `${resource.canonicalURL}${place}`,
  };
}

/** Whether files of these languages use each other's definitions. */
export function areRelated(one: string, other: string): boolean {
  return one === other || families.some((family) => family.includes(one) && family.includes(other));
}

/** By kind, then by the folders that the path shares with the file, then as found. */
function sortCandidates(symbols: readonly SymbolSource[], file: BlobSource): SymbolSource[] {
  return symbols
    .map((symbol) => ({ symbol, rank: kindRank(symbol.kind), far: folderDistance(symbol.file.path, file.path) }))
    .sort((a, b) => a.rank - b.rank || a.far - b.far)
    .map(({ symbol }) => symbol);
}

/** Lower for a kind that a name more likely refers to. */
export function kindRank(kind: string): number {
  const at = kindOrder.findIndex((kinds) => kinds.split(" ").includes(kind));
  return at < 0 ? kindOrder.length : at;
}

/** The number of folders from the one path to the other. */
export function folderDistance(one: string, other: string): number {
  const [parts, folders] = [one.split("/").slice(0, -1), other.split("/").slice(0, -1)];
  let shared = 0;
  while (shared < folders.length && shared < parts.length && folders[shared] === parts[shared]) shared++;
  return folders.length + parts.length - 2 * shared;
}
