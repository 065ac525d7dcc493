import { join } from "node:path";
import { assert } from "../../base/assert.js";
import { stopWhenSet } from "../../base/stop-signal.js";
import { HistoryReader } from "../../history/history-reader.js";
import { indexHistory, type IndexedHistory } from "../../indexer/index-history.js";
import type { HistoryShardRecord } from "../../model/history-record.js";
import { mirrorName, mirrorsFolder } from "../../model/repository.js";
import type { IndexHistoryTask, IndexHistoryTaskResult } from "../../protocol/ingest-messages.js";
import { stepAllowanceMs, timeAllowance, type IngestThread } from "./ingest-thread.js";

/** While the task is held, it looks this often whether it is stopped. */
const holdStepMs = 100;

/** Builds and writes the next history shard of a repository. */
export async function runHistory(thread: IngestThread, task: IndexHistoryTask): Promise<IndexHistoryTaskResult> {
  const { activity, store, dataFolder, kernel } = thread;
  const { repositoryId } = task;
  const stop = stopWhenSet(task.stop);
  activity.enter("indexing", repositoryId, "history", stepAllowanceMs);
  const { shard, ...counts } = await indexHistory(
    {
      ...task,
      directory: join(dataFolder, mirrorsFolder, mirrorName(repositoryId)),
      kernel,
      stop,
      onCommit: () => {
        activity.beat();
        waitWhileHeld(task, stop, () => activity.beat());
      },
      onBuild: (textBytes) => activity.allow(stepAllowanceMs + timeAllowance(textBytes)),
    },
    () => store.read(),
  );
  return { ...counts, shard: shard === undefined ? undefined : await writeShard(thread, task, shard) };
}

/**
 * Blocks the thread, and thereby git, whose output nobody reads. The thread has nothing else to do: it runs one task at
 * a time.
 */
function waitWhileHeld({ hold }: IndexHistoryTask, stop: () => boolean, beat: () => void): void {
  for (let held = Atomics.load(hold, 0); held !== 0 && !stop(); held = Atomics.load(hold, 0)) {
    Atomics.wait(hold, 0, held, holdStepMs);
    beat();
  }
}

async function writeShard(
  { guardedStore }: IngestThread,
  { repositoryId, shardIds }: IndexHistoryTask,
  { bytes, ...record }: NonNullable<IndexedHistory["shard"]>,
): Promise<HistoryShardRecord> {
  const id = Atomics.add(shardIds, 0, 1) >>> 0;
  const { checksum, commitCount } = new HistoryReader(id, bytes);
  assert(id > 0 && commitCount > 0, "a history shard has an id and at least one commit");
  await guardedStore.put([{ id, bytes }]);
  return { id, checksum, repositoryId, storedBytes: bytes.length, ...record };
}
