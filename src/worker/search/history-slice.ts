import { serializeError, TrawlError } from "../../base/errors.js";
import { encodeCommitMatch } from "../../eval/history/commit-match.js";
import { MergedHistorySearch, type FoundResult } from "../../eval/history/merged-search.js";
import { HistoryReader } from "../../history/history-reader.js";
import type { FoundCommit, HistoryTask, HistoryTaskResult } from "../../protocol/history-messages.js";
import { ControlBlock } from "../../protocol/control-block.js";
import { StopCheck } from "../../protocol/stop-check.js";
import type { ShardSnapshot } from "../../store/shard-store.js";
import { isCancelled, isOverdue, type SearchThread } from "./search-thread.js";

/** Results are returned when they have this many UTF-16 code units of JSON, so that memory is bounded. */
const jsonUnitsMax = 1 << 20;

/** The id of shards that are not stored. */
const unstoredId = 0;

/** Searches one history shard, from the results that are known already. */
export function searchHistory(thread: SearchThread, snapshot: ShardSnapshot, task: HistoryTask): HistoryTaskResult {
  const startedMs = performance.now();
  const results: FoundCommit[] = [];
  const result = (isDone: boolean, error?: unknown): HistoryTaskResult => ({
    results,
    isDone,
    error: error === undefined ? undefined : serializeError(error),
  });
  try {
    const { faultCount } = thread.shards;
    const stored = task.shard instanceof Uint8Array ? undefined : task.shard;
    const reader =
      task.shard instanceof Uint8Array
        ? new HistoryReader(unstoredId, task.shard)
        : thread.histories.open(snapshot, task.shard, faultCount);
    const search = new MergedHistorySearch(task.plans, {
      reader,
      kernel: thread.kernel,
      visible: stored?.visible,
      useIndex: task.useIndex,
      stop: new StopCheck(new ControlBlock(task.control)),
    });
    const form = { diffType: task.diffType, nowMs: task.nowMs };
    let units = 0;
    let matchCount = 0;
    for (let found = search.next(task.skipCount); found !== undefined; found = search.next(0)) {
      if (stored !== undefined) thread.shards.requireNoFault(faultCount, stored.id);
      const json = encodeCommitMatch(found.result, task.repository, form);
      results.push(toFoundCommit(found, json));
      units += json.length;
      matchCount += found.matchCount;
      if (units > jsonUnitsMax || matchCount > task.matchCountMax) return result(false);
      if (isOverdue(thread, startedMs, task.lane)) return result(false);
    }
    return result(true);
  } catch (error) {
    if (isCancelled(error) || new ControlBlock(task.control).isStopped) return result(true);
    if (error instanceof TrawlError) return result(true, error);
    throw error;
  }
}

function toFoundCommit({ result, matchCount, matches }: FoundResult, json: string): FoundCommit {
  const { kind, oid, author, committer } = result;
  return {
    kind,
    oid,
    committed: committer.unixSeconds,
    matchCount,
    matches,
    authorName: author.name,
    authorEmail: author.email,
    json,
  };
}
