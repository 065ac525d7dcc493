import { parentPort, threadId } from "node:worker_threads";
import { assert } from "../../base/assert.js";
import { serializeError } from "../../base/errors.js";
import {
  addCoverage,
  type FoundDocument,
  ShardSearch,
  shardStart,
  type WantedDocuments,
  writeFound,
} from "../../eval/shard-search.js";
import { ResultWriter } from "../../eval/results/result-writer.js";
import { type DocumentSets, SearchedRevisions } from "../../eval/match/searched-revisions.js";
import {
  type BatchMessage,
  checkBatch,
  checkRow,
  checkSearchResult,
  type Coverage,
  type CountedDocuments,
  emptyCoverage,
  type ExaminedShard,
  type ExcludedFile,
  type HelpMessage,
  isOrdered,
  rangesInPath,
  type SearchTask,
  type SearchTaskResult,
  type ShardFailure,
  type ShardPosition,
} from "../../protocol/messages.js";
import { ControlBlock, CostMeter, StopCheck } from "../../protocol/control-block.js";
import { creditOfBatch, type ResultBatch } from "../../protocol/result-batch.js";
import { addStats, noStats, type SearchStats } from "../../protocol/search-options.js";
import { ShardTable } from "../../protocol/shard-table.js";
import type { ShardSnapshot } from "../../store/shard-store.js";
import {
  aloneBytesMax,
  aloneContentsMax,
  aloneMs,
  aloneWordsMs,
  bytesPerCandidate,
  isCancelled,
  isOverdue,
  mayAskForHelp,
  type SearchThread,
} from "./search-thread.js";
import { lostPart, type OpenShard, TaskShards } from "./shard-opener.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import type { BasicQueryEvaluator } from "../../eval/match/basic-query-evaluator.js";
import type { SymbolReader } from "../../shard/symbols/symbol-reader.js";
import { SymbolView } from "../../shard/symbols/symbol-view.js";
import { type RankedTarget, type ShardBest, ShardRanking } from "../../eval/ranking/shard-ranking.js";
import {
  findWordSearch,
  listedShardsMax,
  rankWords,
  WordRanking,
  type WordRanker,
} from "../../eval/ranking/word-ranking.js";
import {
  BestDocuments,
  checkRanked,
  decodeShards,
  encodeRanked,
  findLeft,
  mergeBest,
  type PublishedRanking,
  RankBoard,
  type RankedShard,
  type RankTask,
  type RankTaskResult,
  workOnDocuments,
} from "../../protocol/rank-messages.js";

/** A batch is sent at this size: small for a person who waits, large when only throughput counts. */
const batchBytes = { interactive: 32 * 1024, exhaustive: 224 * 1024 } as const;

/** Results do not wait longer than this for their batch to fill. */
const flushAfterMs = 50;

/**
 * In a search that is small so far, the first results wait this long, since the slice began, for its end: most such
 * searches send one batch. In others the next block may take several milliseconds, so they do not wait.
 */
const firstFlushAfterMs = 1;

/** A slice ends when it has found this many files that are not searched, so that its result is small. */
const unsearchedCountMax = 2_000;

/** The last batch is sent with the result, and copied, if it has at most this many bytes. */
const lastBatchBytesMax = 16 * 1024;

/**
 * One slice of a search. It takes shards until none is left, the search is stopped, the client's credit is used up or
 * other slices wait. A shard that fails is reported; the others are searched.
 */
export class SearchSlice {
  readonly #thread: SearchThread;
  readonly #task: SearchTask;
  readonly #table: ShardTable;
  readonly #writer: ResultWriter;
  readonly #stats = noStats();
  readonly #shardStats: { shard: number; stats: SearchStats }[] = [];
  readonly #failures: ShardFailure[] = [];
  readonly #excluded: ExcludedFile[] = [];
  readonly #startedMs = performance.now();
  #flushedMs = performance.now();
  #batchCount = 0;
  #isEnding = false;
  #lastBatch: ResultBatch | undefined;
  #mayRequestHelp: boolean;
  /** Faults of the store when the slice began to read what is not sent yet. */
  #faultCount: number;
  /** Shards whose results may not all be sent yet. */
  #unsent: number[] = [];
  readonly #coverage: Coverage | undefined;
  readonly #control: ControlBlock;
  readonly #meter: CostMeter;
  readonly #wanted: { readonly ofTexts: boolean; readonly ofSymbols: boolean };
  readonly #searches = new DocumentSearches();
  /** Shards and shards of the revision cache whose symbols are not known. */
  #shardsWithoutSymbols = 0;
  readonly #countedShards: number[] = [];
  readonly #countedDocuments: CountedDocuments[] = [];
  /** Of the element of the task's rows that is searched. */
  #index = 0;
  /** By row: what is searched in shards of which documents are written or counted without a search. */
  readonly #searched = new Map<number, { readonly reader: ShardReader; readonly revisions: SearchedRevisions }>();
  readonly #shards: TaskShards;

  /** `shards` are those of a ranking that goes on with this slice. */
  constructor(thread: SearchThread, task: SearchTask, snapshot: ShardSnapshot, shards?: TaskShards) {
    this.#thread = thread;
    this.#task = task;
    this.#faultCount = thread.shards.faultCount;
    this.#mayRequestHelp = task.isAlone && !isOrdered(task.ranked);
    this.#control = new ControlBlock(task.control, thread.pressure);
    this.#meter = new CostMeter(this.#control);
    this.#coverage = task.options.receipt && !isOrdered(task.ranked) ? emptyCoverage() : undefined;
    const symbols = task.options.plan.basicQueries.flatMap(({ text }) => (text === undefined ? [] : [text.symbols]));
    this.#wanted = { ofTexts: symbols.includes(undefined), ofSymbols: symbols.some((one) => one !== undefined) };
    this.#table = new ShardTable(task.table);
    this.#shards = shards ?? new TaskShards(thread.shards, snapshot, this.#table, task);
    const bytesMax = Math.min(batchBytes[task.lane], task.options.batchBytesMax ?? batchBytes[task.lane]);
    this.#writer = new ResultWriter(thread.kernel, task.options, this.#control, bytesMax, thread.buffers, (batch) =>
      this.#take(batch),
    );
  }

  run(): SearchTaskResult {
    let shard = this.#task.resume?.shard ?? this.#control.takeShard();
    let position = this.#task.resume?.position ?? shardStart;
    while (shard < this.#task.rows.length && this.#isWanted(position)) {
      const next = this.#searchShard(shard, position);
      if (this.#task.ranked?.isApart === true) this.#writer.flush();
      if (next !== undefined) return this.#result({ shard, position: next });
      const mustPause = this.#mustPause();
      shard = this.#control.takeShard();
      position = shardStart;
      if (mustPause && shard < this.#task.rows.length) return this.#result({ shard, position });
      if (performance.now() - this.#startedMs > aloneMs) this.#requestHelp();
    }
    this.#countExamined();
    return this.#result(undefined);
  }

  /** Counts what ranking has found besides the documents that are written, unless some of it is to be shown. */
  #countExamined(): void {
    const { rows, ranked } = this.#task;
    const { limits } = this.#writer;
    const examined = ranked?.examined ?? [];
    if (examined.length === 0 || limits.mayShow) return;
    const written = new Map<number, number[]>();
    ranked?.only?.forEach((document, i) => {
      const known = written.get(rows[i]);
      if (known === undefined) written.set(rows[i], [document]);
      else known.push(document);
    });
    for (const shard of examined) this.#countShard(shard, written.get(shard.row));
  }

  /** Counts the results of one examined shard, except the documents that are written. */
  #countShard({ shard, row, isWhole, found }: ExaminedShard, written: readonly number[] = []): void {
    if (this.#writer.isStopped) return;
    const shardId = this.#shards.shardId(row);
    this.#dropUntrusted();
    const faultCount = this.#faultCount;
    this.#unsent.push(shardId);
    try {
      const opened = this.#shards.open(row);
      const { reader } = opened;
      const searched = this.#searchedRevisions(row, opened);
      this.#writer.open(reader, undefined);
      const leftOut = Uint32Array.from(written).sort();
      if (!this.#writer.countAll(found, leftOut, searched.singleRevisions()))
        this.#countFound(found, reader, searched, new Set(written));
      if (this.#shards.isLive(row)) this.#thread.shards.requireNoFault(faultCount, shardId);
      if (isWhole || this.#writer.isStopped) this.#countedShards.push(shard);
      else this.#countedDocuments.push({ shard, documents: found.filter((_, i) => i % 2 === 0) });
    } catch (error) {
      this.#recordFailure(shardId, error);
      // Some of its results may be counted.
      this.#countedShards.push(shard);
    }
  }

  /**
   * A function of its own: V8 compiles a long loop while it runs, and in one that also does what follows, the compiled code
   * was left at the end of the loop 626 times in 1,400 searches, because it knew nothing of that.
   */
  #countFound(
    found: Uint32Array,
    reader: ShardReader,
    searched: SearchedRevisions,
    written: ReadonlySet<number>,
  ): void {
    for (let i = 0; i < found.length && !this.#writer.isStopped; i += 2) {
      const document = found[i];
      assert(document < reader.documentCount, "a document that was found is one of the shard");
      if (written.has(document)) continue;
      const summary = searched.repositorySummary(document);
      for (const revision of searched.revisions(document))
        if (this.#writer.findSent({ document, summary, revision }) === undefined)
          this.#writer.count(
            { document, summary, revision },
            found[i + 1] % rangesInPath,
            found[i + 1] >= rangesInPath,
          );
    }
  }

  /** Sends a batch. Bytes read while the store had a fault may be zeros: they are dropped, and their shards fail. */
  #take(written: ResultBatch): void {
    this.#flushedMs = performance.now();
    const batch = this.#task.ranked?.isApart === true ? { ...written, ranked: this.#index } : written;
    checkBatch(batch);
    if (this.#thread.shards.faultCount === this.#faultCount) {
      this.#unsent = this.#unsent.slice(-1);
      return this.#send(batch);
    }
    this.#control.giveCredit(creditOfBatch(batch));
    for (const shardId of this.#unsent.splice(0)) this.#recordFailure(shardId, lostPart(shardId));
  }

  #send(batch: ResultBatch): void {
    // A batch that is sent with the result of the slice may overtake the batches before it.
    const mayBeLast = !isOrdered(this.#task.ranked) || this.#batchCount === 0;
    if (this.#isEnding && mayBeLast && batch.bytes.length <= lastBatchBytesMax) {
      this.#lastBatch = batch;
      return;
    }
    const { searchId, slice } = this.#task;
    this.#batchCount++;
    const message: BatchMessage = {
      kind: "batch",
      searchId,
      slice,
      batch,
      owner: batch.isLent ? threadId : undefined,
      takenBackCount: this.#thread.buffers.takenBackCount,
    };
    parentPort?.postMessage(message, [batch.bytes.buffer as ArrayBuffer]);
  }

  /** Asks the main thread to start further slices, if this one is alone and shards are left. */
  #requestHelp(): void {
    if (!this.#mayRequestHelp || !mayAskForHelp(this.#thread, this.#task, this.#control.takenShardCount)) return;
    this.#mayRequestHelp = false;
    parentPort?.postMessage({ kind: "help", searchId: this.#task.searchId } satisfies HelpMessage);
  }

  #recordFailure(shardId: number, error: unknown): void {
    if (!this.#failures.some((failure) => failure.shardId === shardId))
      this.#failures.push({ shardId, error: serializeError(error) });
  }

  /** Drops what was read while the store had a fault. */
  #dropUntrusted(): void {
    if (this.#thread.shards.faultCount === this.#faultCount) return;
    this.#writer.flush();
    this.#faultCount = this.#thread.shards.faultCount;
  }

  /** After the limit is reached, results that are counted are still written, and nothing more is searched. */
  #isWanted(position: ShardPosition): boolean {
    return !this.#writer.isStopped || (position.counted !== undefined && !this.#writer.isCancelled);
  }

  #result(resume: { shard: number; position: ShardPosition } | undefined): SearchTaskResult {
    this.#control.setShardOfSlot(this.#task.slot, -1);
    this.#isEnding = true;
    this.#writer.close();
    const isEnd = resume === undefined || resume.shard >= this.#task.rows.length || !this.#isWanted(resume.position);
    const result: SearchTaskResult = {
      resume: isEnd ? undefined : resume,
      stats: this.#stats,
      shardStats: this.#shardStats,
      batchCount: this.#batchCount,
      lastBatch: this.#lastBatch,
      failures: this.#failures,
      excluded: this.#excluded,
      shardsWithoutSymbols: this.#shardsWithoutSymbols,
      countedShards: this.#countedShards,
      countedDocuments: this.#countedDocuments,
      coverage: this.#coverage,
    };
    checkSearchResult(result, this.#task);
    return result;
  }

  /** Searches the texts of a shard, then its symbols, as far as they are wanted. */
  #searchShard(index: number, position: ShardPosition): ShardPosition | undefined {
    const { ofTexts, ofSymbols } = this.#wanted;
    if (ofTexts && position.inSymbols !== true) {
      const next = this.#searchPart(index, position, false);
      if (next !== undefined) return next;
    }
    if (!ofSymbols || !this.#isWanted(position)) return undefined;
    const next = this.#searchPart(index, position.inSymbols === true ? position : shardStart, true);
    return next === undefined ? undefined : { ...next, inSymbols: true };
  }

  #searchPart(index: number, position: ShardPosition, inSymbols: boolean): ShardPosition | undefined {
    const { shards, kernel } = this.#thread;
    const row = this.#task.rows[index];
    const isLive = this.#shards.isLive(row);
    this.#control.setShardOfSlot(this.#task.slot, index);
    this.#index = index;
    const stats = noStats();
    const shardId = this.#shards.shardId(row);
    this.#dropUntrusted();
    const faultCount = this.#faultCount;
    this.#unsent.push(shardId);
    try {
      checkRow(this.#task, index, this.#table.count);
      const opened = inSymbols ? this.#shards.openSymbols(row) : this.#shards.open(row);
      if (opened === undefined) {
        this.#shardsWithoutSymbols++;
        return undefined;
      }
      const { reader, summaries, tombstones, checkContent } = opened;
      const found = this.#foundDocument(index, position);
      if (found !== undefined) {
        checkContent();
        const next = writeFound(found, reader, this.#searchedRevisions(row, opened), this.#writer);
        if (isLive) shards.requireNoFault(faultCount, shardId);
        return next;
      }
      const wanted = this.#wantedDocuments(index);
      const makeSearch = (): ShardSearch =>
        new ShardSearch(
          reader,
          { summaries, tombstones, sets: this.#documentSets(index, reader.documentCount) },
          this.#task.options,
          kernel,
          this.#writer,
          wanted,
          () => {
            if (this.#stats.candidateContents + stats.candidateContents > aloneContentsMax) this.#requestHelp();
            checkContent();
          },
          (document, repository, reason) => recordExcluded(this.#excluded, reader, { document, repository, reason }),
          position.counted !== undefined,
        );
      const search = this.#searches.find(row, reader, wanted, makeSearch);
      const isStart = position.content === 0 && position.counted === undefined;
      if (isStart && !isOrdered(this.#task.ranked)) recordFailedSymbols(this.#excluded, reader, search.evaluators);
      // Texts and symbols of a shard have the same documents.
      if (this.#coverage !== undefined && isStart && inSymbols !== this.#wanted.ofTexts) {
        const stop = new StopCheck(this.#control);
        addCoverage(search.evaluators, reader, stop, this.#coverage);
      }
      const next = search.run(position, stats, () => this.#mustPause());
      if (isLive) shards.requireNoFault(faultCount, shardId);
      assert(next === undefined || next.content >= position.content, "a search of a shard does not go back");
      return next;
    } catch (error) {
      if (!isCancelled(error)) this.#recordFailure(shardId, error);
      return undefined;
    } finally {
      // A ranked document was counted when it was ranked, or is when its shard is searched.
      if (!isOrdered(this.#task.ranked)) addStats(this.#stats, stats);
      this.#meter.record(stats.scannedBytes);
      if (this.#task.explain) this.#shardStats.push({ shard: index, stats });
    }
  }

  #wantedDocuments(index: number): WantedDocuments {
    const { ranked, rows } = this.#task;
    return { only: ranked?.only?.[index], except: ranked?.except?.get(rows[index]), debug: ranked?.scores?.[index] };
  }

  /** The document at this index of the task's rows, unless it has to be searched. */
  #foundDocument(index: number, { content, counted }: ShardPosition): FoundDocument | undefined {
    const { only, ranges, scores } = this.#task.ranked ?? {};
    const own = ranges?.[index];
    if (only === undefined || own === undefined || content !== 0 || counted !== undefined) return undefined;
    return { document: only[index], ranges: own, debug: scores?.[index] };
  }

  /** The revisions of a shard that are searched, where all of them are indexed. */
  #searchedRevisions(row: number, { reader, summaries, tombstones }: OpenShard): SearchedRevisions {
    const known = this.#searched.get(row);
    if (known?.reader === reader) return known.revisions;
    const [selection] = this.#task.options.selections;
    const revisions = new SearchedRevisions(reader, { summaries, tombstones, sets: undefined }, selection);
    this.#searched.set(row, { reader, revisions });
    return revisions;
  }

  /** The commit sets of the documents of the shard at this index of the task's rows. */
  #documentSets(index: number, documentCount: number): DocumentSets | undefined {
    const sets = this.#task.options.commitSets;
    if (sets === undefined) return undefined;
    const from = sets.starts[index];
    return { ...sets, ofDocuments: sets.words.subarray(from, from + documentCount) };
  }

  /** Called between blocks: sends results that have waited long enough, and returns whether to pause. */
  #mustPause(): boolean {
    const now = performance.now();
    const waitMs =
      this.#batchCount > 0 || isOrdered(this.#task.ranked)
        ? flushAfterMs
        : this.#mayRequestHelp
          ? firstFlushAfterMs
          : 0;
    if (!this.#writer.isEmpty && now - this.#flushedMs > waitMs) this.#writer.flush();
    if (!this.#control.waitForCredit()) return true;
    if (this.#coverage !== undefined && this.#coverage.unsearched.length >= unsearchedCountMax) return true;
    return isOverdue(this.#thread, this.#startedMs, this.#task.lane);
  }
}

/**
 * The searches of single documents of one slice, by row of the table. The one of a shard is used again for the next
 * document of the shard, because binding the query to it takes longer than searching a document.
 */
class DocumentSearches {
  readonly #searches = new Map<number, { readonly reader: ShardReader; readonly search: ShardSearch }>();

  /**
   * A search of the wanted document. `make` is called for the first one of a shard, and for all documents if they are not
   * single ones. It is also called if the shard has another reader: the bytes of the last one may have been overwritten.
   */
  find(row: number, reader: ShardReader, wanted: WantedDocuments, make: () => ShardSearch): ShardSearch {
    const known = this.#searches.get(row);
    if (wanted.only === undefined || known?.reader !== reader) {
      const search = make();
      if (wanted.only !== undefined) this.#searches.set(row, { reader, search });
      return search;
    }
    known.search.restart(wanted);
    return known.search;
  }
}

/** Most files that one slice reports as excluded: a client is shown the first ten. */
const excludedCountMax = 1000;

/** Adds a file to the list of those that a slice excluded from its results. */
export function recordExcluded(
  excluded: ExcludedFile[],
  reader: ShardReader,
  file: Pick<ExcludedFile, "document" | "repository" | "reason">,
): void {
  if (excluded.length < excludedCountMax)
    excluded.push({ ...file, shardId: reader.id, path: reader.path(file.document).toString() });
}

/** Adds the files for which ctags has failed, if `reader` is that of symbols: they cannot be searched for symbols. */
function recordFailedSymbols(
  excluded: ExcludedFile[],
  reader: ShardReader,
  evaluators: readonly BasicQueryEvaluator[],
): void {
  if (!(reader instanceof SymbolView) || reader.symbols.failedCount === 0) return;
  for (const [document, reason] of reader.symbols.failedDocuments()) {
    const evaluator = evaluators.find((one) => one.covers(document));
    if (evaluator === undefined) continue;
    recordExcluded(excluded, reader, { document, repository: evaluator.repositorySummary(document).name, reason });
  }
}

/**
 * Ranks shards until none is left, the search is stopped or other slices wait. The one that ranks the last shard may write
 * the best documents of all.
 */
export class RankSlice {
  readonly #thread: SearchThread;
  readonly #task: RankTask;
  readonly #snapshot: ShardSnapshot;
  readonly #control: ControlBlock;
  readonly #stop: StopCheck;
  readonly #meter: CostMeter;
  readonly #shards: RankedShard[] = [];
  readonly #best: BestDocuments;
  readonly #failures: ShardFailure[] = [];
  readonly #examined: ExaminedShard[] = [];
  readonly #startedMs = performance.now();
  /** Whether names of symbols are searched instead of texts. */
  readonly #ofSymbols: boolean;
  readonly #opened: TaskShards;
  /** Undefined if shards are ranked the general way. */
  readonly #words: WordRanker | undefined;
  /** The shards that the kernel ranks, by index into the rows of the task, as far as they have been looked at. */
  #list: WordRanking | undefined;
  /** Faults of the store when the list was begun. */
  #listFaultCount: number;
  #mayRequestHelp: boolean;
  /** Of the shards that were ranked the general way. */
  #candidateCount = 0;
  /** The work on the words of the other shards, as `aloneBytesMax` counts it. */
  #wordBytes = 0;
  #wordShardCount = 0;

  constructor(thread: SearchThread, task: RankTask, snapshot: ShardSnapshot) {
    this.#thread = thread;
    this.#task = task;
    this.#snapshot = snapshot;
    this.#opened = new TaskShards(thread.shards, snapshot, new ShardTable(task.table), task);
    this.#listFaultCount = thread.shards.faultCount;
    this.#control = new ControlBlock(task.control);
    this.#meter = new CostMeter(this.#control);
    this.#stop = new StopCheck(this.#control);
    this.#ofSymbols = task.options.plan.basicQueries.some(({ text }) => text?.symbols !== undefined);
    this.#mayRequestHelp = task.isAlone;
    this.#best = new BestDocuments(task.budget.keptDocuments, task.budget.keptMatches);
    // The kernel does not tell the parts of a score.
    const search = task.withParts ? undefined : findWordSearch(task.options, thread.kernel);
    if (search !== undefined) {
      const { options, budget } = task;
      this.#words = { search, options, budget, kernel: thread.kernel, control: this.#control, stop: this.#stop };
    }
  }

  run(): RankTaskResult {
    let isDone = true;
    while (!this.#control.isStopped && this.#rankSome()) {
      this.#meter.record(0);
      isDone = !isOverdue(this.#thread, this.#startedMs, this.#task.lane);
      if (!isDone) break;
      if (this.#isMuchLeft()) this.#requestHelp();
    }
    for (const document of this.#best.documents) checkRanked(document, this.#task);
    const failures = this.#failures;
    const published = isDone ? this.#publish() : undefined;
    const written = published && this.#writeBest(published);
    // Whoever puts the documents of several nodes in order needs the best of all.
    const isKnown = this.#task.isApart !== true && written?.resume === undefined;
    if (published !== undefined && written !== undefined && isKnown) {
      const counted = { shards: written.countedShards, documents: written.countedDocuments };
      const { rows, options } = this.#task;
      const found = findLeft(rows.length, published.shards, published.best.documents, counted, options.receipt);
      // When the limit is reached, nothing more is searched.
      const left = this.#control.isStopped ? { shards: [], stats: found.stats } : found;
      return { ranked: undefined, examined: [], failures, isDone, written, left };
    }
    const { ranked, examined } = this.#encode();
    return { ranked, examined, failures, isDone, written, left: undefined };
  }

  #encode(): PublishedRanking {
    const ranked = encodeRanked(this.#best.documents, this.#shards, this.#task.withParts);
    return { ranked, examined: this.#examined };
  }

  /**
   * Lets the thread that publishes last read what this one has found. If it is this one, returns what all have found: only if
   * all shards are ranked, none has failed, and the board has room.
   */
  #publish(): FoundTogether | undefined {
    const { writtenSlice, rows } = this.#task;
    if (writtenSlice === undefined || this.#failures.length > 0 || this.#control.isStopped) return undefined;
    const count = this.#shards.length;
    if (count === rows.length) return { best: this.#best, shards: this.#shards, examined: this.#examined };
    const board = new RankBoard(this.#task.board);
    if (count === 0 || !board.write(this.#encode())) return undefined;
    if (this.#control.publishShards(count) < rows.length) return undefined;
    const all = board.read();
    return {
      best: mergeBest(
        all.map(({ ranked }) => ranked),
        this.#task.budget,
        this.#task,
      ),
      shards: all.flatMap(({ ranked }) => decodeShards(ranked)),
      examined: all.flatMap(({ examined }) => examined),
    };
  }

  /** Undefined if nothing was found. */
  #writeBest({ best, examined }: FoundTogether): SearchTaskResult | undefined {
    const { writtenSlice, searchId, options, rows, cached, lane, table, filter, control, isApart } = this.#task;
    assert(writtenSlice !== undefined, "only a task that may write does");
    if (best.documents.length === 0) return undefined;
    this.#control.restartShards();
    const own = workOnDocuments(
      { options, rows, cached },
      best.documents,
      undefined,
      isApart === true ? [] : examined,
      isApart,
    );
    const task: SearchTask = {
      options: own.options,
      rows: own.rows,
      cached: own.cached,
      ranked: own.ranked,
      // Messages of ranking have the negative number of the search.
      searchId: -searchId,
      slice: writtenSlice,
      table,
      filter,
      control,
      slot: 0,
      isAlone: true,
      lane,
      resume: undefined,
      explain: false,
    };
    return new SearchSlice(this.#thread, task, this.#snapshot, this.#opened).run();
  }

  #requestHelp(): void {
    if (!this.#mayRequestHelp || !mayAskForHelp(this.#thread, this.#task, this.#control.rankedShardCount)) return;
    this.#mayRequestHelp = false;
    parentPort?.postMessage({ kind: "help", searchId: this.#task.searchId } satisfies HelpMessage);
  }

  /** Ranks shards that nobody has taken. False if there are none. */
  #rankSome(): boolean {
    if (this.#words !== undefined) return this.#rankListed(this.#words);
    const shard = this.#control.takeRankedShard();
    if (shard >= this.#task.rows.length) return false;
    this.#rankShard(shard);
    return true;
  }

  #rankListed(words: WordRanker): boolean {
    const { rows } = this.#task;
    const { shards } = this.#thread;
    if (this.#control.rankedShardCount >= rows.length) return false;
    const { faultCount } = shards;
    // After a fault, bytes may be zeros: they are opened again.
    if (faultCount !== this.#listFaultCount) this.#list = undefined;
    this.#listFaultCount = faultCount;
    const list = (this.#list ??= new WordRanking(words));
    try {
      if (this.#control.rankedShardCount >= list.count) this.#listShards(list);
      const { ranked, left } = list.rank(this.#control.nextRanked, this.#best);
      for (const one of ranked) {
        if (shards.faultCount === faultCount) this.#takeWords(one);
        else this.#recordFailure(one.shard, lostPart(this.#opened.shardId(rows[one.shard])));
      }
      if (left !== undefined) this.#rankShard(left, list.has(left));
    } catch (error) {
      if (!isCancelled(error)) throw error;
      return false;
    }
    return true;
  }

  /**
   * Appends shards to the list, open if nothing of them has to be verified: another thread may take them, and lists them too. So
   * few are listed that this takes about `listMs`.
   */
  #listShards(list: WordRanking): void {
    const { rows } = this.#task;
    const from = this.#control.rankedShardCount;
    const end = Math.min(rows.length, from + listedShardsMax);
    const beganMs = performance.now();
    list.forget(from);
    while (list.count < end && !this.#control.isStopped) {
      if (list.count > from && performance.now() - beganMs > listMs) break;
      const isReady = list.count >= from && this.#opened.isReady(rows[list.count]);
      if (!isReady || !this.#listOpen(list)) list.add(undefined);
    }
  }

  /** False if the next shard does not stay open, or if that fails, which the thread that takes it reports. */
  #listOpen(list: WordRanking): boolean {
    try {
      const opened = this.#opened.openWithRecords(this.#task.rows[list.count]);
      if (!opened.isInPlace) return false;
      list.add(this.#toTarget(list.count, opened, opened.symbols));
      return true;
    } catch (error) {
      if (isCancelled(error)) throw error;
      return false;
    }
  }

  /**
   * A shard that fails has no ranked results: it is searched afterwards, which reports the failure. If the kernel has refused it,
   * it is ranked the general way.
   */
  #rankShard(shard: number, isRefused = false): void {
    const { shards } = this.#thread;
    const { faultCount } = shards;
    try {
      const target = this.#open(shard);
      if (target === undefined) {
        this.#shards.push({ shard, isComplete: false, keptCount: 0, stats: noStats() });
        return;
      }
      const words = isRefused ? undefined : this.#words && rankWords(target, this.#words, this.#best);
      const best = words ?? this.#rankGenerally(target);
      shards.requireNoFault(faultCount, target.reader.id);
      if (words === undefined) this.#take(best);
      else this.#takeWords(best);
    } catch (error) {
      if (!isCancelled(error)) this.#recordFailure(shard, error);
    }
  }

  #recordFailure(shard: number, error: unknown): void {
    this.#failures.push({ shardId: this.#opened.shardId(this.#task.rows[shard]), error: serializeError(error) });
  }

  #rankGenerally(target: RankedTarget): ShardBest {
    const { options, budget } = this.#task;
    const ranking = new ShardRanking(target, options, budget, this.#thread.kernel, this.#stop, this.#best);
    return ranking.run((count) => {
      this.#candidateCount += count;
      if (this.#candidateCount > aloneContentsMax) this.#requestHelp();
    });
  }

  /** Takes what the kernel has ranked. */
  #takeWords(found: ShardBest): void {
    this.#wordBytes += found.stats.scannedBytes + bytesPerCandidate * found.stats.candidateContents;
    this.#wordShardCount++;
    this.#take(found);
  }

  #take({ best, found, isWhole, shard, isComplete, keptCount, stats }: ShardBest): void {
    this.#shards.push({ shard, isComplete, keptCount, stats });
    if (found !== undefined && found.length > 0)
      this.#examined.push({ shard, row: this.#task.rows[shard], isWhole, found });
    for (const document of best) this.#best.offer(document);
  }

  /** Whether others should help with the shards that are left. */
  #isMuchLeft(): boolean {
    const elapsedMs = performance.now() - this.#startedMs;
    if (this.#wordShardCount < this.#shards.length) return elapsedMs > aloneMs;
    const left = this.#task.rows.length - this.#control.rankedShardCount;
    return left * this.#wordBytes > aloneBytesMax * this.#wordShardCount || elapsedMs > aloneWordsMs;
  }

  /** Undefined if the symbols are wanted that are not known: the shard is searched afterwards, which reports that. */
  #open(shard: number): RankedTarget | undefined {
    const row = this.#task.rows[shard];
    if (!this.#ofSymbols) {
      const opened = this.#opened.openWithRecords(row);
      return this.#toTarget(shard, opened, opened.symbols);
    }
    const opened = this.#opened.openSymbols(row);
    return opened && this.#toTarget(shard, opened, undefined);
  }

  #toTarget(
    shard: number,
    { reader, summaries, tombstones, checkContent }: OpenShard,
    symbols: SymbolReader | undefined,
  ): RankedTarget {
    const sets = this.#documentSets(shard, reader.documentCount);
    return { shard, reader, symbols, visibility: { summaries, tombstones, sets }, checkContent };
  }

  #documentSets(shard: number, documentCount: number): RankedTarget["visibility"]["sets"] {
    const sets = this.#task.options.commitSets;
    if (sets === undefined) return undefined;
    const from = sets.starts[shard];
    return { ...sets, ofDocuments: sets.words.subarray(from, from + documentCount) };
  }
}

/** A filter on paths may take longer than ranking the shard. */
const listMs = 1;

/** What all threads of a search have found. */
interface FoundTogether {
  readonly best: BestDocuments;
  readonly shards: readonly RankedShard[];
  readonly examined: readonly ExaminedShard[];
}
