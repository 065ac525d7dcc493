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
  type CachedShardRange,
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
import { lostPart, type OpenShard } from "./shard-opener.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import type { BasicQueryEvaluator } from "../../eval/match/basic-query-evaluator.js";
import { SymbolView } from "../../shard/symbols/symbol-view.js";
import { type RankedTarget, type ShardBest, ShardRanking } from "../../eval/ranking/shard-ranking.js";
import { findWordSearch, rankWords, type WordRanker } from "../../eval/ranking/word-ranking.js";
import {
  BestDocuments,
  checkRanked,
  decodeDocuments,
  encodeRanked,
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
  /** By row: what is searched in shards of which documents are written or counted without a search. */
  readonly #searched = new Map<number, { readonly reader: ShardReader; readonly revisions: SearchedRevisions }>();

  constructor(thread: SearchThread, task: SearchTask) {
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
    const bytesMax = batchBytes[task.lane];
    this.#writer = new ResultWriter(thread.kernel, task.options, this.#control, bytesMax, thread.buffers, (batch) =>
      this.#take(batch),
    );
  }

  run(snapshot: ShardSnapshot): SearchTaskResult {
    let shard = this.#task.resume?.shard ?? this.#control.takeShard();
    let position = this.#task.resume?.position ?? shardStart;
    while (shard < this.#task.rows.length && this.#isWanted(position)) {
      const next = this.#searchShard(snapshot, shard, position);
      if (next !== undefined) return this.#result({ shard, position: next });
      const mustPause = this.#mustPause();
      shard = this.#control.takeShard();
      position = shardStart;
      if (mustPause && shard < this.#task.rows.length) return this.#result({ shard, position });
      if (performance.now() - this.#startedMs > aloneMs) this.#requestHelp();
    }
    this.#countExamined(snapshot);
    return this.#result(undefined);
  }

  /** Counts what ranking has found besides the documents that are written, unless some of it is to be shown. */
  #countExamined(snapshot: ShardSnapshot): void {
    const { rows, ranked } = this.#task;
    const { limits } = this.#writer;
    const examined = ranked?.examined ?? [];
    if (examined.length === 0 || limits.mayShow) return;
    const written = new Map<number, Set<number>>();
    ranked?.only?.forEach((document, i) => {
      written.set(rows[i], (written.get(rows[i]) ?? new Set()).add(document));
    });
    for (const shard of examined) this.#countShard(snapshot, shard, written.get(shard.row));
  }

  /** Counts the results of one examined shard, except the documents that are written. */
  #countShard(
    snapshot: ShardSnapshot,
    { shard, row, isWhole, found }: ExaminedShard,
    written: ReadonlySet<number> = none,
  ): void {
    if (this.#writer.isStopped) return;
    const isLive = row < this.#table.count;
    const shardId = isLive ? this.#table.shardId(row) : this.#cachedShard(row).id;
    this.#dropUntrusted();
    const faultCount = this.#faultCount;
    this.#unsent.push(shardId);
    try {
      const opened = this.#open(snapshot, row, false) as OpenShard;
      const { reader } = opened;
      const searched = this.#searchedRevisions(row, opened);
      this.#writer.open(reader, undefined);
      this.#countFound(found, reader, searched, written);
      if (isLive) this.#thread.shards.requireNoFault(faultCount, shardId);
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
  #take(batch: ResultBatch): void {
    this.#flushedMs = performance.now();
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
  #searchShard(snapshot: ShardSnapshot, index: number, position: ShardPosition): ShardPosition | undefined {
    const { ofTexts, ofSymbols } = this.#wanted;
    if (ofTexts && position.inSymbols !== true) {
      const next = this.#searchPart(snapshot, index, position, false);
      if (next !== undefined) return next;
    }
    if (!ofSymbols || !this.#isWanted(position)) return undefined;
    const next = this.#searchPart(snapshot, index, position.inSymbols === true ? position : shardStart, true);
    return next === undefined ? undefined : { ...next, inSymbols: true };
  }

  #open(snapshot: ShardSnapshot, row: number, inSymbols: boolean): OpenShard | undefined {
    const { shards } = this.#thread;
    const isLive = row < this.#table.count;
    if (!inSymbols)
      return isLive
        ? shards.open(snapshot, this.#table, row, this.#task.filter)
        : shards.openCached(this.#cachedShard(row));
    return isLive
      ? shards.openSymbols(snapshot, this.#table, row, this.#task.filter)
      : shards.openCachedSymbols(this.#cachedShard(row));
  }

  #searchPart(
    snapshot: ShardSnapshot,
    index: number,
    position: ShardPosition,
    inSymbols: boolean,
  ): ShardPosition | undefined {
    const { shards, kernel } = this.#thread;
    const row = this.#task.rows[index];
    const isLive = row < this.#table.count;
    this.#control.setShardOfSlot(this.#task.slot, index);
    const stats = noStats();
    const shardId = isLive ? this.#table.shardId(row) : this.#cachedShard(row).id;
    this.#dropUntrusted();
    const faultCount = this.#faultCount;
    this.#unsent.push(shardId);
    try {
      checkRow(this.#task, index, this.#table.count);
      const opened = this.#open(snapshot, row, inSymbols);
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

  /** Rows past those of the table are shards of the revision cache. */
  #cachedShard(row: number): CachedShardRange {
    return this.#task.cached[row - this.#table.count];
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

const none: ReadonlySet<number> = new Set();

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
  readonly #table: ShardTable;
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
  /** Undefined if shards are ranked the general way. */
  readonly #words: WordRanker | undefined;
  #mayRequestHelp: boolean;
  /** Of the shards that were ranked the general way. */
  #candidateCount = 0;
  /** The work on the words of the other shards, as `aloneBytesMax` counts it. */
  #wordBytes = 0;
  #wordShardCount = 0;

  constructor(thread: SearchThread, task: RankTask) {
    this.#thread = thread;
    this.#task = task;
    this.#table = new ShardTable(task.table);
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

  run(snapshot: ShardSnapshot): RankTaskResult {
    let isDone = true;
    let shard = this.#control.takeRankedShard();
    while (shard < this.#task.rows.length && !this.#control.isStopped) {
      this.#rankShard(snapshot, shard);
      this.#meter.record(0);
      isDone = !isOverdue(this.#thread, this.#startedMs, this.#task.lane);
      if (!isDone) break;
      if (this.#isMuchLeft()) this.#requestHelp();
      shard = this.#control.takeRankedShard();
    }
    for (const document of this.#best.documents) checkRanked(document, this.#task);
    const ranked = encodeRanked(this.#best.documents, this.#shards, this.#task.withParts);
    const own = { ranked, examined: this.#examined };
    const published = isDone ? this.#publish(own) : undefined;
    const written = published && this.#writeBest(snapshot, published);
    const examined = written === undefined || written.resume !== undefined ? own.examined : [];
    return { ranked, examined, failures: this.#failures, isDone, written };
  }

  /**
   * Lets the thread that publishes last read what this one has found. If it is this one, returns what all have found: only if
   * all shards are ranked, none has failed, and the board has room.
   */
  #publish(own: PublishedRanking): readonly PublishedRanking[] | undefined {
    const { writtenSlice, rows } = this.#task;
    if (writtenSlice === undefined || this.#failures.length > 0 || this.#control.isStopped) return undefined;
    const count = this.#shards.length;
    if (count === rows.length) return [own];
    const board = new RankBoard(this.#task.board);
    if (count === 0 || !board.write(own)) return undefined;
    return this.#control.publishShards(count) === rows.length ? board.read() : undefined;
  }

  /** Undefined if nothing was found. */
  #writeBest(snapshot: ShardSnapshot, published: readonly PublishedRanking[]): SearchTaskResult | undefined {
    const { writtenSlice, searchId, options, rows, cached, lane, table, filter, control } = this.#task;
    assert(writtenSlice !== undefined, "only a task that may write does");
    const examined = published.flatMap((one) => one.examined);
    const best = published.length === 1 ? this.#best : mergeBest(this.#task, published);
    if (best.documents.length === 0) return undefined;
    this.#control.restartShards();
    const task: SearchTask = {
      ...workOnDocuments({ options, rows, cached }, best.documents, undefined, examined),
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
    return new SearchSlice(this.#thread, task).run(snapshot);
  }

  #requestHelp(): void {
    if (!this.#mayRequestHelp || !mayAskForHelp(this.#thread, this.#task, this.#control.rankedShardCount)) return;
    this.#mayRequestHelp = false;
    parentPort?.postMessage({ kind: "help", searchId: this.#task.searchId } satisfies HelpMessage);
  }

  /** A shard that fails has no ranked results: it is searched afterwards, which reports the failure. */
  #rankShard(snapshot: ShardSnapshot, shard: number): void {
    const { shards } = this.#thread;
    const { faultCount } = shards;
    try {
      const target = this.#open(snapshot, shard);
      if (target === undefined) {
        this.#shards.push({ shard, isComplete: false, keptCount: 0, stats: noStats() });
        return;
      }
      const { best, found, isWhole, ...ranked } = this.#rankTarget(target);
      shards.requireNoFault(faultCount, target.reader.id);
      this.#shards.push(ranked);
      const { rows } = this.#task;
      if (found !== undefined && found.length > 0) this.#examined.push({ shard, row: rows[shard], isWhole, found });
      for (const document of best) this.#best.offer(document);
    } catch (error) {
      if (!isCancelled(error)) this.#failures.push({ shardId: this.#shardId(shard), error: serializeError(error) });
    }
  }

  #rankTarget(target: RankedTarget): ShardBest {
    const { options, budget } = this.#task;
    const found = this.#words && rankWords(target, this.#words, this.#best);
    if (found !== undefined) {
      this.#wordBytes += found.stats.scannedBytes + bytesPerCandidate * found.stats.candidateContents;
      this.#wordShardCount++;
      return found;
    }
    const ranking = new ShardRanking(target, options, budget, this.#thread.kernel, this.#stop, this.#best);
    return ranking.run((count) => {
      this.#candidateCount += count;
      if (this.#candidateCount > aloneContentsMax) this.#requestHelp();
    });
  }

  /** Whether others should help with the shards that are left. */
  #isMuchLeft(): boolean {
    const elapsedMs = performance.now() - this.#startedMs;
    if (this.#wordShardCount < this.#shards.length) return elapsedMs > aloneMs;
    const left = this.#task.rows.length - this.#control.rankedShardCount;
    return left * this.#wordBytes > aloneBytesMax * this.#wordShardCount || elapsedMs > aloneWordsMs;
  }

  #shardId(shard: number): number {
    const row = this.#task.rows[shard];
    return row < this.#table.count ? this.#table.shardId(row) : this.#task.cached[row - this.#table.count].id;
  }

  /** Undefined if the symbols are wanted that are not known: the shard is searched afterwards, which reports that. */
  #open(snapshot: ShardSnapshot, shard: number): RankedTarget | undefined {
    const { shards } = this.#thread;
    const row = this.#task.rows[shard];
    if (this.#ofSymbols) {
      const opened =
        row < this.#table.count
          ? shards.openSymbols(snapshot, this.#table, row, this.#task.filter)
          : shards.openCachedSymbols(this.#task.cached[row - this.#table.count]);
      if (opened === undefined) return undefined;
      const { reader, summaries, tombstones, checkContent } = opened;
      const sets = this.#documentSets(shard, reader.documentCount);
      return { shard, reader, symbols: undefined, visibility: { summaries, tombstones, sets }, checkContent };
    }
    if (row >= this.#table.count) {
      const { reader, summaries, tombstones, checkContent } = shards.openCached(
        this.#task.cached[row - this.#table.count],
      );
      const sets = this.#documentSets(shard, reader.documentCount);
      return { shard, reader, symbols: undefined, visibility: { summaries, tombstones, sets }, checkContent };
    }
    const { reader, symbols, summaries, tombstones, checkContent } = shards.openWithRecords(
      snapshot,
      this.#table,
      row,
      this.#task.filter,
    );
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

/** The best documents of several threads. */
function mergeBest(task: RankTask, published: readonly PublishedRanking[]): BestDocuments {
  const best = new BestDocuments(task.budget.keptDocuments, task.budget.keptMatches);
  for (const { ranked } of published)
    for (const document of decodeDocuments(ranked)) {
      checkRanked(document, task);
      best.offer(document);
    }
  return best;
}
