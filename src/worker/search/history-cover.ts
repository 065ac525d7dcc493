import { hasBit } from "../../base/bits.js";
import { serializeError, type SerializedError } from "../../base/errors.js";
import { CommitCover } from "../../history/commit-cover.js";
import { commitFlags, entryFlags } from "../../history/format.js";
import type { HistoryReader } from "../../history/history-reader.js";
import { ControlBlock } from "../../protocol/control-block.js";
import type { CoverResult, CoverTask, VisibleHistory } from "../../protocol/history-messages.js";
import type { ShardSnapshot } from "../../store/shard-store.js";
import type { SearchThread } from "./search-thread.js";

/** Finds the commits of a list in history shards. A shard that cannot be read is reported, and has none of them. */
export function coverHistory(thread: SearchThread, snapshot: ShardSnapshot, task: CoverTask): CoverResult {
  const control = new ControlBlock(task.control);
  const cover = new CommitCover(task.list);
  const shards: VisibleHistory[] = [];
  const failures: { shardId: number; error: SerializedError }[] = [];
  let brokenCount = 0;
  let largeFileCount = 0;
  let cutMessageCount = 0;
  // The newest first: it has the most recent commits, and what older ones have as well is found in it.
  for (const stored of task.shards.toReversed()) {
    if (control.isStopped) break;
    try {
      const { faultCount } = thread.shards;
      const reader = thread.histories.open(snapshot, stored, ["index"], thread.shards);
      const visible = cover.add(reader);
      const found = describeVisible(reader, visible);
      thread.shards.requireNoFault(faultCount, stored.id);
      if (found.newest < found.oldest) continue;
      shards.push({ ...stored, visible, oldest: found.oldest, newest: found.newest });
      brokenCount += found.brokenCount;
      largeFileCount += found.largeFileCount;
      cutMessageCount += found.cutMessageCount;
    } catch (error) {
      failures.push({ shardId: stored.id, error: serializeError(error) });
    }
  }
  return { shards, missing: cover.missing(), brokenCount, largeFileCount, cutMessageCount, failures };
}

/** The dates of the visible commits, and what is missing of them. */
function describeVisible(reader: HistoryReader, visible: Uint32Array) {
  let [oldest, newest] = [Infinity, -Infinity];
  let brokenCount = 0;
  let largeFileCount = 0;
  let cutMessageCount = 0;
  for (let commit = 0; commit < reader.commitCount; commit++) {
    if (!hasBit(visible, commit)) continue;
    oldest = Math.min(oldest, reader.committerDates[commit]);
    newest = Math.max(newest, reader.committerDates[commit]);
    if ((reader.commitFlags[commit] & commitFlags.incomplete) !== 0) brokenCount++;
    if ((reader.commitFlags[commit] & commitFlags.messageCut) !== 0) cutMessageCount++;
    for (let entry = reader.commitFirstEntry[commit]; entry < reader.commitFirstEntry[commit + 1]; entry++)
      if ((reader.entryInfo[entry] & entryFlags.tooLarge) !== 0) largeFileCount++;
  }
  return { oldest, newest, brokenCount, largeFileCount, cutMessageCount };
}
