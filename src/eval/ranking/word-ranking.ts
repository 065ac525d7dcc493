import { assert } from "../../base/assert.js";
import { findFoldedCharacters } from "../../base/ascii-folding.js";
import { TrawlError } from "../../base/errors.js";
import type { Kernel } from "../../native/kernel/kernel.js";
import {
  keptRangesMax,
  keptWordCount,
  leafFlags,
  type ListedShard,
  listShard,
  type OpenRanked,
  type RankedSections,
  type RankedSymbols,
  type RankOutput,
  rangesUnknown,
  rankOutcomes,
  rankTotalCount,
  rankTotals,
  type ShardList,
  unopenedShard,
  type WordQuery,
} from "../../native/kernel/ranking-kernel.js";
import type { ControlBlock, StopCheck } from "../../protocol/control-block.js";
import { rangesInPath } from "../../protocol/messages.js";
import {
  type BestDocuments,
  compareOrigins,
  type RankBudget,
  type RankedDocument,
  type RankedOrigin,
} from "../../protocol/rank-messages.js";
import { defaultCommitSeconds, type RepositorySummary } from "../../protocol/repository-summaries.js";
import { noStats, type SearchOptions } from "../../protocol/search-options.js";
import {
  type FileFilter,
  type Leaf,
  type PathFilter,
  requiredLiterals,
  type TextNode,
  type TextPlan,
  trigramBytes,
} from "../../query/plan/plan.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import { nameTexts } from "../../shard/symbols/name-texts.js";
import type { SymbolReader } from "../../shard/symbols/symbol-reader.js";
import { FileFilters } from "../match/file-filters.js";
import { findPathTrigrams, holdsFoldException } from "../match/path-match.js";
import { lineMatchCountMax, Rows } from "../match/rows.js";
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
  /** Words that may also be in the path. */
  readonly pathWords: number;
}

/**
 * The query as the kernel ranks it; undefined if it is for anything but documents that have all of some literals, in texts
 * of which the posting lists name candidates.
 */
export function findWordSearch(options: SearchOptions, kernel: Kernel): WordSearch | undefined {
  const { plan, people, commitSets, useIndex } = options;
  const text = plan.basicQueries.length === 1 ? plan.basicQueries[0].text : undefined;
  if (kernel.rankShards === undefined || people !== undefined || commitSets !== undefined || !useIndex)
    return undefined;
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
    pathWords: leaves.filter(({ inPath }) => inPath).length,
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

/** What ranks shards in a thread. */
export interface WordRanker {
  readonly search: WordSearch;
  readonly options: SearchOptions;
  readonly budget: RankBudget;
  readonly kernel: Kernel;
  readonly control: ControlBlock;
  readonly stop: StopCheck;
}

/** A call of the kernel returns after about half a millisecond of work, so that its thread can yield or ask for others. */
const workMax = 2 * 1024 * 1024;

/** Shards that were ranked. */
export interface RankedList {
  readonly ranked: readonly ShardBest[];
  /** The index of a shard that was taken and is not ranked: it is not open, or needs the general way. */
  readonly left: number | undefined;
}

/**
 * The shards that one thread ranks as `ShardRanking` does, by calls of the kernel of which each takes several. They are known
 * by their place in the list.
 *
 * Contract: the bytes of the shards stay where they are.
 */
export class WordRanking {
  readonly #ranker: WordRanker;
  readonly #othersBytes: number;
  readonly #list: ShardList[number][] = [];
  readonly #shards: (RankedShardWords | undefined)[] = [];
  #forgotten = 0;

  constructor(ranker: WordRanker, othersBytes = othersBytesMax) {
    this.#ranker = ranker;
    this.#othersBytes = othersBytes;
  }

  /** Of shards in the list. */
  get count(): number {
    return this.#shards.length;
  }

  /** Whether the shard of this number is in the list. */
  has(shard: number): boolean {
    return this.#shards[shard] !== undefined;
  }

  /** Appends a shard, which is not open if it is undefined. False if something in it needs the general way. */
  add(target: RankedTarget | undefined): boolean {
    const shard = target && prepareShard(target, this.#ranker);
    this.#shards.push(shard);
    this.#list.push(...(shard === undefined ? unopenedShard : listShard(shard.listed)));
    return shard !== undefined;
  }

  /** Keeps nothing of the shards before this one, which nobody takes any more. */
  forget(before: number): void {
    for (; this.#forgotten < Math.min(before, this.count); this.#forgotten++) {
      this.#shards[this.#forgotten] = undefined;
      unopenedShard.forEach((element, i) => {
        this.#list[this.#forgotten * unopenedShard.length + i] = element;
      });
    }
  }

  /**
   * Ranks shards of the list from that of the number in `next` on, which all threads count up. Throws `cancelled` if the
   * search is stopped. `others` tells which scores can be among the first of all shards.
   */
  rank(next: Uint32Array, others: Pick<BestDocuments, "scoreMin">): RankedList {
    const { search, options, budget, kernel, control } = this.#ranker;
    const output = makeOutput(budget);
    const keepsRanges = dependsOnRanges(options);
    assert(kernel.rankShards !== undefined, "shards are listed for a kernel that ranks them");
    const count = kernel.rankShards({
      shards: this.#list,
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
        othersBytes: this.#othersBytes,
        work: workMax,
      },
      stop: control.memory,
      sharedMatches: control.rankedMatches,
      next,
      output,
    });
    if (control.isStopped) throw new TrawlError("cancelled", "the search was stopped");
    return this.#read(count, output);
  }

  #read(count: number, output: RankOutput): RankedList {
    const ranked: ShardBest[] = [];
    const read: ReadOutput = { output, totals: 1, kept: 0, found: 0 };
    for (let i = 0; i < count; i++, read.totals += rankTotalCount) {
      const shard = output.totals[read.totals + rankTotals.shard];
      if (output.totals[read.totals + rankTotals.outcome] !== rankOutcomes.done) return { ranked, left: shard };
      const known = this.#shards[shard];
      assert(known !== undefined, "a shard that was ranked is in the list");
      ranked.push(readShard(known, read));
    }
    return { ranked, left: undefined };
  }
}

/** Ranks one shard. Undefined if something in it needs the general way. Throws `cancelled` if the search is stopped. */
export function rankWords(
  target: RankedTarget,
  ranker: WordRanker,
  others: Pick<BestDocuments, "scoreMin">,
  othersBytes?: number,
): ShardBest | undefined {
  const ranking = new WordRanking(ranker, othersBytes);
  return ranking.add(target) ? ranking.rank(new Uint32Array(1), others).ranked.at(0) : undefined;
}

/** A shard of the list, and what its documents are of. */
interface RankedShardWords {
  readonly target: RankedTarget;
  readonly repositories: readonly RankedRepository[];
  /** Filters of which each document has ranges in its path, in addition to those that the kernel finds; undefined if there are none. */
  readonly highlights: FileFilters | undefined;
  readonly listed: ListedShard;
}

/** Undefined if something in the shard needs the general way. */
function prepareShard(
  target: RankedTarget,
  { search, options, kernel, stop }: WordRanker,
): RankedShardWords | undefined {
  const { reader, symbols, visibility } = target;
  const { text, reachesFurther, pathWords } = search;
  if (kernel.openRanked === undefined || !reader.hasPostings) return undefined;
  const revisions = new SearchedRevisions(reader, visibility, options.selections[0]);
  const repositories = revisions.searchedRepositories();
  if (repositories?.every(({ branches }) => branches === 0) !== false) return undefined;
  const filters = text.fileFilters.length === 0 ? undefined : new FileFilters(text.fileFilters, reader, kernel, stop);
  const highlights = filters?.hasHighlights === true ? filters : undefined;
  if (highlights !== undefined && !(highlightsAll(search) && highlights.areRepeated())) return undefined;
  target.checkContent();
  const { pathsReachFurther, sections } = findSections(reader);
  if (reachesFurther && (sections.foldPlaces.length > 2 * foldPlacesMax || (pathWords > 0 && pathsReachFurther)))
    return undefined;
  const listed = {
    opened: openShard(reader, sections, symbols === undefined ? noSymbols : findSymbols(symbols), kernel.openRanked),
    tombstones: visibility.tombstones ?? noWords,
    repositories: orderRepositories(repositories),
    verdicts: filters?.verdicts() ?? noBytes,
  };
  return { target, repositories, highlights, listed };
}

/**
 * Whether each document that passes the filters has a range of them in its path, and those of words can be added without a
 * search: ranges of one word do not overlap.
 */
function highlightsAll({ text, pathWords }: WordSearch): boolean {
  return pathWords <= 1 && text.fileFilters.some((filter) => isHighlighted(filter) && !filter.analysis.matchesEmpty);
}

function isHighlighted(filter: FileFilter): filter is PathFilter {
  return filter.kind === "path" && filter.highlighted && !filter.negated;
}

type OpenFunction = NonNullable<Kernel["openRanked"]>;

/** Valid as long as the readers. */
const openShards = new WeakMap<
  ShardReader,
  {
    readonly open: OpenFunction;
    readonly sections: RankedSections;
    readonly symbols: RankedSymbols;
    readonly opened: OpenRanked;
  }
>();

function openShard(
  reader: ShardReader,
  sections: RankedSections,
  symbols: RankedSymbols,
  open: OpenFunction,
): OpenRanked {
  let known = openShards.get(reader);
  if (known?.sections !== sections || known.symbols !== symbols || known.open !== open)
    openShards.set(reader, (known = { open, sections, symbols, opened: open(sections, symbols) }));
  return known.opened;
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
  if (repositories.length === 1) return Uint32Array.of(repositories[0].branches, 0);
  const words = new Uint32Array(2 * repositories.length);
  const order = [...repositories.keys()];
  order.sort((a, b) => compareRepositories(repositories[a], repositories[b]));
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

/** Of a thread; made when they are first needed, for what so many shards have at most. Pages take memory when they are used. */
const outputShards = 4;
let outputs: RankOutput | undefined;

/** Shards of which one call can tell what it has found. */
export const listedShardsMax = 64;

function makeOutput({ keptDocuments }: RankBudget): RankOutput {
  const keptLength = outputShards * keptDocuments * (keptWordCount + 2 * keptRangesMax);
  if (outputs === undefined || outputs.kept.length < keptLength)
    outputs = {
      kept: new Uint32Array(keptLength),
      found: new Uint32Array(outputShards * 2 * countedDocumentsMax),
      totals: new Uint32Array(1 + listedShardsMax * rankTotalCount),
    };
  return outputs;
}

/** The output of a call, and where that of the next shard begins in each of its arrays. */
interface ReadOutput {
  readonly output: RankOutput;
  totals: number;
  kept: number;
  found: number;
}

function readShard(ranked: RankedShardWords, read: ReadOutput): ShardBest {
  const { shard } = ranked.target;
  const { kept, totals: words } = read.output;
  const first = read.totals;
  const candidateCount = words[first + rankTotals.candidateCount];
  const stats = noStats();
  stats.shardsSearched = 1;
  stats.shardsRuledOut = Number(candidateCount === 0);
  stats.candidateContents = candidateCount;
  stats.postingBytes = words[first + rankTotals.postingBytes];
  stats.scannedBytes = words[first + rankTotals.scannedBytes];
  stats.documentsFiltered = words[first + rankTotals.filteredCount];
  stats.documentsMatched = words[first + rankTotals.matchedCount];
  const best: RankedDocument[] = [];
  const keptCount = words[first + rankTotals.keptCount];
  let at = read.kept;
  for (let i = 0; i < keptCount; i++) {
    const rowCount = kept[at + 3];
    const length = rowCount === rangesUnknown ? 0 : 2 * (rowCount + kept[at + 4]);
    // Others of this call may be better than all that are kept.
    if (kept[at + 1] >= words[0]) best.push(readDocument(ranked, kept.subarray(at, at + keptWordCount + length)));
    at += keptWordCount + length;
  }
  assert(at === read.kept + words[first + rankTotals.keptWords], "all that the kernel has written is read");
  read.kept = at;
  const isWhole = words[first + rankTotals.isComplete] === 1;
  return {
    shard,
    isComplete: isWhole && words[first + rankTotals.foundCount] === keptCount,
    keptCount,
    best,
    found: words[first + rankTotals.isListed] === 1 ? readFound(ranked, read) : undefined,
    isWhole,
    stats,
  };
}

function readDocument({ target, repositories, highlights }: RankedShardWords, words: Uint32Array): RankedDocument {
  const { reader, shard } = target;
  const [document, score, matchCount, rowCount] = words;
  assert(document < reader.documentCount, "a document that was ranked is one of the shard");
  const { summary } = repositories[reader.documentRepository[document]];
  assert(summary !== undefined, "a document that was ranked is of a searched repository");
  // Copied, because V8 defines properties after a spread in a slow way.
  const { repository, stars, committedSeconds } = describeOrigin(summary);
  return {
    shard,
    document,
    score,
    matchCount,
    parts: undefined,
    stars,
    committedSeconds,
    repository,
    path: reader.path(document).toString("latin1"),
    ranges:
      rowCount === rangesUnknown ? undefined : readRanges(highlights, document, words.subarray(keptWordCount - 2)),
  };
}

/** Reused for each document of a thread. */
const pathRows = new Rows(64);

/** A copy of the ranges of a document, with those that are highlighted in its path; undefined if these are too many. */
function readRanges(
  highlights: FileFilters | undefined,
  document: number,
  ranges: Uint32Array,
): Uint32Array | undefined {
  if (highlights === undefined) return ranges.slice();
  const [rowCount, pathRowCount] = ranges;
  const pathFrom = 2 + 2 * rowCount;
  pathRows.clear();
  pathRows.append(ranges.subarray(pathFrom), 0, pathRowCount);
  highlights.addRows(document, pathRows);
  pathRows.makeDisjoint(0);
  if (rowCount + pathRows.count > keptRangesMax) return undefined;
  const all = new Uint32Array(pathFrom + 2 * pathRows.count);
  all.set(ranges.subarray(0, pathFrom));
  all[1] = pathRows.count;
  all.set(pathRows.words.subarray(0, 2 * pathRows.count), pathFrom);
  return all;
}

function readFound({ highlights }: RankedShardWords, read: ReadOutput): Uint32Array {
  const from = read.found;
  read.found += 2 * read.output.totals[read.totals + rankTotals.listedCount];
  const found = read.output.found.slice(from, read.found);
  if (highlights !== undefined)
    for (let i = 1; i < found.length; i += 2) found[i] = rangesInPath + (found[i] % rangesInPath);
  return found;
}
