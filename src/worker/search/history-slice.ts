import { serializeError, TrawlError } from "../../base/errors.js";
import { CommitWriter } from "../../eval/history/commit-match.js";
import { MergedHistorySearch, type FoundResult } from "../../eval/history/merged-search.js";
import { HistoryReader } from "../../history/history-reader.js";
import { CommitPageWriter } from "../../protocol/commit-page.js";
import type { HistoryPosition, HistoryTask, HistoryTaskResult } from "../../protocol/history-messages.js";
import { ControlBlock, CostMeter } from "../../protocol/control-block.js";
import { StopCheck } from "../../protocol/stop-check.js";
import type { ShardSnapshot } from "../../store/shard-store.js";
import { isCancelled, isOverdue, type SearchThread } from "./search-thread.js";

/** The id of shards that are not stored. */
const unstoredId = 0;

/** Searches one history shard, after the results that are known already. */
export function searchHistory(thread: SearchThread, snapshot: ShardSnapshot, task: HistoryTask): HistoryTaskResult {
  const startedMs = performance.now();
  const page = new CommitPageWriter();
  const form = { diffType: task.diffType, nowMs: task.nowMs };
  const writer = new CommitWriter(thread.kernel, task.repository, form);
  const meter = new CostMeter(new ControlBlock(task.control));
  const result = (next: HistoryPosition | undefined, error?: unknown): HistoryTaskResult => {
    meter.record(0);
    return {
      results: page.page(Uint8Array.from(writer.bytes)),
      next,
      error: error === undefined ? undefined : serializeError(error),
    };
  };
  try {
    const { faultCount } = thread.shards;
    const stored = task.shard instanceof Uint8Array ? undefined : task.shard;
    const reader =
      task.shard instanceof Uint8Array
        ? new HistoryReader(unstoredId, task.shard)
        : thread.histories.open(snapshot, task.shard, ["index", "text"], thread.shards);
    const target = {
      reader,
      kernel: thread.kernel,
      visible: stored?.visible,
      useIndex: task.useIndex,
      stop: new StopCheck(new ControlBlock(task.control)),
    };
    const search = new MergedHistorySearch(task.plans, target, task.from);
    let matchCount = 0;
    for (let one = search.next(); one !== undefined; one = search.next()) {
      if (stored !== undefined) thread.shards.requireNoFault(faultCount, stored.id);
      addResult(one, writer, page);
      matchCount += one.matchCount;
      if (writer.byteCount > task.jsonBytesMax || matchCount > task.matchCountMax) return result(one.next);
      if (isOverdue(thread, startedMs, task.lane)) return result(one.next);
    }
    return result(undefined);
  } catch (error) {
    if (isCancelled(error) || new ControlBlock(task.control).isStopped) return result(undefined);
    if (error instanceof TrawlError) return result(undefined, error);
    throw error;
  }
}

function addResult({ result, matchCount, matches }: FoundResult, writer: CommitWriter, page: CommitPageWriter): void {
  writer.write(result);
  const { kind, oid, author, committer, ranges } = result;
  const { name: authorName, email: authorEmail } = author;
  const columns = { kind, oid, committed: committer.unixSeconds, matchCount, matches, authorName, authorEmail };
  page.add({ ...columns, rangeCount: ranges.length }, writer.byteCount);
}
