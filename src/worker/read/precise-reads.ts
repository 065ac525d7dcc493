import { existsSync } from "node:fs";
import { join } from "node:path";
import { BoundedMap } from "../../base/bounded-map.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { preciseFolder, preciseIndexName } from "../../model/precise-index.js";
import type {
  AboutSymbol,
  FindPrecise,
  FindSymbols,
  FoundPrecise,
  FoundSymbols,
  PreciseAnswer,
  PreciseFailure,
  PreciseFile,
  PrecisePlace,
  PreciseRange,
  SymbolsInIndex,
} from "../../protocol/precise-messages.js";
import { localBit, relationFlags, type SymbolText } from "../../scip/format.js";
import {
  isLocal,
  occurrencesAt,
  occurrencesWith,
  type PreciseDocument,
  PreciseIndexReader,
} from "../../scip/index-reader.js";
import type { LineMap } from "../../scip/line-map.js";
import type { LinePositions } from "../../scip/line-positions.js";
import { findNearbyIndexes, type NearbyIndex } from "../../scip/nearby-commits.js";
import { packageNumber, symbolPackage, shownKind } from "../../scip/scip-symbol.js";
import { mirrorPath, type ReadContext } from "./context.js";
import { type CommitText, CommitTexts } from "./precise-texts.js";

/** Indexes that are opened for one question. */
const triedMax = 10;

/** Relations of one symbol that are followed. */
const relationsMax = 200;

/** Symbols of one place that are looked up in other repositories, and their UTF-16 units. */
const sharedMax = 50;
const sharedUnitsMax = 100_000;

/** Longer lines are cut around the place that is shown. */
const previewLengthMax = 300;

/** Answers a question about a name with the nearest index that covers its place. */
export async function answerFindPrecise(request: FindPrecise, context: ReadContext): Promise<PreciseAnswer> {
  closeDeleted(context);
  const failures: PreciseFailure[] = [];
  const nearby = (await unlessUnreadable(undefined, failures, () => findNearby(request, context))) ?? [];
  const covering = nearby.filter(({ root }) => request.path.startsWith(root)).slice(0, triedMax);
  for (const index of covering) {
    const found = await unlessUnreadable(index.id, failures, async () => {
      const reader = openIndex(context, index.id);
      const number = reader?.findDocument(request.path.slice(index.root.length));
      if (reader === undefined || number === undefined) return undefined;
      return new Look(request, context, index, reader, failures).find(reader.document(number), nearby);
    });
    if (found !== undefined) return { found, failures };
  }
  return { found: undefined, failures };
}

/** What the indexes of a repository say about symbols of another one, as `FoundPrecise` names them. */
export async function answerFindSymbols(request: FindSymbols, context: ReadContext): Promise<FoundSymbols> {
  closeDeleted(context);
  const failures: PreciseFailure[] = [];
  const found: SymbolsInIndex[] = [];
  for (const candidate of request.candidates.slice(0, triedMax)) {
    const { commit } = candidate;
    const asked: FindPrecise = { ...request, kind: "find-precise", commit, path: "", at: { name: "" } };
    const answer = await unlessUnreadable(candidate.id, failures, async () => {
      const reader = openIndex(context, candidate.id);
      if (reader === undefined) return undefined;
      return new Look(asked, context, { ...candidate, distance: 0 }, reader, failures).findNamed(request.symbols);
    });
    if (answer !== undefined) found.push({ commit, ...answer });
  }
  return { found, failures };
}

/** Failures that this thread has reported: a question may follow each move of a pointer. */
const reported = new BoundedMap<string, true>(1_000, () => 1);

/**
 * Undefined, and a failure is added, if an index or the mirror cannot be read: the name is then answered by another index, or without
 * any. `indexId` names the index that is read, and no other one. Damage is always reported, another failure once.
 */
async function unlessUnreadable<T>(
  indexId: number | undefined,
  failures: PreciseFailure[],
  read: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!isReadFailure(error)) throw error;
    if (indexId !== undefined) closeIndex(indexId);
    const isDamage = error instanceof TrawlError && error.code === "corrupt-shard";
    const reason = errorMessage(error);
    const key = `${indexId} ${reason}`;
    if (isDamage || reported.get(key) === undefined) failures.push({ indexId, reason, isDamage });
    reported.set(key, true);
    return undefined;
  }
}

const readFailures: ReadonlySet<string> = new Set(["corrupt-shard", "format-version", "git"]);

/** Errors of the system, such as EIO, name the call that failed. */
function isReadFailure(error: unknown): boolean {
  return error instanceof TrawlError ? readFailures.has(error.code) : error instanceof Error && "syscall" in error;
}

/** Which indexes are near does not change, as long as there are the same ones. */
const keptNearby = new BoundedMap<string, readonly NearbyIndex[]>(10_000, ({ length }) => 1 + length);

async function findNearby(
  { repositoryId, commit, candidates }: FindPrecise,
  context: ReadContext,
): Promise<readonly NearbyIndex[]> {
  const key = `${repositoryId} ${commit} ${candidates.map(({ id }) => id).join()}`;
  const known = keptNearby.get(key);
  if (known !== undefined) return known;
  const found = await findNearbyIndexes(mirrorPath(context, repositoryId), commit, candidates, context.stop);
  keptNearby.set(key, found);
  return found;
}

/**
 * Indexes that one thread has open, those that were used last at the end. More than one question opens, which are the one that covers
 * the place and others: none is closed while it is used.
 */
const openMax = triedMax + 2;
const openIndexes = new Map<number, PreciseIndexReader>();

/** Undefined if its file is not there any more: it was deleted since the question was asked. */
function openIndex({ dataFolder }: ReadContext, id: number): PreciseIndexReader | undefined {
  let reader = openIndexes.get(id);
  openIndexes.delete(id);
  try {
    reader ??= new PreciseIndexReader(join(dataFolder, preciseFolder, preciseIndexName(id)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  openIndexes.set(id, reader);
  const [oldest] = openIndexes.keys();
  if (openIndexes.size > openMax && oldest !== undefined) closeIndex(oldest);
  return reader;
}

/** The disk has the room of a deleted file only when no thread has it open any more. */
function closeDeleted({ dataFolder }: ReadContext): void {
  for (const id of [...openIndexes.keys()])
    if (!existsSync(join(dataFolder, preciseFolder, preciseIndexName(id)))) closeIndex(id);
}

function closeIndex(id: number): void {
  openIndexes.get(id)?.close();
  openIndexes.delete(id);
}

/** An occurrence, by its document and its index in it. */
interface Hit {
  readonly document: PreciseDocument;
  readonly at: number;
}

/** One question, answered by one index. */
class Look {
  readonly #request: FindPrecise;
  readonly #context: ReadContext;
  readonly #index: NearbyIndex;
  readonly #reader: PreciseIndexReader;
  readonly #failures: PreciseFailure[];
  readonly #texts: CommitTexts;

  constructor(
    request: FindPrecise,
    context: ReadContext,
    index: NearbyIndex,
    reader: PreciseIndexReader,
    failures: PreciseFailure[],
  ) {
    this.#request = request;
    this.#context = context;
    this.#index = index;
    this.#reader = reader;
    this.#failures = failures;
    this.#texts = new CommitTexts(context, request.repositoryId, index.commit, request.commit);
  }

  /** Undefined if the place has changed since, or the index has no symbol there. Definitions are looked for in nearby indexes, too. */
  async find(document: PreciseDocument, nearby: readonly NearbyIndex[]): Promise<FoundPrecise | undefined> {
    const { path, at } = this.#request;
    const map = await this.#texts.lineMap(path);
    let text: CommitText | undefined;
    await this.#texts.readTexts([path], (_, found) => {
      text = found;
    });
    if (map === undefined || text === undefined) return undefined;
    const { lines } = text;
    const found = "name" in at ? occurrencesNamed(document, at.name, lines, map) : occurrenceAt(document, at, map);
    if (found.length === 0) return undefined;
    const symbols = [...new Set(found.map((i) => document.symbols[i]))];
    const range = "name" in at ? undefined : newRange(document, found[0], map);
    const about = describe(this.#textAbout(document, symbols[0]));
    const answer = await this.#answer(document, symbols, nearby);
    if (answer === undefined) return undefined;
    return {
      indexId: this.#index.id,
      indexCommit: this.#index.commit,
      distance: this.#index.distance,
      name: "name" in at ? at.name : range === undefined ? "" : textOfRange(lines, range),
      range,
      about,
      implementationCount: this.#implementing(symbols, true).length,
      ...this.#sharedSymbols(symbols),
      ...answer,
    };
  }

  /** What the index says about symbols of another one; undefined if it has no place to show. */
  async findNamed(names: readonly string[]): Promise<Omit<SymbolsInIndex, "commit"> | undefined> {
    const symbols = names.flatMap((name) => this.#reader.findSymbol(name) ?? []);
    const [first] = symbols;
    if (first === undefined) return undefined;
    const placed = await this.#place(this.#hitsWanted(symbols), this.#index.root, this.#texts, this.#reader);
    if (placed === undefined || placed.placeCount === 0) return undefined;
    return { about: describe(this.#reader.symbol(first).text), ...placed };
  }

  #hitsWanted(symbols: readonly number[]): Hit[] {
    switch (this.#request.want) {
      case "definitions":
        return symbols.flatMap((symbol) => [...this.#hits(symbol, true, undefined)]);
      case "references":
        return symbols.flatMap((symbol) => [...this.#hits(symbol, false, undefined)]);
      case "implementations":
      case "prototypes":
        return this.#implementing(symbols, this.#request.want === "implementations").flatMap((symbol) => [
          ...this.#hits(symbol, true, undefined),
        ]);
    }
  }

  /** The symbols that other indexes may have, too: with what is used like them, if uses are wanted, or what they implement. */
  #sharedSymbols(symbols: readonly number[]): Pick<FoundPrecise, "symbols" | "packages"> {
    const { want } = this.#request;
    const used = symbols.flatMap((symbol) => this.#related(symbol, relationFlags.reference, undefined));
    const wanted =
      want === "prototypes"
        ? this.#implementing(symbols, false)
        : want === "references"
          ? [...symbols, ...used]
          : symbols;
    const names: string[] = [];
    let units = 0;
    for (const symbol of new Set(wanted)) {
      if (isLocal(symbol)) continue;
      const name = this.#reader.symbol(symbol).text.symbol ?? "";
      units += name.length;
      if (names.length >= sharedMax || units > sharedUnitsMax) break;
      if (symbolPackage(name) !== "") names.push(name);
    }
    return { symbols: names, packages: [...new Set(names.map((name) => packageNumber(symbolPackage(name))))] };
  }

  #textAbout(document: PreciseDocument, symbol: number): SymbolText {
    return isLocal(symbol) ? (document.localTexts[symbol - localBit] ?? {}) : this.#reader.symbol(symbol).text;
  }

  async #answer(document: PreciseDocument, symbols: readonly number[], nearby: readonly NearbyIndex[]) {
    switch (this.#request.want) {
      case "definitions": {
        const hits = symbols.flatMap((symbol) => this.#definitions(document, symbol));
        if (hits.length > 0) return this.#place(hits, this.#index.root, this.#texts, this.#reader);
        // What is known about a symbol of another package is an answer, too.
        return (await this.#definitionElsewhere(symbols, nearby)) ?? { files: [], placeCount: 0, limitHit: false };
      }
      case "implementations":
      case "prototypes": {
        const others = this.#implementing(symbols, this.#request.want === "implementations");
        const hits = others.flatMap((symbol) => this.#definitions(document, symbol));
        return this.#place(hits, this.#index.root, this.#texts, this.#reader);
      }
      case "references": {
        const related = symbols.flatMap((symbol) => this.#related(symbol, relationFlags.reference, undefined));
        const used = [...new Set([...symbols, ...related])];
        const hits = this.#occurrences(document, used);
        const placed = await this.#place(hits, this.#index.root, this.#texts, this.#reader);
        return placed && { ...placed, limitHit: placed.limitHit || (await this.#mayLackUses(used)) };
      }
    }
  }

  /** The symbols that implement one of these, or that one of these implements. */
  #implementing(symbols: readonly number[], areImplementations: boolean): number[] {
    const found = symbols.flatMap((symbol) => this.#related(symbol, relationFlags.implementation, areImplementations));
    return [...new Set(found)];
  }

  /** Whether there may be uses that the index does not have: in lines that are not in its commit, or in what other indexes describe. */
  async #mayLackUses(symbols: readonly number[]): Promise<boolean> {
    const { root } = this.#index;
    const changed = await this.#texts.changedPaths();
    if (symbols.every(isLocal)) return changed.has(this.#request.path);
    const hasOtherRoots = this.#request.candidates.some((other) => other.root !== root);
    return hasOtherRoots || [...changed].some((path) => path.startsWith(root));
  }

  /** Where a symbol is defined; of one without a definition, where those are that stand for it. */
  #definitions(document: PreciseDocument, symbol: number): Hit[] {
    if (isLocal(symbol)) return [...occurrencesWith(document, symbol, true)].map((at) => ({ document, at }));
    const hits = [...this.#hits(symbol, true, undefined)];
    if (hits.length > 0) return hits;
    return this.#related(symbol, relationFlags.definition, false).flatMap((other) => [
      ...this.#hits(other, true, undefined),
    ]);
  }

  /** At most one more than are shown, those of the document first. */
  #occurrences(document: PreciseDocument, symbols: readonly number[]): Hit[] {
    const hits: Hit[] = [];
    for (const symbol of symbols)
      for (const at of occurrencesWith(document, symbol, false)) hits.push({ document, at });
    for (const symbol of symbols) {
      if (isLocal(symbol)) continue;
      for (const hit of this.#hits(symbol, false, document.number)) {
        if (hits.length > this.#request.placesMax) return hits;
        hits.push(hit);
      }
    }
    return hits;
  }

  *#hits(symbol: number, definitionsOnly: boolean, without: number | undefined): Generator<Hit> {
    const reader = this.#reader;
    let count = 0;
    for (const { document: number, isDefinition } of reader.postings(reader.symbol(symbol))) {
      if ((definitionsOnly && !isDefinition) || number === without) continue;
      if (this.#context.stop()) throw new TrawlError("cancelled", "the look-up was stopped");
      const document = reader.document(number);
      for (const at of occurrencesWith(document, symbol, definitionsOnly)) {
        yield { document, at };
        if (++count > this.#request.placesMax) return;
      }
    }
  }

  /** The symbols that are related like this; `isInverse` undefined for both directions. */
  #related(symbol: number, flag: number, isInverse: boolean | undefined): number[] {
    if (isLocal(symbol)) return [];
    return this.#reader
      .relations(this.#reader.symbol(symbol), relationsMax)
      .filter(({ flags }) => (flags & flag) !== 0)
      .filter(({ flags }) => isInverse === undefined || isInverse === ((flags & relationFlags.inverse) !== 0))
      .map(({ symbol: other }) => other);
  }

  /** The definitions in another index of the repository, such as that of another package. */
  async #definitionElsewhere(symbols: readonly number[], nearby: readonly NearbyIndex[]) {
    const names = symbols.flatMap((symbol) => (isLocal(symbol) ? [] : (this.#reader.symbol(symbol).text.symbol ?? [])));
    for (const index of nearby.slice(0, triedMax)) {
      if (index.id === this.#index.id || names.length === 0) continue;
      const defined = await unlessUnreadable(index.id, this.#failures, async () => {
        const reader = openIndex(this.#context, index.id);
        if (reader === undefined) return undefined;
        return new Look(this.#request, this.#context, index, reader, this.#failures).#definitionsNamed(names);
      });
      if (defined !== undefined) return defined.placed;
    }
    return undefined;
  }

  /** Undefined if none of these symbols is defined here; `placed` is if all of the lines that define them have changed. */
  async #definitionsNamed(names: readonly string[]) {
    const hits = names.flatMap((name) => {
      const symbol = this.#reader.findSymbol(name);
      return symbol === undefined ? [] : [...this.#hits(symbol, true, undefined)];
    });
    if (hits.length === 0) return undefined;
    return { placed: await this.#place(hits, this.#index.root, this.#texts, this.#reader) };
  }

  /** The places of hits in the commit that was asked about. Undefined if all of them are in lines that have changed. */
  async #place(hits: readonly Hit[], root: string, texts: CommitTexts, reader: PreciseIndexReader) {
    const { placesMax } = this.#request;
    const byDocument = new Map<PreciseDocument, number[]>();
    for (const { document, at } of hits.slice(0, placesMax)) {
      const known = byDocument.get(document);
      if (known === undefined) byDocument.set(document, [at]);
      else if (!known.includes(at)) known.push(at);
    }
    const paths = new Map([...byDocument.keys()].map((document) => [root + reader.path(document.number), document]));
    const maps = await texts.lineMaps([...paths.keys()]);
    const files = new Map<string, PreciseFile>();
    let placeCount = 0;
    let isCut: boolean = hits.length > placesMax;
    await texts.readTexts([...paths.keys()], (path, { lines, language }) => {
      const document = paths.get(path);
      const map = maps.get(path);
      const places = (document === undefined ? [] : (byDocument.get(document) ?? [])).flatMap((at) => {
        const range = document === undefined || map === undefined ? undefined : newRange(document, at, map);
        return range === undefined ? [] : [showPlace(lines, range)];
      });
      placeCount += places.length;
      if (places.length > 0) files.set(path, { path, language, places });
    });
    const wanted = [...byDocument.values()].reduce((sum, { length }) => sum + length, 0);
    isCut ||= placeCount < wanted;
    if (wanted > 0 && placeCount === 0) return undefined;
    // In the order in which they were found, that of the file itself first.
    const ordered = [...paths.keys()].flatMap((path) => files.get(path) ?? []);
    return { files: ordered, placeCount, limitHit: isCut };
  }
}

function occurrenceAt(
  document: PreciseDocument,
  { line, character }: { readonly line: number; readonly character: number },
  map: LineMap,
): number[] {
  const oldLine = map.toOld(line);
  return oldLine === undefined ? [] : occurrencesAt(document, oldLine, character);
}

/** The occurrences whose text is this name. */
function occurrencesNamed(document: PreciseDocument, name: string, lines: LinePositions, map: LineMap): number[] {
  const found: number[] = [];
  for (let i = 0; i < document.count; i++) {
    const range = document.startLines[i] === document.endLines[i] ? newRange(document, i, map) : undefined;
    if (range !== undefined && textOfRange(lines, range) === name) found.push(i);
  }
  return found;
}

/** Where an occurrence is in the other text; undefined if a line of it has changed. */
function newRange(document: PreciseDocument, at: number, map: LineMap): PreciseRange | undefined {
  const [startLine, endLine] = [map.toNew(document.startLines[at]), map.toNew(document.endLines[at])];
  if (startLine === undefined || endLine === undefined) return undefined;
  return {
    start: { line: startLine, character: document.startCharacters[at] },
    end: { line: endLine, character: document.endCharacters[at] },
  };
}

function textOfRange(lines: LinePositions, { start, end }: PreciseRange): string {
  if (start.line !== end.line || start.line >= lines.lineCount) return "";
  return lines.slice(start.line, start.character, end.character);
}

function showPlace(lines: LinePositions, range: PreciseRange): PrecisePlace {
  const { line, character } = range.start;
  if (line >= lines.lineCount) return { range, preview: "", previewStart: 0 };
  const isShort = lines.line(line).length <= previewLengthMax;
  const previewStart = isShort ? 0 : Math.max(0, character - previewLengthMax / 3);
  return { range, preview: lines.slice(line, previewStart, previewStart + previewLengthMax), previewStart };
}

/** Some indexers have no field for the signature: they put it into a block of code at the top of the documentation. */
function describe({ kind = 0, symbol = "", signature = "", documentation = [] }: SymbolText): AboutSymbol {
  const [first = "", ...others] = documentation;
  const fence = /^```[^\n`]*\n/.exec(first);
  const end = fence === null ? -1 : first.indexOf("\n```", fence[0].length - 1);
  if (signature !== "" || fence === null || end < 0)
    return { kind: shownKind(kind, symbol, signature), signature, documentation: documentation.join("\n\n").trim() };
  const rest = first.slice(end + 4);
  const code = first.slice(fence[0].length, end).trim();
  return {
    kind: shownKind(kind, symbol, code),
    signature: code,
    documentation: [rest, ...others].join("\n\n").trim(),
  };
}
