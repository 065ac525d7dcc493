import { parentPort } from "node:worker_threads";
import { serializeError } from "../../base/errors.js";
import { ShardRanking, type RankedTarget } from "../../eval/ranking/shard-ranking.js";
import { ControlBlock, CostMeter, StopCheck } from "../../protocol/control-block.js";
import type { HelpMessage, SearchTask, SearchTaskResult, ShardFailure } from "../../protocol/messages.js";
import {
  type RankedShard,
  type RankTask,
  type RankTaskResult,
  encodeRanked,
  BestDocuments,
  workOnDocuments,
} from "../../protocol/rank-messages.js";
import { checkRanked } from "../../protocol/message-checks.js";
import { ShardTable } from "../../protocol/shard-table.js";
import { noStats } from "../../protocol/search-options.js";
import type { ShardSnapshot } from "../../store/shard-store.js";
import { SearchSlice } from "./search-slice.js";
import {
  isCancelled,
  isOverdue,
  mayAskForHelp,
  type SearchThread,
  aloneContentsMax,
  aloneMs,
} from "./search-thread.js";

/**
 * Ranks shards until none is left, the search is stopped or other slices wait. If it has ranked all shards, it may write
 * the best documents.
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
  readonly #startedMs = performance.now();
  /** Whether names of symbols are searched instead of texts. */
  readonly #ofSymbols: boolean;
  #mayRequestHelp: boolean;
  #candidateCount = 0;

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
  }

  run(snapshot: ShardSnapshot): RankTaskResult {
    let isDone = true;
    let shard = this.#control.takeShard();
    while (shard < this.#task.rows.length && !this.#control.isStopped) {
      this.#rankShard(snapshot, shard);
      this.#meter.record(0);
      isDone = !isOverdue(this.#thread, this.#startedMs, this.#task.lane);
      if (!isDone) break;
      if (performance.now() - this.#startedMs > aloneMs) this.#requestHelp();
      shard = this.#control.takeShard();
    }
    for (const document of this.#best.documents) checkRanked(document, this.#task);
    const ranked = encodeRanked(this.#best.documents, this.#shards, this.#task.withParts);
    return { ranked, failures: this.#failures, isDone, written: isDone ? this.#writeBest(snapshot) : undefined };
  }

  /** Undefined if the order is not known yet, because shards failed or other threads rank some. */
  #writeBest(snapshot: ShardSnapshot): SearchTaskResult | undefined {
    const { writtenSlice, searchId, options, rows, cached, lane, table, filter, control } = this.#task;
    if (writtenSlice === undefined || !this.#mayRequestHelp || this.#failures.length > 0) return undefined;
    if (this.#control.isStopped || this.#best.documents.length === 0) return undefined;
    this.#control.restartShards();
    const task: SearchTask = {
      ...workOnDocuments({ options, rows, cached }, this.#best.documents, undefined),
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
    if (!this.#mayRequestHelp || !mayAskForHelp(this.#thread, this.#task, this.#control)) return;
    this.#mayRequestHelp = false;
    parentPort?.postMessage({ kind: "help", searchId: this.#task.searchId } satisfies HelpMessage);
  }

  /** A shard that fails has no ranked results: it is searched afterwards, which reports the failure. */
  #rankShard(snapshot: ShardSnapshot, shard: number): void {
    const { shards, kernel } = this.#thread;
    const { faultCount } = shards;
    try {
      const target = this.#open(snapshot, shard);
      if (target === undefined) {
        this.#shards.push({ shard, isComplete: false, keptCount: 0, stats: noStats() });
        return;
      }
      const ranking = new ShardRanking(target, this.#task.options, this.#task.budget, kernel, this.#stop, this.#best);
      const { best, ...ranked } = ranking.run((count) => {
        this.#candidateCount += count;
        if (this.#candidateCount > aloneContentsMax) this.#requestHelp();
      });
      shards.requireNoFault(faultCount, target.reader.id);
      this.#shards.push(ranked);
      for (const document of best) this.#best.offer(document);
    } catch (error) {
      if (!isCancelled(error)) this.#failures.push({ shardId: this.#shardId(shard), error: serializeError(error) });
    }
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
