import { TrawlError } from "../../base/errors.js";
import { escapeRegexp, wholeWord } from "../../base/text.js";
import { BlobSource } from "../../browse/git-sources.js";
import type { RequestContext } from "../../browse/request-context.js";
import type { ListedOccurrences, OccurringWord } from "../../protocol/git-messages.js";
import {
  type Candidate,
  folderDistance,
  isImportLine,
  type NameUse,
  type Nearness,
  rankDefinitions,
} from "./definition-ranking.js";
import { quote } from "../../query/syntax/quote.js";
import { commitPattern, runSearch, searchSymbols } from "./symbol-lists.js";
import { SymbolSource } from "./match-sources.js";

/** Candidates that are looked at in a repository, and in all others. */
export const candidatesMax = 200;

/** Candidates whose lines are read, and how much of each: the others are ranked without. */
const signaturesMax = 10;
const signatureLengthMax = 300;

/** Uses that are listed. */
export const referencesMax = 1000;

/** Longer lines are cut around the uses in them. */
const previewBytesMax = 300;

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

/** A candidate for what a name refers to. */
export interface DefinitionSource {
  readonly symbol: SymbolSource;
  /** The line of its name, without the spaces around it; "" if it was not read. */
  readonly signature: string;
  /** What is written about it: Markdown by an index, otherwise the text of its comment; "" if nothing is, or it was not read. */
  readonly documentation: string;
  readonly nearness: Nearness;
}

/** A word, and candidates for its definition, the likeliest first. */
export interface FoundDefinitions {
  readonly word: OccurringWord;
  readonly definitions: readonly DefinitionSource[];
  readonly isUnique: boolean;
}

/** The word at a position of a file, and everything in the file that has its name; null if there is none. */
async function findWord(file: BlobSource, line: number, character: number, { git }: RequestContext) {
  const listed = await listOccurrences(file, { line, character }, false, git);
  const { word, language, names, imports } = listed;
  if (word === undefined) return null;
  const own = names.find(({ name }) => name === word.name);
  const definitions = (own?.definitions ?? []).map((symbol) => new SymbolSource(file, language, symbol));
  const { before, after } = word;
  const use: NameUse = {
    path: file.path,
    language,
    line: word.line + 1,
    character: word.character,
    before,
    after,
    imports,
  };
  return { word, use, definitions, references: own?.references ?? [] };
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
  if (entry?.kind !== "file") return { language: "", word: undefined, imports: [], names: [] };
  return git.run({
    kind: "list-occurrences",
    repositoryId: file.repository.record.id,
    commit: file.commit.oid,
    oid: entry.oid,
    path: file.path,
    line,
    character,
    all,
  });
}

/**
 * Candidates for the definition of the word at a position: symbols with exactly its name, in the same file, else in the same
 * repository, else in others. Null if there is no word.
 */
export async function findDefinitions(
  file: BlobSource,
  line: number,
  character: number,
  context: RequestContext,
): Promise<FoundDefinitions | null> {
  const found = await findWord(file, line, character, context);
  if (found === null) return null;
  const { word, use, definitions } = found;
  // What the file itself defines is meant, unless it is a member of something: that may be of any type.
  const isMember = /(?:\.|->|::)\s*$/.test(word.before);
  if (definitions.length > 0 && !isMember) {
    const own = await rankSymbols(definitions, use, file, context);
    if (!isImportLine(own.definitions[0]?.signature)) return { word, ...own };
  }
  const candidates = await searchName(word.name, found, file, context);
  return { word, ...(await rankSymbols(candidates, use, file, context)) };
}

async function searchName(
  name: string,
  { definitions, use }: { readonly definitions: readonly SymbolSource[]; readonly use: NameUse },
  file: BlobSource,
  context: RequestContext,
): Promise<readonly SymbolSource[]> {
  const pattern = namePattern(name);
  const near = await searchSymbols([`repo:${quote(commitPattern(file.commit))}`, pattern], candidatesMax, context);
  // Those of the file are known with the commit and the revision of the request.
  const others = near.filter(({ file: { path } }) => path !== file.path);
  const own = [...definitions, ...others];
  return rankDefinitions(own.map(toCandidate(file)), use).ranked.length > 0
    ? own
    : searchSymbols([pattern], candidatesMax, context);
}

/** What finds the symbols with exactly this name. */
export function namePattern(name: string): string {
  return `case:yes content:${quote(`^${escapeRegexp(name)}$`)}`;
}

function toCandidate(file: BlobSource) {
  return (symbol: SymbolSource): Candidate & { readonly symbol: SymbolSource } => ({
    symbol,
    path: symbol.file.path,
    language: symbol.language,
    kind: symbol.kind,
    line: symbol.line,
    character: symbol.location.range.start.character,
    isOwnRepository: symbol.file.repository.record.id === file.repository.record.id,
  });
}

/** Ranks by what is known, then the best ones again with their lines. */
async function rankSymbols(
  symbols: readonly SymbolSource[],
  use: NameUse,
  file: BlobSource,
  context: RequestContext,
): Promise<Pick<FoundDefinitions, "definitions" | "isUnique">> {
  const { ranked } = rankDefinitions(symbols.map(toCandidate(file)), use);
  const rows = await Promise.all(
    ranked.map(async ({ candidate }, at) => ({
      ...candidate,
      ...(at < signaturesMax ? await readDefinition(candidate.symbol, context) : noText),
    })),
  );
  const { ranked: again, isUnique } = rankDefinitions(rows, use);
  return {
    definitions: again.map(({ candidate: { symbol, signature, documentation }, nearness }) => ({
      symbol,
      signature,
      documentation,
      nearness,
    })),
    isUnique,
  };
}

export type DefinitionText = Pick<DefinitionSource, "signature" | "documentation">;

const noText: DefinitionText = { signature: "", documentation: "" };

/** The line of a definition and its comment; both are "" if the file is too large, or is not there any more. */
export async function readDefinition(
  { file, line }: Pick<SymbolSource, "file" | "line">,
  { git }: RequestContext,
): Promise<DefinitionText> {
  try {
    const { text, documentation = "" } = await git.file(file, { kind: "definition" }, line, line);
    const start = text.slice(0, 2 * signatureLengthMax).trim();
    const signature = start.length > signatureLengthMax ? `${start.slice(0, signatureLengthMax)}…` : start;
    return { signature, documentation };
  } catch (error) {
    if (error instanceof TrawlError && error.code !== "cancelled") return noText;
    throw error;
  }
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
  const others = await searchUses(found.word.name, file, `-file:${quote(`^${escapeRegexp(file.path)}$`)}`, context);
  return [
    ...own,
    ...others.files.flatMap(({ file: other, chunkMatches }) =>
      chunkMatches.flatMap(({ ranges }) =>
        ranges.map(({ start, end }) => makePlace(other, start, end.character - start.character)),
      ),
    ),
  ];
}

/** Uses of a name, by file. */
export interface ReferencesSource {
  readonly word: OccurringWord;
  readonly matchCount: number;
  readonly limitHit: boolean;
  readonly files: readonly FileReferencesSource[];
}

export interface FileReferencesSource {
  readonly file: BlobSource;
  readonly lines: readonly ReferenceLine[];
}

export interface ReferenceLine {
  /** From 0. */
  readonly line: number;
  /** The line, or of a long one the part around the use. */
  readonly preview: string;
  /** In the preview, in code points. */
  readonly ranges: readonly { readonly start: number; readonly end: number }[];
  readonly url: string;
}

/** The same by file, with their lines: those of the file first, then those in folders near it. Null if there is no word. */
export async function listReferences(
  file: BlobSource,
  line: number,
  character: number,
  context: RequestContext,
): Promise<ReferencesSource | null> {
  const found = await findWord(file, line, character, context);
  if (found === null) return null;
  // The file has its uses, however many others have; a path that is not UTF-8 matches nothing here.
  const path = quote(`^${escapeRegexp(file.path)}$`);
  const [own, others] = await Promise.all(
    [`file:${path}`, `-file:${path}`].map((filter) => searchUses(found.word.name, file, filter, context)),
  );
  const near = (others?.files ?? []).map((match) => ({ match, far: folderDistance(match.file.path, file.path) }));
  near.sort((a, b) => a.far - b.far);
  return {
    word: found.word,
    matchCount: (own?.matchCount ?? 0) + (others?.matchCount ?? 0),
    limitHit: own?.limitHit === true || others?.limitHit === true,
    files: [...(own?.files ?? []), ...near.map(({ match }) => match)].map(({ file: other, chunkMatches }) => {
      const shown = other.path === file.path ? file : new BlobSource(file.commit, other.path, undefined, undefined);
      return { file: shown, lines: chunkMatches.flatMap((chunk) => linesOfChunk(chunk, shown)) };
    }),
  };
}

async function searchUses(name: string, file: BlobSource, filter: string, context: RequestContext) {
  const words = [`repo:${quote(commitPattern(file.commit))}`, filter, `content:${quote(wholeWord(name))}`];
  const found = await runSearch(
    `context:global type:file fork:yes archived:yes case:yes count:${referencesMax} ${words.join(" ")}`,
    context,
    previewBytesMax,
  );
  const files = found.results.flatMap((result) => (result.__typename === "FileMatch" ? [result] : []));
  return { files, matchCount: found.matchCount, limitHit: found.limitHit };
}

interface Chunk {
  readonly content: string;
  readonly contentStart: { readonly line: number; readonly character: number };
  readonly ranges: PlaceSource["range"][];
}

/** Names have no newlines, so each use is in one line. */
function linesOfChunk({ content, contentStart, ranges }: Chunk, file: BlobSource): ReferenceLine[] {
  return content.split("\n").flatMap((preview, i) => {
    const line = contentStart.line + i;
    const skipped = i === 0 ? contentStart.character : 0;
    const own = ranges.filter(({ start }) => start.line === line);
    const [first] = own;
    if (first === undefined) return [];
    const { url } = makePlace(file, first.start, first.end.character - first.start.character);
    return [
      {
        line,
        preview,
        ranges: own.map(({ start, end }) => ({ start: start.character - skipped, end: end.character - skipped })),
        url,
      },
    ];
  });
}

export function makePlace(
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
