import { assert } from "../base/assert.js";
import type { Kernel } from "../native/kernel/kernel.js";
import { SymbolView } from "../shard/symbols/symbol-view.js";
import type { ShardReader } from "../shard/shard-reader.js";
import { BasicQueryEvaluator, type Listing } from "./match/basic-query-evaluator.js";
import type { SearchedRevisions, ShardVisibility } from "./match/searched-revisions.js";
import {
  blockBytesMax,
  blockContentCountMax,
  Blocks,
  addHitRows,
  forEachFound,
  type Hit,
  mergeRevisions,
  type ResultSource,
} from "./match/blocks.js";
import { type ContentSet, intersect, unite } from "./match/content-scan.js";
import {
  isBefore,
  type ResultPosition,
  type CountedResults,
  isCounted,
  type ShardPosition,
  type Coverage,
} from "../protocol/messages.js";
import { hasFullLine, lineMatchCountMax, Rows } from "./match/rows.js";
import { People } from "./people/people.js";
import type { ResultWriter } from "./results/result-writer.js";
import type { WriterStop } from "./results/result-list.js";
import { ResultCollector } from "./results/result-collector.js";
import { allWritten } from "../protocol/result-batch.js";
import type { SearchOptions, SearchStats } from "../protocol/search-options.js";
import { StopCheck } from "../protocol/control-block.js";
import { skipReasonFromCode } from "../model/skip-reason.js";
import { unpackSkipCode } from "../shard/format.js";

/**
 * The first block of a shard is small until something is found: the first result does not wait for a full one.
 */
const firstBlockBytesMax = 64 * 1024;

/** Called for a document that is excluded: it takes too much work, or a line has too many matches. */
export type ExcludedReceiver = (document: number, repository: string, reason: "work" | "full-line") => void;

const firstPosition: ResultPosition = { document: 0, revision: 0 };

const nothingShown: ResultPosition = { document: -1, revision: 0 };

export const shardStart: ShardPosition = { content: 0, result: firstPosition, rowsDone: 0, counted: undefined };

/**
 * Searches one shard: candidates from the index, then a block of contents at a time decided by the basic queries, then
 * each satisfying document written at each of its revisions.
 */
export class ShardSearch {
  readonly #reader: ShardReader;
  readonly #writer: ResultWriter;
  /** Those that search some repository of the shard. */
  readonly evaluators: BasicQueryEvaluator[] = [];
  /** Undefined when the same result options apply to all results. */
  readonly #collector: ResultCollector | undefined;
  /** The rows of all results of the block that are not written yet. */
  readonly #rows = new Rows(0);
  readonly #pathRows = new Rows(0);
  /** The results that the writer was given, in order: pairs of document and revision. */
  readonly #added: number[] = [];
  /** The last of them that was counted here, and its rows that are to be written. */
  #shown = nothingShown;
  #shownRows = 0;
  /** The last result that was counted here, even if it passed the limit, or elsewhere. */
  readonly #lastCounted = { document: -1, revision: 0 };
  readonly #checkContent: () => void;
  readonly #onExcluded: ExcludedReceiver;
  #wanted: WantedDocuments;
  readonly #lineMatchCountMax: number;
  /** Undefined if single documents have to be looked at. */
  readonly #listed: ListedBlocks | undefined;
  readonly #stop: StopCheck;
  /** The same whenever a slice resumes in this shard. */
  readonly #blockContentCountMax: number;
  /**
   * `checkContent` is called before the first content is read; it throws when the content is damaged. `onExcluded` is
   * called for the same documents again when a slice resumes in their block. `resumesCounted` says that the search goes on
   * where results were counted: they are looked up even if the limit has stopped the search meanwhile.
   */
  constructor(
    reader: ShardReader,
    visibility: ShardVisibility,
    options: SearchOptions,
    kernel: Kernel,
    writer: ResultWriter,
    documents: WantedDocuments,
    checkContent: () => void,
    onExcluded: ExcludedReceiver,
    resumesCounted: boolean,
  ) {
    const { documentCount } = reader;
    assert(documents.only === undefined || documents.only < documentCount, "a wanted document is one of the shard");
    assert((visibility.sets?.ofDocuments.length ?? documentCount) === documentCount, "each document has its commits");
    this.#wanted = documents;
    this.#onExcluded = onExcluded;
    this.#lineMatchCountMax = lineMatchCountMax(options.chunkMatches);
    this.#stop = new StopCheck(writer.control);
    this.#stop.finishesCounted = resumesCounted;
    this.#checkContent = checkContent;
    this.#reader = reader;
    this.#writer = writer;
    const people = options.people && new People(options.people, options.plan);
    const optionsIndexes = new Map<BasicQueryEvaluator, number>();
    // For a single document, a look-up in the index of the shard would take most of the time.
    const useIndex = options.useIndex && documents.only === undefined;
    options.plan.basicQueries.forEach((basic, i) => {
      if (basic.text === undefined || (basic.text.symbols !== undefined) !== reader instanceof SymbolView) return;
      const evaluator = new BasicQueryEvaluator(
        basic.text,
        options.selections[i],
        reader,
        visibility,
        kernel,
        useIndex,
        people,
        this.#stop,
      );
      if (evaluator.hasRepositories) this.evaluators.push(evaluator);
      optionsIndexes.set(evaluator, basic.optionsIndex);
    });
    this.#blockContentCountMax = blockContentCountMax(options, visibility);
    this.#collector =
      options.resultLimits &&
      new ResultCollector(options.plan, options.resultLimits, writer.control, optionsIndexes, kernel);
    const { tombstones } = visibility;
    const shard = { reader, writer, options, tombstones, documents, rowCountMax: this.#lineMatchCountMax };
    this.#listed = documents.only === undefined ? ListedBlocks.of(this.evaluators, shard, this.#stop) : undefined;
  }

  /** Another single document is wanted now. */
  restart(documents: WantedDocuments): void {
    this.#wanted = documents;
    for (const evaluator of this.evaluators) evaluator.rewind();
  }

  /**
   * Continues from `position` until the shard is done and returns undefined. Returns the position to resume from when
   * `pause` returns true between blocks, or when the credit is used up. Throws `cancelled` when the search is stopped
   * within a block.
   */
  run(position: ShardPosition, stats: SearchStats, pause: () => boolean): ShardPosition | undefined {
    try {
      return this.#searchBlocks(position, stats, pause);
    } finally {
      for (const evaluator of this.evaluators) evaluator.addStats(stats);
    }
  }

  #searchBlocks(position: ShardPosition, stats: SearchStats, pause: () => boolean): ShardPosition | undefined {
    this.#stop.finishesCounted = position.counted !== undefined;
    const { only, except } = this.#wanted;
    const found =
      only === undefined
        ? this.evaluators.map((evaluator) => evaluator.candidates()).reduce(unite, new Uint32Array(0))
        : Uint32Array.of(this.#reader.contentId(only));
    const candidates = except === undefined ? found : withoutExcepted(this.#reader, found, except);
    if (position.content === 0 && position.counted === undefined) {
      stats.shardsSearched++;
      stats.candidateContents += candidates?.length ?? this.#reader.contentCount;
      if (candidates?.length === 0) stats.shardsRuledOut++;
    }
    const lastCandidate = candidates?.at(-1) ?? 0;
    assert(lastCandidate <= this.#reader.contentCount, "a candidate is a content of the shard");
    assert(position.content <= this.#reader.contentCount, "a search resumes in its shard");
    const blocks = new Blocks(this.#reader, candidates, position.content, this.#blockContentCountMax);
    const bytesMax = blockBytesMax(this.evaluators);
    let from = position;
    // A resumed block must hold all results that are counted: it is at least as large as the one that was left.
    let block = blocks.next(position.counted === undefined && !this.#writer.hasMatches ? firstBlockBytesMax : bytesMax);
    if (block.length > 0) {
      this.#checkContent();
      this.#writer.open(this.#reader, this.#wanted.debug);
    }
    while (block.length > 0) {
      const stopped = this.#searchBlock(block, from, stats);
      if (stopped !== undefined) return stopped;
      const done = block[block.length - 1];
      block = blocks.next(bytesMax);
      assert(block.length === 0 || block[0] > done, "the contents of blocks ascend");
      from = shardStart;
      if (this.#writer.isStopped) break;
      if (block.length > 0 && pause()) return { ...shardStart, content: done + 1 };
    }
    return undefined;
  }

  #searchBlock(block: Uint32Array, from: ShardPosition, stats: SearchStats): ShardPosition | undefined {
    this.#stop.finishesCounted = from.counted !== undefined;
    const listed = from.counted === undefined ? this.#listed?.search(block, stats) : undefined;
    if (listed !== undefined) return this.#positionInListed(listed, from);
    this.#collector?.startBlock(from.counted?.cuts);
    for (const evaluator of this.evaluators) {
      if (from.counted === undefined && this.#collector?.isOver(evaluator) === true) evaluator.skip();
      else this.#decide(evaluator, block, stats);
      stats.documentsFiltered += evaluator.documents.length;
    }
    // From here on results are counted, and counted results are written even if the limit is reached meanwhile.
    this.#stop.finishesCounted = true;
    this.#rows.clear();
    this.#added.length = 0;
    this.#shown = from.counted?.shown ?? nothingShown;
    this.#shownRows = from.counted?.shownRows ?? 0;
    this.#lastCounted.document = -1;
    const { only, except } = this.#wanted;
    const { documentCount } = this.#reader;
    let last = -1;
    forEachFound(this.evaluators, (document, hits) => {
      this.#stop.check();
      assert(document > last && document < documentCount, "found documents ascend, below the count of the shard");
      last = document;
      if (document < from.result.document) return true;
      if (!isCounted(from.counted, document, 0)) {
        if (this.#writer.isStopped) return false;
        stats.documentsMatched++;
      }
      if ((only !== undefined && document !== only) || except?.has(document) === true) return true;
      this.#addDocument(document, hits, document === from.result.document ? from.result.revision : 0, from.counted);
      return true;
    });
    const labels = this.evaluators.flatMap((each) => each.labels);
    const stop = this.#writer.write(this.#rows, from.rowsDone, labels);
    return stop === undefined ? undefined : this.#positionAt(stop, from);
  }

  #decide(evaluator: BasicQueryEvaluator, block: Uint32Array, stats: SearchStats): void {
    evaluator.decide(block);
    stats.documentsTooCostly += evaluator.tooCostly.length;
    for (const document of evaluator.tooCostly)
      this.#onExcluded(document, evaluator.repositorySummary(document).name, "work");
  }

  /**
   * Adds a document to the writer at each of its revisions from `firstRevision` on. Results in `counted` are not
   * counted again.
   */
  #addDocument(
    document: number,
    hits: readonly Hit[],
    firstRevision: number,
    counted: CountedResults | undefined,
  ): void {
    const content = this.#reader.contentId(document);
    const summary = hits[0].evaluator.repositorySummary(document);
    const revisions = mergeRevisions(hits);
    for (let r = firstRevision; r < revisions.length; r++) {
      const source: ResultSource = { document, content, summary, revision: revisions[r] };
      const sent = this.#writer.takeSent(source);
      if (sent?.rowsDone === allWritten) continue;
      const isKnown = isCounted(counted, document, r);
      if (isKnown && sent === undefined && isBefore(counted.shown, document, r)) continue;
      const rowFrom = this.#rows.count;
      if (!this.#collectRows(hits, source, r, isKnown || sent !== undefined)) continue;
      if (hasFullLine(this.#reader.content, this.#rows.words, rowFrom, this.#rows.count, this.#lineMatchCountMax)) {
        this.#rows.count = rowFrom;
        this.#onExcluded(document, summary.name, "full-line");
        continue;
      }
      if (sent !== undefined) {
        this.#lastCounted.document = document;
        this.#lastCounted.revision = r;
        if (this.#writer.addSent(source, rowFrom, this.#rows, this.#pathRows, sent)) this.#added.push(document, r);
      } else if (isKnown) {
        const isLast = counted.shown.document === document && counted.shown.revision === r;
        const rowCountMax = isLast ? counted.shownRows : Number.POSITIVE_INFINITY;
        this.#writer.addCounted(source, rowFrom, this.#rows, this.#pathRows, rowCountMax);
        this.#added.push(document, r);
      } else {
        this.#addNew(source, r, rowFrom);
      }
    }
  }

  #addNew(source: ResultSource, revision: number, rowFrom: number): void {
    const shownRows = this.#writer.add(source, rowFrom, this.#rows, this.#pathRows);
    this.#lastCounted.document = source.document;
    this.#lastCounted.revision = revision;
    if (shownRows === undefined) {
      this.#rows.count = rowFrom;
      return;
    }
    this.#added.push(source.document, revision);
    this.#shown = { document: source.document, revision };
    this.#shownRows = shownRows;
  }

  #positionInListed(
    { stop, documents, shownCount, shownRows }: ListedBlock,
    from: ShardPosition,
  ): ShardPosition | undefined {
    if (stop === undefined) return undefined;
    assert(shownCount <= documents.length, "of the listed documents, some are shown");
    this.#added.length = 0;
    for (const document of documents.subarray(0, shownCount)) this.#added.push(document, 0);
    this.#shown = { document: documents[shownCount - 1], revision: 0 };
    this.#shownRows = shownRows;
    this.#lastCounted.document = documents[documents.length - 1];
    this.#lastCounted.revision = 0;
    return this.#positionAt(stop, from);
  }

  /** Where a later slice resumes: all results of the block were added, and are written up to `stop`. */
  #positionAt(stop: WriterStop, from: ShardPosition): ShardPosition {
    const added = this.#added;
    assert(stop.result < added.length / 2, "the writer stops at a result that it was given");
    const positionOf = (i: number): ResultPosition => ({ document: added[2 * i], revision: added[2 * i + 1] });
    const result = positionOf(stop.result);
    const last = isCounted(from.counted, this.#lastCounted.document, this.#lastCounted.revision)
      ? from.counted.last
      : { ...this.#lastCounted };
    const counted = { last, shown: this.#shown, shownRows: this.#shownRows, cuts: this.#collector?.cuts ?? [] };
    return { content: this.#reader.contentId(result.document), result, rowsDone: stop.rowsDone, counted };
  }

  /** Appends the ranges of a result. Returns false when the result options of its basic queries leave nothing of it. */
  #collectRows(hits: readonly Hit[], source: ResultSource, revision: number, isKnown: boolean): boolean {
    if (this.#collector === undefined) {
      addHitRows(hits, source.revision, this.#rows, this.#pathRows);
      return true;
    }
    const at = { document: source.document, revision };
    return this.#collector.gather(
      hits,
      source.revision,
      at,
      isKnown,
      this.#rows,
      this.#pathRows,
      (select, optionsIndex) => this.#writer.select(source, select, optionsIndex),
    );
  }
}

/** The contents of which some document is wanted. All of a shard are left as they are. */
function withoutExcepted(reader: ShardReader, contents: ContentSet, except: ReadonlySet<number>): ContentSet {
  const { contentFirstDocument } = reader;
  return contents?.filter((content) => {
    const end = contentFirstDocument[content + 1];
    for (let document = contentFirstDocument[content]; document < end; document++)
      if (!except.has(document)) return true;
    return false;
  });
}

/** A document that ranking has found. */
export interface FoundDocument {
  readonly document: number;
  /** As in `RankedPart`. */
  readonly ranges: Uint32Array;
  /** As in `WantedDocuments`. */
  readonly debug: string | undefined;
}

/** Counts and writes a document as a search of it would. Returns where to resume, as `ShardSearch.run` does. */
export function writeFound(
  { document, ranges, debug }: FoundDocument,
  reader: ShardReader,
  searched: SearchedRevisions,
  writer: ResultWriter,
): ShardPosition | undefined {
  assert(document < reader.documentCount, "a document that was found is one of the shard");
  const [rowCount, pathRowCount] = ranges;
  assert(ranges.length === 2 + 2 * (rowCount + pathRowCount), "a document has the ranges that are counted");
  writer.open(reader, debug);
  const content = reader.contentId(document);
  const summary = searched.repositorySummary(document);
  const rows = new Rows(rowCount);
  const pathRows = new Rows(pathRowCount);
  const added: ResultPosition[] = [];
  let last = firstPosition;
  let shown = nothingShown;
  let shownRows = 0;
  searched.revisions(document).forEach((revision, r) => {
    const source = { document, content, summary, revision };
    const sent = writer.takeSent(source);
    if (sent?.rowsDone === allWritten) return;
    const rowFrom = rows.count;
    rows.append(ranges.subarray(2), 0, rowCount);
    pathRows.clear();
    pathRows.append(ranges.subarray(2 + 2 * rowCount), 0, pathRowCount);
    if (sent !== undefined) {
      last = { document, revision: r };
      if (writer.addSent(source, rowFrom, rows, pathRows, sent)) added.push(last);
      return;
    }
    const rowsToShow = writer.add(source, rowFrom, rows, pathRows);
    last = { document, revision: r };
    if (rowsToShow === undefined) {
      rows.count = rowFrom;
      return;
    }
    added.push(last);
    shown = last;
    shownRows = rowsToShow;
  });
  const stop = writer.write(rows, 0, []);
  if (stop === undefined) return undefined;
  assert(stop.result < added.length, "the writer stops at a result that it was given");
  const counted: CountedResults = { last, shown, shownRows, cuts: [] };
  return { content, result: added[stop.result], rowsDone: stop.rowsDone, counted };
}

/** With fewer matches left to the limit, each document is counted, so that exactly as many are found as are wanted. */
const matchesLeftMin = 64 * 1024;

/** The kernel counts the matches of a block in 32 bits; many documents may have the same content. */
const listedMatchesEnd = 2 ** 32;

/** A block whose results were listed and written. */
interface ListedBlock {
  /** Undefined if all results are written. */
  readonly stop: WriterStop | undefined;
  /** The documents that were counted, ascending. */
  readonly documents: Uint32Array;
  /** How many of them are results to write, and the rows of the last of these. */
  readonly shownCount: number;
  readonly shownRows: number;
}

/** What the search of a shard lists, and where it writes. */
interface ListedShard {
  readonly reader: ShardReader;
  readonly writer: ResultWriter;
  readonly options: SearchOptions;
  readonly tombstones: Uint32Array | undefined;
  readonly documents: WantedDocuments;
  /** Documents with more rows are decided one by one. */
  readonly rowCountMax: number;
}

/** The blocks of one shard whose results can be listed without a look at single documents. */
class ListedBlocks {
  readonly #shard: ListedShard;
  readonly #listing: Listing;
  readonly #stop: StopCheck;

  /** Undefined if the query needs decisions about single documents. */
  static of(evaluators: readonly BasicQueryEvaluator[], shard: ListedShard, stop: StopCheck): ListedBlocks | undefined {
    const listing = evaluators.length === 1 && isWhole(shard) ? evaluators[0].listing() : undefined;
    return listing && new ListedBlocks(shard, listing, stop);
  }

  private constructor(shard: ListedShard, listing: Listing, stop: StopCheck) {
    this.#shard = shard;
    this.#listing = listing;
    this.#stop = stop;
  }

  /** Undefined if something in the block needs a decision about a single document: nothing has been counted then. */
  search(block: Uint32Array, stats: SearchStats): ListedBlock | undefined {
    this.#stop.check();
    const { reader, writer, tombstones, rowCountMax } = this.#shard;
    const { listed, limits } = writer;
    if (limits.left < matchesLeftMin) return undefined;
    const { scan, pathContents, repositories } = this.#listing;
    if (intersect(block, pathContents)?.length !== 0) return undefined;
    const contents = listed.choose(block, reader, repositories, tombstones);
    scan.find(contents);
    const isCountable = scan.tooCostly.size === 0 && listed.documentCount * scan.rows.count < listedMatchesEnd;
    if (isCountable) listed.list(contents, scan.rows);
    if (!isCountable || listed.rowCountMax > rowCountMax || !limits.countAll(listed.matchCount)) {
      listed.discard();
      scan.rewind();
      return undefined;
    }
    stats.documentsFiltered += listed.documentCount;
    const { count, shownCount, shownRows } = writer.addListed(scan.rows);
    stats.documentsMatched += count;
    // Counted results are written even if the limit is reached meanwhile.
    this.#stop.finishesCounted = true;
    const stop = writer.write(scan.rows, 0, scan.labels === undefined ? [] : [scan.labels]);
    return { stop, documents: listed.documents.subarray(0, count), shownCount, shownRows };
  }
}

/** Whether all documents are results, with all of their matches. */
function isWhole({ options: { plan, resultLimits, claims, marks }, documents }: ListedShard): boolean {
  const { select } = plan.resultOptions[0];
  const hasAll = documents.only === undefined && (documents.except?.size ?? 0) === 0;
  const isAll = resultLimits === undefined && claims === undefined && marks?.sent === undefined;
  return hasAll && isAll && (select === undefined || select === "content");
}

/** Which documents of a shard are written. A ranked search writes the best ones one by one, and then all but those. */
export interface WantedDocuments {
  readonly only: number | undefined;
  readonly except: ReadonlySet<number> | undefined;
  /** The member `debug` of the results; undefined for none. */
  readonly debug: string | undefined;
}

/** Adds what basic queries cover in a shard. */
export function addCoverage(
  evaluators: readonly BasicQueryEvaluator[],
  reader: ShardReader,
  stop: StopCheck,
  coverage: Coverage,
): void {
  coverage.documentCount += countCovered(evaluators, reader, stop);
  const last = reader.contentFirstDocument[reader.contentCount + 1];
  const searching = evaluators.filter(({ searchesText }) => searchesText);
  if (searching.length === 0) return;
  for (let document = 0; document < last; document++) {
    stop.check();
    const reason = skipReasonFromCode(unpackSkipCode(reader.documentInfo[document]));
    const evaluator = reason === "none" ? undefined : searching.find((one) => one.covers(document));
    if (evaluator === undefined) continue;
    const { name } = evaluator.repositorySummary(document);
    coverage.unsearched.push({ repository: name, path: reader.path(document).toString(), reason });
  }
}

/** Documents that the index rules out are covered as well. */
function countCovered(evaluators: readonly BasicQueryEvaluator[], reader: ShardReader, stop: StopCheck): number {
  let count = 0;
  for (let document = 0; document < reader.documentCount; document++) {
    stop.check();
    for (const evaluator of evaluators) {
      if (!evaluator.covers(document)) continue;
      count++;
      break;
    }
  }
  return count;
}
