import type {
  FoundPrecise,
  PreciseFailure,
  PreciseFile,
  PrecisePlace,
  PreciseQuestion,
  PreciseRange,
  SymbolsInIndex,
} from "../../protocol/precise-messages.js";
import { BlobSource, CommitSource } from "../../browse/git-sources.js";
import { RepositorySource } from "../../browse/repository-source.js";
import type { RequestContext } from "../../browse/request-context.js";
import { folderDistance } from "./definition-ranking.js";
import { SymbolSource } from "./match-sources.js";
import {
  type DefinitionSource,
  type FileReferencesSource,
  findDefinitions,
  findReferences,
  listReferences,
  makePlace,
  type PlaceSource,
  readDefinition,
  referencesMax,
} from "./navigation.js";

/** How an answer about a name was found: by an uploaded index, or by the name alone. */
export type Precision = "PRECISE" | "BY_NAME";

/** Definitions of one name that are listed, of all indexes together. */
const definitionsMax = 200;

/** Indexes of other repositories that are asked, and uses that are taken from one repository. */
const elsewhereMax = 20;
const elsewherePlacesMax = 200;

/** A place in a file, both from 0. */
export interface Position {
  readonly line: number;
  readonly character: number;
}

/** What an uploaded index says about a name of a file; undefined if none covers the place. */
export async function askPrecise(
  file: BlobSource,
  at: Position | { readonly name: string },
  want: PreciseQuestion,
  { git, services: { precise, log } }: RequestContext,
): Promise<FoundPrecise | undefined> {
  const { id } = file.repository.record;
  const candidates = precise.candidates(id);
  if (candidates.length === 0) return undefined;
  const { found, failures } = await git.readIndexes({
    kind: "find-precise",
    repositoryId: id,
    commit: file.commit.oid,
    path: file.path,
    at,
    want,
    candidates,
    placesMax: want === "references" ? referencesMax : definitionsMax,
  });
  await reportFailures(failures, file.repository.name, { precise, log });
  return found;
}

async function reportFailures(
  failures: readonly PreciseFailure[],
  repository: string,
  { precise, log }: Pick<RequestContext["services"], "precise" | "log">,
): Promise<void> {
  for (const { indexId, reason, isDamage } of failures)
    if (isDamage && indexId !== undefined) await precise.recordDamage(indexId, reason);
    else log.warn({ repository, index: indexId, reason }, "an uploaded index was not read");
}

/** What an index of another repository says about a symbol. */
interface ElsewhereSource extends SymbolsInIndex {
  readonly shownCommit: CommitSource;
}

/** What is known in other repositories, as far as the viewer may read them, and whether there may be more. */
interface Elsewhere {
  readonly found: readonly ElsewhereSource[];
  readonly limitHit: boolean;
}

/**
 * What the newest indexes of other repositories say about the symbols of a place: those that define symbols of the same package in
 * the same version, and for uses also those that have it.
 */
async function askElsewhere(
  { symbols, packages }: FoundPrecise,
  file: BlobSource,
  want: PreciseQuestion,
  context: RequestContext,
): Promise<Elsewhere> {
  const { services, repositories, git } = context;
  const own = file.repository.record.id;
  const isReadable = (id: number): boolean => id !== own && repositories.byId(id) !== undefined;
  const isDefinition = want === "definitions" || want === "prototypes";
  const asked = services.precise.inPackages(packages, isDefinition, isReadable, elsewhereMax);
  const answers = await Promise.all(
    [...asked.candidates].map(async ([repositoryId, candidates]): Promise<Elsewhere> => {
      const record = repositories.byId(repositoryId);
      if (record === undefined) return { found: [], limitHit: false };
      const repository = new RepositorySource(record, undefined);
      const placesMax = isDefinition ? definitionsMax : elsewherePlacesMax;
      // What a name implements is a symbol itself: its definition is wanted.
      const wanted = isDefinition ? "definitions" : want;
      const answer = await git.readIndexes({
        kind: "find-symbols",
        repositoryId,
        symbols,
        want: wanted,
        candidates,
        placesMax,
      });
      await reportFailures(answer.failures, repository.name, services);
      const found = answer.found.map((one) => ({ ...one, shownCommit: commitToShow(repository, one.commit) }));
      return { found, limitHit: answer.failures.length > 0 || found.some(({ limitHit }) => limitHit) };
    }),
  );
  return {
    found: answers.flatMap(({ found }) => found),
    limitHit: asked.limitHit || answers.some(({ limitHit }) => limitHit),
  };
}

/** Without a revision in its address if it is what the repository shows now. */
function commitToShow(repository: RepositorySource, oid: string): CommitSource {
  return new CommitSource(repository, oid, repository.indexedCommit("") === oid ? "" : undefined);
}

export interface NameDefinitions {
  readonly name: string;
  readonly range: PreciseRange;
  readonly precision: Precision;
  readonly definitions: readonly DefinitionSource[];
  readonly isUnique: boolean;
  /** Known only by an index. */
  readonly implementationCount: number;
}

/** Definitions that an index knows. */
export interface PreciseDefinitions {
  readonly found: FoundPrecise;
  readonly definitions: readonly DefinitionSource[];
  readonly isUnique: boolean;
}

/**
 * The definitions of a name by an index of the repository or, of a symbol of a package that is in another one, by an index of that;
 * undefined if no index knows any.
 */
export async function preciseDefinitions(
  file: BlobSource,
  at: Position | { readonly name: string },
  context: RequestContext,
): Promise<PreciseDefinitions | undefined> {
  const found = await askPrecise(file, at, "definitions", context);
  if (found === undefined) return undefined;
  const elsewhere = found.placeCount > 0 ? undefined : await askElsewhere(found, file, "definitions", context);
  const listed =
    elsewhere === undefined
      ? definitionSources(found, file.commit, file)
      : elsewhere.found.flatMap((one) => definitionSources({ ...one, name: found.name }, one.shownCommit, file));
  if (listed.length === 0) return undefined;
  const definitions = listed.slice(0, definitionsMax);
  const isUnique = definitions.length === 1 && !(elsewhere ?? found).limitHit;
  return { found, definitions: await documentDefinitions(definitions, context), isUnique };
}

/** The definitions of the name at a position: those of an uploaded index, otherwise candidates by name. Null if no name is there. */
export async function definitionsAt(
  file: BlobSource,
  at: Position,
  context: RequestContext,
): Promise<NameDefinitions | null> {
  const precise = await preciseDefinitions(file, at, context);
  if (precise?.found.range !== undefined) {
    const { definitions, isUnique } = precise;
    const { name, range, implementationCount } = precise.found;
    return { name, range, precision: "PRECISE", definitions, isUnique, implementationCount };
  }
  const byName = await findDefinitions(file, at.line, at.character, context);
  if (byName === null) return null;
  const { word, definitions, isUnique } = byName;
  return {
    name: word.name,
    range: wordRange(word),
    precision: "BY_NAME",
    definitions,
    isUnique,
    implementationCount: 0,
  };
}

/** An index may leave the documentation out: the comment at the first definition is the same. */
async function documentDefinitions(
  definitions: readonly DefinitionSource[],
  context: RequestContext,
): Promise<readonly DefinitionSource[]> {
  const [first, ...others] = definitions;
  if (first === undefined || first.documentation !== "") return definitions;
  const { documentation } = await readDefinition(first.symbol, context);
  return [{ ...first, documentation }, ...others];
}

/** The definitions as symbols, in the order of the index, of which the first has the documentation; `file` has what refers to them. */
function definitionSources(
  { name, about, files }: Pick<FoundPrecise, "name" | "about" | "files">,
  commit: CommitSource,
  file: BlobSource,
): DefinitionSource[] {
  const isOwn = commit === file.commit;
  let { documentation } = about;
  return files.flatMap(({ path, language, places }) => {
    const resource = fileAt(path, commit, file);
    return places.map(({ range: { start, end }, preview }) => {
      const from = `L${start.line + 1}:${start.character + 1}`;
      const url = start.line === end.line ? `?${from}-${end.line + 1}:${end.character + 1}` : `?L${start.line + 1}`;
      const symbol = { name, kind: about.kind, line: start.line + 1, containerName: "", url };
      const source = {
        symbol: new SymbolSource(resource, language, symbol),
        signature: about.signature === "" ? preview.trim() : about.signature,
        documentation,
        nearness: !isOwn ? "OTHER_REPOSITORY" : path === file.path ? "SAME_FILE" : "SAME_REPOSITORY",
      } as const;
      documentation = "";
      return source;
    });
  });
}

export interface NameReferences {
  readonly name: string;
  readonly range: PreciseRange;
  readonly precision: Precision;
  readonly matchCount: number;
  readonly limitHit: boolean;
  readonly files: readonly FileReferencesSource[];
}

/** The uses of the name at a position, by file. Null if no name is there. */
export async function referencesAt(
  file: BlobSource,
  at: Position,
  context: RequestContext,
): Promise<NameReferences | null> {
  const found = await preciseList(file, at, "references", context);
  if (found !== undefined && found.matchCount > 0) return found;
  const byName = await listReferences(file, at.line, at.character, context);
  if (byName === null) return null;
  const { word, matchCount, limitHit, files } = byName;
  return { name: word.name, range: wordRange(word), precision: "BY_NAME", matchCount, limitHit, files };
}

/** The definitions of what implements the name at a position, by file. Null if no index covers the place. */
export async function implementationsAt(
  file: BlobSource,
  at: Position,
  context: RequestContext,
): Promise<NameReferences | null> {
  return (await preciseList(file, at, "implementations", context)) ?? null;
}

async function preciseList(
  file: BlobSource,
  at: Position,
  want: Exclude<PreciseQuestion, "definitions">,
  context: RequestContext,
): Promise<NameReferences | undefined> {
  const listed = await listPrecise(file, at, want, context);
  if (listed?.found.range === undefined) return undefined;
  const { groups, limitHit } = listed;
  const { name, range } = listed.found;
  const files = groups.flatMap(({ commit, files: used }) => used.map((one) => referencesInFile(one, commit, file)));
  const matchCount = groups.reduce((sum, { placeCount }) => sum + placeCount, 0);
  return { name, range, precision: "PRECISE", matchCount, limitHit, files };
}

/** What the indexes say, by commit: that of the file first, then those of other repositories. */
export interface ListedPrecise {
  readonly found: FoundPrecise;
  readonly groups: readonly {
    readonly commit: CommitSource;
    readonly files: readonly PreciseFile[];
    readonly placeCount: number;
  }[];
  readonly limitHit: boolean;
}

/** The places of a name in its repository, and in others that may be read. Undefined if no index covers the name. */
export async function listPrecise(
  file: BlobSource,
  at: Position | { readonly name: string },
  want: Exclude<PreciseQuestion, "definitions">,
  context: RequestContext,
): Promise<ListedPrecise | undefined> {
  const found = await askPrecise(file, at, want, context);
  if (found === undefined) return undefined;
  const { placeCount } = found;
  const elsewhere = await askElsewhere(found, file, want, context);
  const own = { commit: file.commit, files: nearestFirst(found, file), placeCount };
  const others = elsewhere.found.map(({ shownCommit, files, placeCount: count }) => ({
    commit: shownCommit,
    files: [...files].sort((a, b) => (a.path < b.path ? -1 : 1)),
    placeCount: count,
  }));
  return { found, groups: [own, ...others], limitHit: found.limitHit || elsewhere.limitHit };
}

/** The same as a list of places. */
export async function referencePlaces(
  file: BlobSource,
  at: Position,
  context: RequestContext,
): Promise<readonly PlaceSource[]> {
  const places = await precisePlaces(file, at, "references", context);
  return places.length === 0 ? findReferences(file, at.line, at.character, context) : places;
}

/** The definitions of what implements the name at a position, or of what it implements. */
export function implementationPlaces(
  file: BlobSource,
  at: Position,
  want: "implementations" | "prototypes",
  context: RequestContext,
): Promise<readonly PlaceSource[]> {
  return precisePlaces(file, at, want, context);
}

async function precisePlaces(
  file: BlobSource,
  at: Position,
  want: Exclude<PreciseQuestion, "definitions">,
  context: RequestContext,
): Promise<readonly PlaceSource[]> {
  const { groups = [] } = (await listPrecise(file, at, want, context)) ?? {};
  return groups.flatMap(({ commit, files }) =>
    files.flatMap(({ path, places }) => {
      const resource = fileAt(path, commit, file);
      return places.map(({ range }) => makePlace(resource, range.start, lengthInLine(range)));
    }),
  );
}

/** Those of the file first, then those in folders near it. */
function nearestFirst({ files }: FoundPrecise, file: BlobSource): readonly PreciseFile[] {
  const rank = ({ path }: PreciseFile): number => (path === file.path ? -1 : folderDistance(path, file.path));
  return [...files].sort((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : 1));
}

function referencesInFile({ path, places }: PreciseFile, commit: CommitSource, file: BlobSource): FileReferencesSource {
  const resource = fileAt(path, commit, file);
  const byLine = new Map<number, [PrecisePlace, ...PrecisePlace[]]>();
  for (const place of places) {
    const known = byLine.get(place.range.start.line);
    if (known === undefined) byLine.set(place.range.start.line, [place]);
    else known.push(place);
  }
  const lines = [...byLine].map(([line, [first, ...others]]) => {
    const { preview, previewStart, range } = first;
    const ranges = [first, ...others].flatMap((place) => rangeInPreview(place.range, preview, previewStart));
    return { line, preview, ranges, url: makePlace(resource, range.start, lengthInLine(range)).url };
  });
  return { file: resource, lines: lines.sort((a, b) => a.line - b.line) };
}

/** None if the preview does not show the range: that of a long line is a part of it, around its first use. */
function rangeInPreview(range: PreciseRange, preview: string, previewStart: number) {
  const start = range.start.character - previewStart;
  const end = start + lengthInLine(range);
  return start < 0 || end > [...preview].length ? [] : [{ start, end }];
}

/** In code points; 0 for a range that does not end in the line in which it begins. */
function lengthInLine({ start, end }: PreciseRange): number {
  return start.line === end.line ? end.character - start.character : 0;
}

function fileAt(path: string, commit: CommitSource, file: BlobSource): BlobSource {
  return commit === file.commit && path === file.path ? file : new BlobSource(commit, path, undefined, undefined);
}

function wordRange({ line, character, length }: Position & { readonly length: number }): PreciseRange {
  return { start: { line, character }, end: { line, character: character + length } };
}
