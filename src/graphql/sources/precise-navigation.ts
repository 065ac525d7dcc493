import type {
  FoundPrecise,
  PreciseFile,
  PrecisePlace,
  PreciseQuestion,
  PreciseRange,
} from "../../protocol/precise-messages.js";
import { BlobSource } from "../../browse/git-sources.js";
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

/** Definitions of one name that are listed. */
const definitionsMax = 200;

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
  const { found, failures } = await git.run({
    kind: "find-precise",
    repositoryId: id,
    commit: file.commit.oid,
    path: file.path,
    at,
    want,
    candidates,
    placesMax: want === "references" ? referencesMax : definitionsMax,
  });
  for (const { indexId, reason, isDamage } of failures)
    if (isDamage && indexId !== undefined) await precise.recordDamage(indexId, reason);
    else
      log.warn({ repository: file.repository.record.name, index: indexId, reason }, "an uploaded index was not read");
  return found;
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

/** The definitions of the name at a position: those of an uploaded index, otherwise candidates by name. Null if no name is there. */
export async function definitionsAt(
  file: BlobSource,
  at: Position,
  context: RequestContext,
): Promise<NameDefinitions | null> {
  const found = await askPrecise(file, at, "definitions", context);
  if (found?.range !== undefined && found.placeCount > 0) {
    const definitions = await documentDefinitions(definitionSources(found, file), context);
    const { name, range, implementationCount } = found;
    return { name, range, precision: "PRECISE", definitions, isUnique: isOnly(found), implementationCount };
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

/** Whether no other definition may exist, for example in a line that has changed. */
export function isOnly({ placeCount, limitHit }: FoundPrecise): boolean {
  return placeCount === 1 && !limitHit;
}

/** The definitions as symbols, in the order of the index. */
export function definitionSources({ name, about, files }: FoundPrecise, file: BlobSource): DefinitionSource[] {
  return files.flatMap(({ path, language, places }) => {
    const resource = fileAt(path, file);
    return places.map(({ range: { start, end }, preview }) => {
      const from = `L${start.line + 1}:${start.character + 1}`;
      const url = start.line === end.line ? `?${from}-${end.line + 1}:${end.character + 1}` : `?L${start.line + 1}`;
      const symbol = { name, kind: about.kind, line: start.line + 1, containerName: "", url };
      return {
        symbol: new SymbolSource(resource, language, symbol),
        signature: about.signature === "" ? preview.trim() : about.signature,
        documentation: about.documentation,
        nearness: path === file.path ? ("SAME_FILE" as const) : ("SAME_REPOSITORY" as const),
      };
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
  want: PreciseQuestion,
  context: RequestContext,
): Promise<NameReferences | undefined> {
  const found = await askPrecise(file, at, want, context);
  if (found?.range === undefined) return undefined;
  const { name, range, placeCount, limitHit } = found;
  const files = nearestFirst(found, file).map((used) => referencesInFile(used, file));
  return { name, range, precision: "PRECISE", matchCount: placeCount, limitHit, files };
}

/** The same as a list of places. */
export async function referencePlaces(
  file: BlobSource,
  at: Position,
  context: RequestContext,
): Promise<readonly PlaceSource[]> {
  const found = await askPrecise(file, at, "references", context);
  if (found === undefined || found.placeCount === 0) return findReferences(file, at.line, at.character, context);
  return preciseLocations({ ...found, files: nearestFirst(found, file) }, file);
}

/** The definitions of what implements the name at a position, or of what it implements. */
export async function implementationPlaces(
  file: BlobSource,
  at: Position,
  want: "implementations" | "prototypes",
  context: RequestContext,
): Promise<readonly PlaceSource[]> {
  const found = await askPrecise(file, at, want, context);
  return found === undefined ? [] : preciseLocations(found, file);
}

function preciseLocations({ files }: Pick<FoundPrecise, "files">, file: BlobSource): PlaceSource[] {
  return files.flatMap(({ path, places }) => {
    const resource = fileAt(path, file);
    return places.map(({ range }) => makePlace(resource, range.start, lengthInLine(range)));
  });
}

/** Those of the file first, then those in folders near it. */
function nearestFirst({ files }: FoundPrecise, file: BlobSource): readonly PreciseFile[] {
  const rank = ({ path }: PreciseFile): number => (path === file.path ? -1 : folderDistance(path, file.path));
  return [...files].sort((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : 1));
}

function referencesInFile({ path, places }: PreciseFile, file: BlobSource): FileReferencesSource {
  const resource = fileAt(path, file);
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

function fileAt(path: string, file: BlobSource): BlobSource {
  return path === file.path ? file : new BlobSource(file.commit, path, undefined, undefined);
}

function wordRange({ line, character, length }: Position & { readonly length: number }): PreciseRange {
  return { start: { line, character }, end: { line, character: character + length } };
}
