import { assert } from "../../base/assert.js";
import { findFoldedCharacters } from "../../base/ascii-folding.js";
import { TrawlError } from "../../base/errors.js";
import type { Kernel } from "../../native/kernel/kernel.js";
import {
  keptRangesMax,
  keptWordCount,
  leafFlags,
  type RankedSections,
  type RankedSymbols,
  type RankOutput,
  rangesUnknown,
  rankOutcomes,
  rankTotalCount,
  rankTotals,
  type WordQuery,
} from "../../native/kernel/ranking-kernel.js";
import type { ControlBlock, StopCheck } from "../../protocol/control-block.js";
import {
  type BestDocuments,
  compareOrigins,
  type RankBudget,
  type RankedDocument,
  type RankedOrigin,
} from "../../protocol/rank-messages.js";
import { defaultCommitSeconds, type RepositorySummary } from "../../protocol/repository-summaries.js";
import { noStats, type SearchOptions } from "../../protocol/search-options.js";
import { type Leaf, requiredLiterals, type TextNode, type TextPlan, trigramBytes } from "../../query/plan/plan.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import { nameTexts } from "../../shard/symbols/name-texts.js";
import type { SymbolReader } from "../../shard/symbols/symbol-reader.js";
import { FileFilters } from "../match/file-filters.js";
import { findPathTrigrams, holdsFoldException } from "../match/path-match.js";
import { lineMatchCountMax } from "../match/rows.js";
import { type RankedRepository, SearchedRevisions } from "../match/searched-revisions.js";
import { bitsMax, findNameKeys, findWords } from "./query-words.js";
import { kindFactor } from "./score.js";
import {
  countedDocumentsMax,
  countedRowsMax,
  dependsOnRanges,
  type RankedTarget,
  type ShardBest,
} from "./shard-ranking.js";

/**
 * Of a shard, so much text is scanned, in some milliseconds, for the contents that are not chosen: a further search of the shard
 * would scan it too.
 */
const othersBytesMax = 16 * 1024 * 1024;

/** More characters that fold into ASCII in a shard: queries for letters that they match go the general way. */
const foldPlacesMax = 4096;

/** What a thread keeps of a search that `rankWords` can rank. */
export interface WordSearch {
  readonly query: WordQuery;
  readonly text: TextPlan;
  /** Whether a character beyond ASCII matches a letter of the query. */
  readonly reachesFurther: boolean;
  readonly inPath: boolean;
}

/**
 * The query as the kernel ranks it; undefined if it is for anything but documents that have all of some literals, in texts
 * of which the posting lists name candidates.
 */
export function findWordSearch(options: SearchOptions, kernel: Kernel): WordSearch | undefined {
  const { plan, people, commitSets, useIndex } = options;
  const text = plan.basicQueries.length === 1 ? plan.basicQueries[0].text : undefined;
  if (kernel.rankShard === undefined || people !== undefined || commitSets !== undefined || !useIndex) return undefined;
  if (text?.pattern === undefined || text.symbols !== undefined || text.people.length > 0) return undefined;
  const leaves = findLeaves(text.pattern, text.leaves);
  if (leaves === undefined || leaves.length > bitsMax) return undefined;
  const literals: Buffer[] = [];
  for (const leaf of leaves) {
    const literal = findLiteral(leaf);
    if (literal === undefined) return undefined;
    literals.push(literal);
  }
  return {
    query: packQuery(text, leaves, literals),
    text,
    reachesFurther: leaves.some((leaf) => requiredLiterals(leaf).foldsOutsideAscii),
    inPath: leaves.some(({ inPath }) => inPath),
  };
}

/** The leaves of which a document must have all; undefined for another condition. */
function findLeaves(node: TextNode, leaves: readonly Leaf[]): readonly Leaf[] | undefined {
  if (node.kind === "leaf") return [leaves[node.leaf]];
  if (node.kind !== "and") return undefined;
  const found: Leaf[] = [];
  for (const child of node.children) {
    if (child.kind !== "leaf") return undefined;
    found.push(leaves[child.leaf]);
  }
  return found;
}

function findLiteral(leaf: Leaf): Buffer | undefined {
  if (leaf.set !== undefined || leaf.either.length > 0 || !leaf.highlighted || !leaf.inContent) return undefined;
  if (leaf.analysis.literal === undefined) return undefined;
  const { exact } = requiredLiterals(leaf);
  if (exact?.length !== 1 || exact[0].length < trigramBytes || exact[0].includes(0)) return undefined;
  return exact[0];
}

function packQuery(text: TextPlan, leaves: readonly Leaf[], literals: readonly Buffer[]): WordQuery {
  const words = findWords([text]);
  const pieces: Buffer[] = [];
  let at = 0;
  const add = (piece: Buffer): readonly [from: number, length: number] => {
    pieces.push(piece);
    at += piece.length;
    return [at - piece.length, piece.length];
  };
  const names = findNameKeys(words);
  const numbers = [leaves.length, words.words.length, names.length, words.count];
  leaves.forEach((leaf, i) => {
    const { foldsOutsideAscii } = requiredLiterals(leaf);
    numbers.push(
      ...add(literals[i]),
      (leaf.foldCase ? leafFlags.fold : 0) |
        (leaf.inPath ? leafFlags.inPath : 0) |
        (foldsOutsideAscii ? leafFlags.reachesFurther : 0),
    );
  });
  for (const word of words.words)
    numbers.push(
      ...add(Buffer.from(word.text, "latin1")),
      ...add(Buffer.from(word.typed, "latin1")),
      word.bits,
      word.letterCount,
    );
  for (const { key, wordCount } of names) numbers.push(key, Number(wordCount === words.typed.length));
  return { text: Buffer.concat(pieces), words: Uint32Array.from(numbers) };
}

/** What ranks one shard in a thread. */
export interface WordRanker {
  readonly search: WordSearch;
  readonly options: SearchOptions;
  readonly budget: RankBudget;
  readonly kernel: Kernel;
  readonly control: ControlBlock;
  readonly stop: StopCheck;
}

/**
 * Ranks a shard as `ShardRanking` does, in one call of the kernel. Undefined if something in the shard needs the general
 * way. Throws `cancelled` if the search is stopped. `others` tells which scores can be among the first of all shards.
 */
export function rankWords(
  target: RankedTarget,
  { search, options, budget, kernel, control, stop }: WordRanker,
  others: Pick<BestDocuments, "scoreMin">,
  othersBytes = othersBytesMax,
): ShardBest | undefined {
  const { reader, symbols, visibility } = target;
  const { text, reachesFurther, inPath } = search;
  if (kernel.rankShard === undefined || !reader.hasPostings) return undefined;
  const revisions = new SearchedRevisions(reader, visibility, options.selections[0]);
  const repositories = revisions.searchedRepositories();
  if (repositories?.every(({ branches }) => branches === 0) !== false) return undefined;
  const filters = new FileFilters(text.fileFilters, reader, kernel, stop);
  if (filters.hasHighlights) return undefined;
  target.checkContent();
  const { pathsReachFurther, sections } = findSections(reader);
  if (reachesFurther && (sections.foldPlaces.length > 2 * foldPlacesMax || (inPath && pathsReachFurther)))
    return undefined;
  const keepsRanges = dependsOnRanges(options, reader);
  const output = makeOutput(budget);
  const outcome = kernel.rankShard({
    sections,
    view: {
      tombstones: visibility.tombstones ?? noWords,
      repositories: orderRepositories(repositories),
      verdicts: filters.verdicts() ?? noBytes,
    },
    symbols: symbols === undefined ? noSymbols : findSymbols(symbols),
    query: search.query,
    limits: {
      contents: budget.contents,
      bytes: budget.cheapBytes,
      keptDocuments: budget.keptDocuments,
      keptMatches: budget.keptMatches,
      countedRowsMax: countedRowsMax(options),
      fullRowsMax: lineMatchCountMax(options.chunkMatches),
      listsFound: keepsRanges && options.displayCountMax < options.matchCountMax,
      keepsRanges,
      scoreMin: others.scoreMin,
      rankedMatches: budget.rankedMatches,
      countedMatches: budget.countedMatches,
      othersBytes,
    },
    stop: control.memory,
    sharedMatches: control.rankedMatches,
    output,
  });
  if (outcome === rankOutcomes.stopped) throw new TrawlError("cancelled", "the search was stopped");
  return outcome === rankOutcomes.done ? readOutput(target, repositories, output) : undefined;
}

const noBytes = new Uint8Array(0);
const noWords = new Uint32Array(0);

/** What ranking reads of a reader in each search. */
interface KnownSections {
  readonly sections: RankedSections;
  /** Whether some path has a character that folds into ASCII from outside ASCII. */
  readonly pathsReachFurther: boolean;
}

/** Valid as long as the readers: their bytes do not change. */
const known = new WeakMap<ShardReader, KnownSections>();

/** Caller guarantees: the content of the shard is checked. */
function findSections(reader: ShardReader): KnownSections {
  const found = known.get(reader);
  if (found !== undefined && found.sections.pathTrigrams.length > 0) return found;
  const trigrams = findPathTrigrams(reader);
  const { content, contentStart, contentFirstUnit, contentFirstDocument, contentCount } = reader;
  const { documentRepository, documentBranches, documentInfo, pathStart, paths } = reader;
  const { keys, postingStart, postings, foldExceptions } = reader;
  const sections: RankedSections = {
    content,
    contentStart,
    contentFirstUnit,
    contentFirstDocument,
    documentRepository,
    documentBranches,
    documentInfo,
    pathStart,
    paths,
    keys,
    postingStart,
    postings,
    pathTrigrams: trigrams?.bits ?? noWords,
    foldExceptions,
    foldPlaces: found?.sections.foldPlaces ?? findFoldPlaces(reader),
    groups: found?.sections.groups ?? new Uint8Array(contentCount + 1),
  };
  const made = { sections, pathsReachFurther: trigrams?.hasFoldException ?? holdsFoldException(paths) };
  known.set(reader, made);
  return made;
}

/** Stops when there are too many. */
function findFoldPlaces({ content, contentStart, contentCount, foldExceptions }: ShardReader): Uint32Array {
  const places: number[] = [];
  for (const number of foldExceptions) {
    if (number >= contentCount) continue;
    for (const at of findFoldedCharacters(content, contentStart[number], contentStart[number + 1])) {
      places.push(number, at);
      if (places.length > 2 * foldPlacesMax) return Uint32Array.from(places);
    }
  }
  return Uint32Array.from(places);
}

const knownSymbols = new WeakMap<SymbolReader, RankedSymbols>();

function findSymbols(symbols: SymbolReader): RankedSymbols {
  let found = knownSymbols.get(symbols);
  if (found === undefined) knownSymbols.set(symbols, (found = listSymbols(symbols)));
  return found;
}

function listSymbols(symbols: SymbolReader): RankedSymbols {
  const { parts, recordStarts, records, nameKeys, keys, postingStart, postings, foldExceptions, hasPostings } = symbols;
  return {
    areKnown: true,
    havePostings: hasPostings,
    contents: parts.contents,
    firstDocuments: parts.firstDocuments,
    firstUnits: nameTexts(symbols).contentFirstUnit,
    recordStarts,
    keys,
    postingStart,
    postings,
    foldExceptions,
    nameKeys: nameKeys.keys,
    nameParts: nameKeys.parts,
    records,
    kindFactors: Float64Array.from([...symbols.kinds, ""], kindFactor),
  };
}

const noSymbols: RankedSymbols = {
  areKnown: false,
  havePostings: false,
  contents: noWords,
  firstDocuments: noWords,
  firstUnits: new Uint32Array(1),
  recordStarts: new Uint32Array(1),
  keys: noWords,
  postingStart: new Uint32Array(1),
  postings: noBytes,
  foldExceptions: noWords,
  nameKeys: noWords,
  nameParts: noWords,
  records: noBytes,
  kindFactors: new Float64Array(1),
};

/** By repository: what is searched of it, and its place in the order of results with equal scores, which is the same for equal ones. */
function orderRepositories(repositories: readonly RankedRepository[]): Uint32Array {
  const words = new Uint32Array(2 * repositories.length);
  const order = [...repositories.keys()];
  if (order.length > 1) order.sort((a, b) => compareRepositories(repositories[a], repositories[b]));
  order.forEach((number, place) => {
    words[2 * number] = repositories[number].branches;
    words[2 * number + 1] = place;
  });
  return words;
}

function compareRepositories({ summary: a }: RankedRepository, { summary: b }: RankedRepository): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return compareOrigins(describeOrigin(a), describeOrigin(b));
}

function describeOrigin(summary: RepositorySummary): RankedOrigin {
  return { stars: summary.stars, committedSeconds: defaultCommitSeconds(summary), repository: summary.name };
}

/** Of a thread; made when they are first needed, for so many documents. */
let outputs: RankOutput | undefined;

function makeOutput({ keptDocuments }: RankBudget): RankOutput {
  const keptLength = keptDocuments * (keptWordCount + 2 * keptRangesMax);
  if (outputs === undefined || outputs.kept.length < keptLength)
    outputs = {
      kept: new Uint32Array(keptLength),
      found: new Uint32Array(2 * countedDocumentsMax),
      totals: new Uint32Array(rankTotalCount),
    };
  return outputs;
}

function readOutput(
  { reader, shard }: RankedTarget,
  repositories: readonly RankedRepository[],
  { kept, found, totals }: RankOutput,
): ShardBest {
  const stats = noStats();
  const candidateCount = totals[rankTotals.candidateCount];
  stats.shardsSearched = 1;
  stats.shardsRuledOut = Number(candidateCount === 0);
  stats.candidateContents = candidateCount;
  stats.postingBytes = totals[rankTotals.postingBytes];
  stats.scannedBytes = totals[rankTotals.scannedBytes];
  stats.documentsFiltered = totals[rankTotals.filteredCount];
  stats.documentsMatched = totals[rankTotals.matchedCount];
  const best: RankedDocument[] = [];
  let at = 0;
  for (let i = 0; i < totals[rankTotals.keptCount]; i++) {
    const [document, score, matchCount, rowCount, pathRowCount] = kept.subarray(at, at + keptWordCount);
    const length = rowCount === rangesUnknown ? 0 : 2 * (rowCount + pathRowCount);
    assert(document < reader.documentCount, "a document that was ranked is one of the shard");
    const { summary } = repositories[reader.documentRepository[document]];
    assert(summary !== undefined, "a document that was ranked is of a searched repository");
    best.push({
      shard,
      document,
      score,
      matchCount,
      parts: undefined,
      ...describeOrigin(summary),
      path: reader.path(document).toString("latin1"),
      ranges: rowCount === rangesUnknown ? undefined : kept.slice(at + keptWordCount - 2, at + keptWordCount + length),
    });
    at += keptWordCount + length;
  }
  assert(at === totals[rankTotals.keptWords], "all that the kernel has written is read");
  const isWhole = totals[rankTotals.isComplete] === 1;
  return {
    shard,
    isComplete: isWhole && totals[rankTotals.foundCount] === best.length,
    keptCount: best.length,
    best,
    found: totals[rankTotals.isListed] === 1 ? found.slice(0, 2 * totals[rankTotals.listedCount]) : undefined,
    isWhole,
    stats,
  };
}
