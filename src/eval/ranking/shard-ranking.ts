import type { Kernel } from "../../native/kernel/kernel.js";
import { keptRangesMax } from "../../native/kernel/ranking-kernel.js";
import { type RankBudget, type RankedDocument, type RankedShard, BestDocuments } from "../../protocol/rank-messages.js";
import { defaultCommitSeconds } from "../../protocol/repository-summaries.js";
import { noStats, type SearchOptions } from "../../protocol/search-options.js";
import type { StopCheck } from "../../protocol/control-block.js";
import { rangesInPath } from "../../protocol/messages.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import { type Leaf, requiredLiterals } from "../../query/plan/plan.js";
import type { SymbolReader } from "../../shard/symbols/symbol-reader.js";
import { SymbolView } from "../../shard/symbols/symbol-view.js";
import { BasicQueryEvaluator } from "../match/basic-query-evaluator.js";
import { Blocks, addHitRows, forEachFound, type Hit, mergeRevisions } from "../match/blocks.js";
import { type ContentSet, subtract, unite, StoppableWork } from "../match/content-scan.js";
import { lineMatchCountMax, Rows } from "../match/rows.js";
import { People } from "../people/people.js";
import type { ShardVisibility } from "../match/searched-revisions.js";
import { lastAtMost } from "../../base/sorted-search.js";
import { DocumentFeatures, SymbolPlaces } from "./document-features.js";
import { chooseContents, divide, type Naming, type Tier } from "./content-choice.js";
import { weighDocument, scoreDocument } from "./score.js";
import { NameScore } from "./name-score.js";
import { findCoveringKeys, findNameKeys, findScored, findWords, lowerAscii, type QueryWords } from "./query-words.js";

const blockContentCountMax = 1024;
/** Of contents of which few may be wanted: between two blocks, ranking may find that it has enough. */
const otherContentCountMax = 128;
/** For the bound of a score: more matches do not count. */
const matchesBeyondScore = 1 << 16;
const noPath = { fileName: undefined, folders: 0 };
const blockBytesMax = 4 * 1024 * 1024;

/** The shard that is ranked. */
export interface RankedTarget {
  /** Index into the rows of the task. */
  readonly shard: number;
  readonly reader: ShardReader;
  /** Undefined if they are not known, or if the reader is a view of them. */
  readonly symbols: SymbolReader | undefined;
  readonly visibility: ShardVisibility;
  /** Called before the first content is read; throws if the content is damaged. */
  readonly checkContent: () => void;
}

/** What ranking a shard found. */
export interface ShardBest extends RankedShard {
  /** The documents that were kept, in order; if several shards were ranked together, those that are among the best of these. */
  readonly best: readonly RankedDocument[];
  /** As in `ExaminedShard`; undefined if results cannot be counted without a search. */
  readonly found: Uint32Array | undefined;
  /** Whether all results of the shard were found. */
  readonly isWhole: boolean;
}

/** Of a shard with more results, none are counted. */
export const countedDocumentsMax = 1 << 16;

/** Whether a result of texts depends on nothing but its document and the ranges in it. */
export function dependsOnRanges(options: SearchOptions): boolean {
  const { plan, people, receipt, claims, commitSets, resultLimits } = options;
  const hasOthers = plan.basicQueries.length > 1 || people !== undefined || receipt || claims !== undefined;
  return !hasOthers && commitSets === undefined && resultLimits === undefined;
}

/** The most rows of a document that count for the limit of the search; undefined if no number is known to count. */
export function countedRowsMax({ plan, claims, chunkMatches }: SearchOptions): number | undefined {
  const isWhole = claims === undefined && plan.resultOptions.every(({ select }) => select === undefined);
  // A document with more rows may have a full line, and is not sent then.
  return isWhole ? lineMatchCountMax(chunkMatches) : undefined;
}

/** Reused for each document of a thread. */
const places = new SymbolPlaces();
const rows = new Rows(4096);
const pathRows = new Rows(64);

/**
 * Finds the best results of one shard within a budget of work:
 *
 *     choose contents among the candidates, the most promising first, up to the budget
 *     decide them as a search does, until no other can be among the best
 *     go on with the other candidates, if they are found by literals, until enough matches are found
 *     score each result, and keep the best
 *
 * The result depends on the shard, the query and the budget only.
 */
export class ShardRanking {
  readonly #target: RankedTarget;
  readonly #evaluators: BasicQueryEvaluator[] = [];
  readonly #words: QueryWords;
  readonly #scored: readonly Leaf[];
  readonly #features: DocumentFeatures;
  readonly #nameScore: NameScore;
  readonly #budget: RankBudget;
  readonly #stop: StopCheck;
  readonly #stats = noStats();
  readonly #kernel: Kernel;
  readonly #best: BestDocuments;
  /** Undefined if no number of matches is known to count. */
  readonly #rowCountMax: number | undefined;
  readonly #scoreMin: number;
  readonly #lineMatchCountMax: number;
  readonly #keepsRanges: boolean;
  #found: Rows | undefined;
  #foundCount = 0;
  #matchCount = 0;
  /** Matches in chosen contents that cannot be named. */
  #uncountedMatches = 0;
  #isComplete = true;

  /** `others` are the best of other shards: lower scores than all of them have are not wanted. */
  constructor(
    target: RankedTarget,
    options: SearchOptions,
    budget: RankBudget,
    kernel: Kernel,
    stop: StopCheck,
    others: Pick<BestDocuments, "scoreMin">,
  ) {
    this.#target = target;
    this.#kernel = kernel;
    this.#scoreMin = others.scoreMin;
    this.#budget = budget;
    this.#stop = stop;
    this.#best = new BestDocuments(budget.keptDocuments, budget.keptMatches);
    this.#lineMatchCountMax = lineMatchCountMax(options.chunkMatches);
    this.#rowCountMax = countedRowsMax(options);
    this.#keepsRanges = dependsOnRanges(options) && !(target.reader instanceof SymbolView);
    // Otherwise all results are shown, which takes a search.
    const isCut = options.displayCountMax < options.matchCountMax;
    this.#found = isCut && this.#keepsRanges ? new Rows(64) : undefined;
    const people = options.people === undefined ? undefined : new People(options.people, options.plan);
    const { basicQueries } = options.plan;
    basicQueries.forEach(({ text }, i) => {
      if (text === undefined) return;
      const { reader, visibility } = target;
      const { useIndex, selections } = options;
      const bound = new BasicQueryEvaluator(text, selections[i], reader, visibility, kernel, useIndex, people, stop);
      if (bound.hasRepositories) this.#evaluators.push(bound);
    });
    const texts = basicQueries.flatMap(({ text }) => text ?? []);
    this.#words = findWords(texts);
    this.#scored = findScored(texts);
    this.#features = new DocumentFeatures(this.#words);
    this.#nameScore = new NameScore(this.#words, this.#scored, new StoppableWork(stop));
  }

  /** Throws `cancelled` if the search is stopped. `onCandidates` is called with the number of candidates. */
  run(onCandidates: (count: number) => void): ShardBest {
    const { reader, checkContent, shard } = this.#target;
    const candidates = this.#evaluators
      .map((evaluator) => evaluator.candidates())
      .reduce<ContentSet>(unite, new Uint32Array(0));
    this.#stats.shardsSearched++;
    this.#stats.candidateContents += candidates?.length ?? reader.contentCount;
    if (candidates?.length === 0) this.#stats.shardsRuledOut++;
    else {
      onCandidates(candidates?.length ?? reader.contentCount);
      checkContent();
      this.#decideAll(candidates);
    }
    for (const evaluator of this.#evaluators) evaluator.addStats(this.#stats);
    const best = this.#best.documents;
    const isComplete = this.#isComplete && this.#foundCount === best.length;
    const found = this.#found?.words.slice(0, 2 * this.#found.count);
    return { shard, isComplete, keptCount: best.length, best, found, isWhole: this.#isComplete, stats: this.#stats };
  }

  #decideAll(candidates: ContentSet): void {
    const { reader } = this.#target;
    const isCheap = this.#evaluators.every((evaluator) => evaluator.isCheap);
    const bytesMax = isCheap ? this.#budget.cheapBytes : this.#budget.expensiveBytes;
    const chosen = chooseContents(reader, candidates, this.#budget.contents, bytesMax, {
      searched: () => this.#unite((evaluator) => evaluator.keepSearched(candidates)),
      favourites: () => [...this.#contentsByName(), this.#unite((evaluator) => evaluator.contentsWithPathMatch())],
    });
    if (reader instanceof SymbolView) {
      // Files without symbols because of a fault are reported when the shard is searched.
      this.#isComplete = chosen.isComplete && reader.symbols.failedCount === 0;
      this.#decideTier({ contents: chosen.contents, naming: "whole", weightMax: 1 }, "all");
      return;
    }
    const hints = {
      reader,
      symbols: this.#target.symbols,
      leaves: this.#scored,
      contentsWithPathMatch: () => this.#unite((evaluator) => evaluator.contentsWithPathMatch()),
      contentsCovered: undefined,
    };
    const tellingNames = { ...hints, contentsCovered: this.#coveredByOne() };
    let namedMatches = 0;
    for (const tier of divide(chosen.contents, tellingNames, this.#kernel, this.#stop)) {
      this.#decideTier(tier, chosen.isComplete ? "all" : "chosen");
      if (tier.naming !== "none") namedMatches = this.#matchCount;
    }
    if (chosen.isComplete) return;
    // Whether the others of the chosen ones are examined depends on what the thread has ranked before.
    this.#uncountedMatches = this.#matchCount - namedMatches;
    if (!isCheap || candidates === undefined || chosen.contents === undefined) {
      this.#isComplete = false;
      return;
    }
    const others = subtract(candidates, chosen.contents);
    for (const tier of divide(others, hints, this.#kernel, this.#stop)) this.#decideTier(tier, "others");
  }

  /**
   * Contents that were not chosen are examined only until the shard has enough matches. This depends on the matches of those
   * chosen ones that may be named, which therefore are examined, unless they have enough or all contents were chosen.
   */
  #decideTier({ contents, naming, weightMax }: Tier, of: "all" | "chosen" | "others"): void {
    const best = scoreDocument(this.#features.bound(noPath, matchesBeyondScore, weightMax, naming)).score;
    const areOthers = of === "others";
    const mayEnd =
      naming === "none" || (naming === "partial" && (of === "all" || this.#matchCount >= this.#budget.rankedMatches));
    const blocks = new Blocks(
      this.#target.reader,
      contents,
      0,
      naming === "whole" && !areOthers ? blockContentCountMax : otherContentCountMax,
    );
    for (const evaluator of this.#evaluators) evaluator.rewind();
    for (let block = blocks.next(blockBytesMax); block.length > 0; block = blocks.next(blockBytesMax)) {
      const isEnough = areOthers && this.#matchCount - this.#uncountedMatches >= this.#budget.rankedMatches;
      if (isEnough || (mayEnd && !this.#wants(best))) {
        this.#isComplete = false;
        return;
      }
      this.#decideBlock(block, naming);
    }
  }

  #decideBlock(block: Uint32Array, naming: Naming): void {
    for (const evaluator of this.#evaluators) {
      evaluator.decide(block);
      this.#stats.documentsFiltered += evaluator.documents.length;
      if (evaluator.tooCostly.length > 0) this.#isComplete = false;
    }
    forEachFound(this.#evaluators, (document, hits) => {
      this.#stop.check();
      this.#stats.documentsMatched++;
      this.#score(document, hits, naming);
      return true;
    });
  }

  /** Contents with a symbol whose name consists of all words, and of some of them. */
  #contentsByName(): readonly Uint32Array[] {
    const { reader } = this.#target;
    const isView = reader instanceof SymbolView;
    const symbols = isView ? reader.symbols : this.#target.symbols;
    if (symbols === undefined) return [];
    const { contents } = symbols.parts;
    return [true, false].map((ofAll) => {
      const found = new Set<number>();
      for (const { key, wordCount } of findNameKeys(this.#words))
        if ((wordCount === this.#words.typed.length) === ofAll)
          symbols.findNamed(key, (part) => found.add(isView ? part : contents[part]));
      return Uint32Array.from(found);
    });
  }

  /** Finds the contents with a symbol whose name the only word may cover; undefined if there is not just one word. */
  #coveredByOne(): (() => Uint32Array) | undefined {
    const { symbols } = this.#target;
    const [leaf, ...others] = this.#scored;
    const [word] = this.#words.words;
    if (symbols === undefined || (leaf as Leaf | undefined) === undefined || others.length > 0) return undefined;
    if (leaf.set !== undefined || leaf.either.length > 0 || leaf.analysis.literal === undefined) return undefined;
    const { exact, foldsOutsideAscii } = requiredLiterals(leaf);
    if (exact?.length !== 1) return undefined;
    return () => {
      const found = new Set<number>();
      const add = (part: number): void => void found.add(symbols.parts.contents[part]);
      for (const key of findCoveringKeys(word)) symbols.findNamed(key, add);
      // Keys know nothing of characters that fold into ASCII.
      if (foldsOutsideAscii) symbols.foldExceptions.forEach(add);
      return Uint32Array.from(found).sort();
    };
  }

  #unite(contentsOf: (evaluator: BasicQueryEvaluator) => Uint32Array): Uint32Array {
    return this.#evaluators.map(contentsOf).reduce((all, contents) => unite(all, contents) ?? all, new Uint32Array(0));
  }

  #score(document: number, hits: readonly Hit[], naming: Naming): void {
    const { reader, symbols } = this.#target;
    this.#foundCount++;
    rows.clear();
    addHitRows(hits, mergeRevisions(hits)[0], rows, pathRows);
    this.#matchCount += Math.max(1, rows.count);
    this.#record(document);
    const content = reader.contentId(document);
    const path = reader.path(document).toString("latin1");
    const lowered = lowerAscii(path);
    const fileFactor = weighDocument(reader, document, lowered);
    if (reader instanceof SymbolView) {
      if (content >= reader.contentCount) return;
      const scored = this.#nameScore.find(reader, content, rows, fileFactor, this.#kernel);
      if (this.#wants(scored.score)) this.#offer(document, path, scored, hits);
      return;
    }
    const inPath = this.#features.findInPath(lowered);
    const hasContent = content < reader.contentCount;
    const known = naming !== "none" && hasContent && rows.count > 0 ? symbols : undefined;
    const isBound = (bound: Naming): boolean =>
      !this.#wants(scoreDocument(this.#features.bound(inPath, rows.count, fileFactor, bound)).score);
    if (isBound(known === undefined ? "none" : naming)) return;
    if (known !== undefined) {
      const { firstDocuments, count } = known.parts;
      places.read(known, lastAtMost(firstDocuments, document, count), rows, this.#kernel);
      if (places.count === 0 && isBound("none")) return;
    }
    const scored = scoreDocument(
      this.#features.find({
        text: reader.content,
        textStart: hasContent ? reader.contentStart[content] : 0,
        textEnd: hasContent ? reader.contentStart[content + 1] : 0,
        rows,
        rowFrom: 0,
        rowTo: rows.count,
        inPath,
        fileFactor,
        places: known === undefined ? undefined : places,
        kinds: known?.kinds ?? [],
      }),
    );
    if (this.#wants(scored.score)) this.#offer(document, path, scored, hits);
  }

  /** Notes how many ranges the document has, for those who count it. */
  #record(document: number): void {
    const found = this.#found;
    if (found === undefined) return;
    // A document with so many may have a full line, and is no result then.
    if (rows.count > this.#lineMatchCountMax || found.count === countedDocumentsMax) this.#found = undefined;
    else found.push(document, rows.count + (pathRows.count > 0 ? rangesInPath : 0));
  }

  /** Whether a document with this score can be among the best of this shard, and of those that were ranked before. */
  #wants(score: number): boolean {
    return score >= Math.max(this.#best.scoreMin, this.#scoreMin);
  }

  /** How many matches of the document count for the limit of the search, at least. */
  #countMatches(rowCount: number): number {
    if (this.#rowCountMax === undefined || rowCount > this.#rowCountMax) return 0;
    return Math.max(1, rowCount);
  }

  #offer(document: number, path: string, scored: ReturnType<typeof scoreDocument>, [hit]: readonly Hit[]): void {
    const summary = hit.evaluator.repositorySummary(document);
    this.#best.offer({
      shard: this.#target.shard,
      document,
      score: scored.score,
      matchCount: this.#countMatches(rows.count),
      parts: scored,
      stars: summary.stars,
      committedSeconds: defaultCommitSeconds(summary),
      repository: summary.name,
      path,
      ranges: this.#keepsRanges && rows.count + pathRows.count <= keptRangesMax ? copyRanges() : undefined,
    });
  }
}

/** Of the document that is scored. */
function copyRanges(): Uint32Array {
  const ranges = new Uint32Array(2 + 2 * (rows.count + pathRows.count));
  ranges[0] = rows.count;
  ranges[1] = pathRows.count;
  ranges.set(rows.words.subarray(0, 2 * rows.count), 2);
  ranges.set(pathRows.words.subarray(0, 2 * pathRows.count), 2 + 2 * rows.count);
  return ranges;
}
