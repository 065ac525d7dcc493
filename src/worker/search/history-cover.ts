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
  // The newest first: it has the most recent commits, and what older ones have as well is found in it.
  for (const stored of task.shards.toReversed()) {
    if (control.isStopped) break;
    try {
      const { faultCount } = thread.shards;
      const reader = thread.histories.open(snapshot, stored, faultCount);
      const visible = cover.add(reader);
      const gaps = countGaps(reader, visible);
      thread.shards.requireNoFault(faultCount, stored.id);
      if (visible.every((word) => word === 0)) continue;
      shards.push({ ...stored, visible });
      brokenCount += gaps.brokenCount;
      largeFileCount += gaps.largeFileCount;
    } catch (error) {
      failures.push({ shardId: stored.id, error: serializeError(error) });
    }
  }
  return { shards, missing: cover.missing(), brokenCount, largeFileCount, failures };
}

function countGaps(reader: HistoryReader, visible: Uint32Array) {
  let brokenCount = 0;
  let largeFileCount = 0;
  for (let commit = 0; commit < reader.commitCount; commit++) {
    if (!hasBit(visible, commit)) continue;
    if ((reader.commitFlags[commit] & commitFlags.incomplete) !== 0) brokenCount++;
    for (let entry = reader.commitFirstEntry[commit]; entry < reader.commitFirstEntry[commit + 1]; entry++)
      if ((reader.entryInfo[entry] & entryFlags.tooLarge) !== 0) largeFileCount++;
  }
  return { brokenCount, largeFileCount };
}
