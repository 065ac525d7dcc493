import { join } from "node:path";
import { stopWhenSet } from "../../base/stop-signal.js";
import { HistoryReader } from "../../history/history-reader.js";
import { indexHistory, type IndexedHistory } from "../../indexer/index-history.js";
import type { HistoryShardRecord } from "../../model/history-record.js";
import { mirrorName, mirrorsFolder } from "../../model/mirror-name.js";
import type { IndexHistoryTask, IndexHistoryTaskResult } from "../../protocol/ingest-messages.js";
import { stepAllowanceMs, timeAllowance } from "./allowances.js";
import type { IngestThread } from "./ingest-thread.js";

/** Builds and writes the next history shard of a repository. */
export async function runHistory(thread: IngestThread, task: IndexHistoryTask): Promise<IndexHistoryTaskResult> {
  const { activity, store, dataFolder, kernel } = thread;
  const { id } = task.repository;
  activity.enter("indexing", id, "history", stepAllowanceMs);
  const { shard, ...counts } = await indexHistory(
    {
      directory: join(dataFolder, mirrorsFolder, mirrorName(id)),
      tips: task.tips,
      doneTips: task.doneTips,
      kept: task.kept,
      kernel,
      stop: stopWhenSet(task.stop),
      onCommit: () => activity.beat(),
      onBuild: (textBytes) => activity.allow(stepAllowanceMs + timeAllowance(textBytes)),
    },
    () => store.read(),
  );
  return { ...counts, shard: shard === undefined ? undefined : await writeShard(thread, task, shard) };
}

async function writeShard(
  { guardedStore }: IngestThread,
  { repository, shardIds }: IndexHistoryTask,
  { bytes, textBytes, commitCount }: NonNullable<IndexedHistory["shard"]>,
): Promise<HistoryShardRecord> {
  const id = Atomics.add(shardIds, 0, 1) >>> 0;
  const { checksum } = new HistoryReader(id, bytes);
  await guardedStore.put([{ id, bytes }]);
  return { id, checksum, repositoryId: repository.id, storedBytes: bytes.length, textBytes, commitCount };
}
