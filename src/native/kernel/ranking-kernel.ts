/**
 * The sections of a shard that ranking reads, in the order of `shardAt` in ranking-binding.cc. Most of them are those of a
 * `ShardReader`.
 */
export interface RankedSections {
  readonly content: Uint8Array;
  readonly contentStart: Uint32Array;
  readonly contentFirstUnit: Uint32Array;
  readonly contentFirstDocument: Uint32Array;
  readonly documentRepository: Uint32Array;
  readonly documentBranches: Uint32Array;
  readonly documentInfo: Uint32Array;
  readonly pathStart: Uint32Array;
  readonly paths: Uint8Array;
  readonly keys: Uint32Array;
  readonly postingStart: Uint32Array;
  readonly postings: Uint8Array;
  /** The bits of `PathTrigrams`; empty if they are not known. */
  readonly pathTrigrams: Uint32Array;
  /** Contents with a character that folds into ASCII from outside ASCII. */
  readonly foldExceptions: Uint32Array;
  /** Pairs: one of these contents, and where such a character is in the text. */
  readonly foldPlaces: Uint32Array;
  /** By content, and for the number after the last one: its group plus 1; 0 before it is computed, which the kernel does. */
  readonly groups: Uint8Array;
}

/** What a search sees of a shard. */
export interface RankedView {
  readonly tombstones: Uint32Array;
  /** Two words for each repository: the branches that are searched, as a mask, and its place in the order of results. */
  readonly repositories: Uint32Array;
  /** By document: 1 if it passes the filters. Empty without filters. */
  readonly verdicts: Uint8Array;
}

/** The symbols of a shard, in the order of `symbolsAt`. Those of a `SymbolReader`, with `firstUnits` by part. */
export interface RankedSymbols {
  readonly areKnown: boolean;
  readonly havePostings: boolean;
  readonly contents: Uint32Array;
  readonly firstDocuments: Uint32Array;
  readonly firstUnits: Uint32Array;
  readonly recordStarts: Uint32Array;
  readonly keys: Uint32Array;
  readonly postingStart: Uint32Array;
  readonly postings: Uint8Array;
  readonly foldExceptions: Uint32Array;
  /** Pairs of arrays, sorted by key: see `NameKeys`. */
  readonly nameKeys: Uint32Array;
  readonly nameParts: Uint32Array;
  readonly records: Uint8Array;
  /** By kind; the last one is that of other kinds. */
  readonly kindFactors: Float64Array;
}

/** A query for documents that have all of some literals of three bytes or more. */
export interface WordQuery {
  /** The bytes to which `words` refers. */
  readonly text: Uint8Array;
  /**
   * Numbers of leaves, words and names, and of bits of the words. Then for each leaf where its literal begins in the text,
   * its length, and `leafFlags`; for each word the same of its lower case and as typed, its bits and the number of its
   * letters; for each name its key, and 1 if it consists of all words.
   */
  readonly words: Uint32Array;
}

/** Flags of a leaf of a `WordQuery`. */
export const leafFlags = { fold: 1, inPath: 2, reachesFurther: 4 } as const;

/** The words of `limits`. */
export interface RankLimits {
  readonly contents: number;
  readonly bytes: number;
  readonly keptDocuments: number;
  readonly keptMatches: number;
  /** A document with more rows counts no matches; undefined if none does. */
  readonly countedRowsMax: number | undefined;
  /** If a document has more rows, `found` lists nothing. */
  readonly fullRowsMax: number;
  readonly listsFound: boolean;
  readonly keepsRanges: boolean;
  /** Lower scores are not wanted. */
  readonly scoreMin: number;
  /** As in `RankBudget`. */
  readonly rankedMatches: number;
  readonly countedMatches: number;
  /** So much text is scanned for what was not chosen; 0 for none. */
  readonly othersBytes: number;
  /** A call ranks no further shard when it has read so many bytes, where a candidate counts as 2,048. */
  readonly work: number;
}

/**
 * How the ranking of a shard ended. If it is `refused`, something needs the general way, and what is in the output of it is
 * unspecified.
 */
export const rankOutcomes = { done: 0, refused: 1, stopped: 2, notOpen: 3 } as const;

/** Indexes of the words that `totals` has for each shard, after a first word: no lower score is among the best of all of them. */
export const rankTotals = {
  /** Its index in the list. */
  shard: 0,
  outcome: 1,
  candidateCount: 2,
  isComplete: 3,
  foundCount: 4,
  keptCount: 5,
  listedCount: 6,
  filteredCount: 7,
  matchedCount: 8,
  postingBytes: 9,
  scannedBytes: 10,
  isListed: 11,
  keptWords: 12,
} as const;

export const rankTotalCount = 13;

/** Words of a kept document before its rows: document, score, matches, and the numbers of rows in its text and its path. */
export const keptWordCount = 5;

/** The ranges of a document with more are found again when it is written: its number of rows is `rangesUnknown` then. */
export const keptRangesMax = 512;

/** A number of rows of a kept document. */
export const rangesUnknown = 0xffff_ffff;

/** What `rankShards` writes to, for one shard after the other. */
export interface RankOutput {
  /** Room for `keptDocuments` with `keptRangesMax` ranges each. */
  readonly kept: Uint32Array;
  /** Pairs: a document, and its number of rows in the text, with `rangesInPath` of messages.ts if its path has some. */
  readonly found: Uint32Array;
  readonly totals: Uint32Array;
}

/** Memory of the addon, which keeps the arrays of a shard alive, and is freed when it is no longer referenced. */
export type OpenRanked = object;

/** A shard and what a search sees of it. */
export interface ListedShard extends RankedView {
  readonly opened: OpenRanked;
}

/** For each shard its `ListedShard`, in the order of its members; `undefined` for one that is not open. */
export type ShardList = readonly (OpenRanked | Uint32Array | Uint8Array | undefined)[];

export function listShard({ opened, tombstones, repositories, verdicts }: ListedShard): ShardList {
  return [opened, tombstones, repositories, verdicts];
}

export const unopenedShard: ShardList = [undefined, undefined, undefined, undefined];

export interface RankRequest {
  readonly shards: ShardList;
  readonly query: WordQuery;
  readonly limits: RankLimits;
  /** Its first word is not zero if the search is stopped. */
  readonly stop: Int32Array;
  /** One number in shared memory: how many matches are listed in all shards of the search. */
  readonly sharedMatches: Uint32Array;
  /** One number in shared memory: the index of the next shard of the list that nobody has taken. */
  readonly next: Uint32Array;
  readonly output: RankOutput;
}

export interface RankingKernel {
  /** Opens a shard for ranking. What is in the arrays may change, but not where they are. Undefined if the kernel cannot. */
  readonly openRanked: ((sections: RankedSections, symbols: RankedSymbols) => OpenRanked) | undefined;
  /**
   * Takes shards of the list until none is left, and ranks the documents of each as `ShardRanking` does, for a query of words
   * only; then lists what is left, until as many matches are listed of all shards as are counted. Returns for how many shards
   * there are totals. It ends early when the search is stopped, after the limit of work, when there is no room for what
   * another shard may have, and after a shard that is not done. Undefined if the kernel cannot.
   */
  readonly rankShards: ((request: RankRequest) => number) | undefined;
}

/** The arguments of the addon, in its order. */
export function openArguments(sections: RankedSections, symbols: RankedSymbols): RankArgument[] {
  return [
    sections.content,
    sections.contentStart,
    sections.contentFirstUnit,
    sections.contentFirstDocument,
    sections.documentRepository,
    sections.documentBranches,
    sections.documentInfo,
    sections.pathStart,
    sections.paths,
    sections.keys,
    sections.postingStart,
    sections.postings,
    sections.pathTrigrams,
    sections.foldExceptions,
    sections.foldPlaces,
    sections.groups,
    symbols.areKnown,
    symbols.havePostings,
    symbols.contents,
    symbols.firstDocuments,
    symbols.firstUnits,
    symbols.recordStarts,
    symbols.keys,
    symbols.postingStart,
    symbols.postings,
    symbols.foldExceptions,
    symbols.nameKeys,
    symbols.nameParts,
    symbols.records,
    symbols.kindFactors,
  ];
}

/** The arguments of the addon, in its order. */
export function rankArguments(request: RankRequest): RankArgument[] {
  const { shards, query, limits, stop, sharedMatches, next, output } = request;
  return [
    shards,
    query.text,
    query.words,
    packLimits(limits),
    [stop],
    sharedMatches,
    next,
    output.kept,
    output.found,
    output.totals,
  ];
}

export type RankArgument = Uint8Array | Uint32Array | Float64Array | boolean | ShardList | readonly Int32Array[];

const notCounted = 0xffff_ffff;

function packLimits(limits: RankLimits): Uint32Array {
  return Uint32Array.of(
    limits.contents,
    limits.bytes,
    limits.keptDocuments,
    Math.min(limits.keptMatches, notCounted),
    limits.countedRowsMax ?? notCounted,
    limits.fullRowsMax,
    Number(limits.listsFound),
    Number(limits.keepsRanges),
    limits.scoreMin,
    limits.rankedMatches,
    Math.min(limits.countedMatches, notCounted),
    limits.othersBytes,
    limits.work,
  );
}
