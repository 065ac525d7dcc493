import { uninitializedBytes } from "../../base/bytes.js";
import { serializeError, TrawlError } from "../../base/errors.js";
import { encodeCommitMatch } from "../../eval/history/commit-match.js";
import { MergedHistorySearch, type FoundResult } from "../../eval/history/merged-search.js";
import { HistoryReader } from "../../history/history-reader.js";
import type { FoundCommit, HistoryPosition, HistoryTask, HistoryTaskResult } from "../../protocol/history-messages.js";
import { ControlBlock } from "../../protocol/control-block.js";
import { StopCheck } from "../../protocol/stop-check.js";
import type { ShardSnapshot } from "../../store/shard-store.js";
import { isCancelled, isOverdue, type SearchThread } from "./search-thread.js";

/** The id of shards that are not stored. */
const unstoredId = 0;

/** Searches one history shard, after the results that are known already. */
export function searchHistory(thread: SearchThread, snapshot: ShardSnapshot, task: HistoryTask): HistoryTaskResult {
  const startedMs = performance.now();
  const found: FoundResult[] = [];
  const texts: string[] = [];
  const result = (next: HistoryPosition | undefined, error?: unknown): HistoryTaskResult => ({
    results: toFoundCommits(found, texts),
    next,
    error: error === undefined ? undefined : serializeError(error),
  });
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
    const form = { diffType: task.diffType, nowMs: task.nowMs };
    let units = 0;
    let matchCount = 0;
    for (let one = search.next(); one !== undefined; one = search.next()) {
      if (stored !== undefined) thread.shards.requireNoFault(faultCount, stored.id);
      const json = encodeCommitMatch(one.result, task.repository, form);
      found.push(one);
      texts.push(json);
      units += json.length;
      matchCount += one.matchCount;
      if (units > task.jsonUnitsMax || matchCount > task.matchCountMax) return result(one.next);
      if (isOverdue(thread, startedMs, task.lane)) return result(one.next);
    }
    return result(undefined);
  } catch (error) {
    if (isCancelled(error) || new ControlBlock(task.control).isStopped) return result(undefined);
    if (error instanceof TrawlError) return result(undefined, error);
    throw error;
  }
}

/** Their match objects are written into one buffer, which takes a third of the time of sending as many strings. */
function toFoundCommits(found: readonly FoundResult[], texts: readonly string[]): FoundCommit[] {
  const bytes = uninitializedBytes(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0));
  let at = 0;
  return found.map(({ result: { kind, oid, author, committer, ranges }, matchCount, matches }, i) => {
    const from = at;
    at += bytes.write(texts[i], at);
    return {
      kind,
      oid,
      committed: committer.unixSeconds,
      matchCount,
      matches,
      authorName: author.name,
      authorEmail: author.email,
      rangeCount: ranges.length,
      json: new Uint8Array(bytes.buffer, from, at - from),
    };
  });
}
