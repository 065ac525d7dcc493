import { compact } from "../../indexer/compact.js";
import type { CompactTask, CompactTaskResult } from "../../protocol/ingest-messages.js";
import type { TaskActivity } from "../../protocol/task-activity.js";
import { stepAllowanceMs } from "./allowances.js";
import type { IngestThread } from "./ingest-thread.js";
import { withOutput } from "./output.js";

/** Merges shards. */
export function runCompact(thread: IngestThread, task: CompactTask): Promise<CompactTaskResult> {
  const { store, activity } = thread;
  activity.enter("merging", 0, "", stepAllowanceMs);
  return withOutput(thread, task.shardIds, async (output) => {
    const snapshot = store.read();
    try {
      await compact(task.shards, task.groups, snapshot, output, beatingStop(activity, task.stop));
    } finally {
      snapshot.close();
    }
    return { shards: output.records };
  });
}

/** For work that checks it at each step, and does not wait in between. */
function beatingStop(activity: TaskActivity, stop: Int32Array): () => boolean {
  return () => {
    activity.beat();
    return Atomics.load(stop, 0) !== 0;
  };
}
