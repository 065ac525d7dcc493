import { serializeError } from "../../base/errors.js";
import { ShardFind } from "../../eval/shard-find.js";
import { ControlBlock, CostMeter, StopCheck } from "../../protocol/control-block.js";
import type { ExcludedFile, FindPosition, FindTask, FindTaskResult, ShardFailure } from "../../protocol/messages.js";
import { noStats } from "../../protocol/search-options.js";
import { ShardTable } from "../../protocol/shard-table.js";
import type { ShardSnapshot } from "../../store/shard-store.js";
import { recordExcluded } from "./search-slice.js";
import { isCancelled, isOverdue, type SearchThread } from "./search-thread.js";

/** One slice of the look-up of repositories with certain files: like a slice of a search, but without results. */
export class FindSlice {
  readonly #thread: SearchThread;
  readonly #task: FindTask;
  readonly #table: ShardTable;
  readonly #stats = noStats();
  readonly #failures: ShardFailure[] = [];
  readonly #excluded: ExcludedFile[] = [];
  readonly #startedMs = performance.now();
  readonly #control: ControlBlock;
  readonly #stop: StopCheck;

  constructor(thread: SearchThread, task: FindTask) {
    this.#thread = thread;
    this.#task = task;
    this.#control = new ControlBlock(task.control);
    this.#stop = new StopCheck(this.#control);
    this.#table = new ShardTable(task.table);
  }

  run(snapshot: ShardSnapshot): FindTaskResult {
    let from = this.#task.resume ?? this.#nextShard();
    const meter = new CostMeter(this.#control);
    while (from !== undefined && !this.#control.isStopped) {
      const before = this.#stats.scannedBytes;
      from = this.#findInShard(snapshot, from) ?? this.#nextShard();
      meter.record(this.#stats.scannedBytes - before);
      if (this.#mustPause()) break;
    }
    return {
      resume: this.#control.isStopped ? undefined : from,
      stats: this.#stats,
      failures: this.#failures,
      excluded: this.#excluded,
    };
  }

  #nextShard(): FindPosition | undefined {
    const shard = Atomics.add(this.#task.next, 0, 1);
    return shard < this.#task.rows.length ? { shard, condition: 0, content: 0 } : undefined;
  }

  /** Returns where to resume in this shard, or undefined when it is done. */
  #findInShard(snapshot: ShardSnapshot, from: FindPosition): FindPosition | undefined {
    const { shards, kernel } = this.#thread;
    const row = this.#task.rows[from.shard];
    const shardId = this.#table.shardId(row);
    const { faultCount } = shards;
    try {
      const { reader, summaries, tombstones, checkContent } = shards.open(
        snapshot,
        this.#table,
        row,
        this.#task.filter,
      );
      for (let condition = from.condition; condition < this.#task.conditions.length; condition++) {
        const find = new ShardFind(
          this.#task.conditions[condition],
          reader,
          { summaries, tombstones, sets: undefined },
          kernel,
          checkContent,
          this.#stop,
          (document, repository, reason) => recordExcluded(this.#excluded, reader, { document, repository, reason }),
        );
        const content = find.run(condition === from.condition ? from.content : 0, this.#stats, () => this.#mustPause());
        if (content !== undefined) return { shard: from.shard, condition, content };
      }
      shards.requireNoFault(faultCount, shardId);
    } catch (error) {
      if (!isCancelled(error)) this.#failures.push({ shardId, error: serializeError(error) });
    }
    return undefined;
  }

  #mustPause(): boolean {
    return this.#control.isStopped || isOverdue(this.#thread, this.#startedMs, this.#task.lane);
  }
}
