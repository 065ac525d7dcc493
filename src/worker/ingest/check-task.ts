import { serializeError, TrawlError } from "../../base/errors.js";
import type { ShardFailure } from "../../protocol/messages.js";
import type { CheckTask, CheckTaskResult } from "../../protocol/ingest-messages.js";
import { stepAllowanceMs, timeAllowance } from "./allowances.js";
import type { IngestThread } from "./ingest-thread.js";
import { verifyStored } from "./verify-stored.js";

/** Verifies stored shards. */
export async function runCheck({ store, activity }: IngestThread, task: CheckTask): Promise<CheckTaskResult> {
  const failures: ShardFailure[] = [];
  for (const { id: shardId, checksum } of task.shards) {
    if (Atomics.load(task.stop, 0) !== 0) throw new TrawlError("cancelled", "the check was stopped");
    const snapshot = store.read();
    try {
      const bytes = snapshot.get(shardId);
      if (bytes === undefined) throw new TrawlError("corrupt-shard", `shard ${shardId} is missing from the store`);
      activity.allow(stepAllowanceMs + timeAllowance(bytes.length));
      verifyStored({ id: shardId, checksum }, task.isHistory, bytes, task.part);
    } catch (error) {
      failures.push({ shardId, error: serializeError(error) });
    } finally {
      snapshot.close();
    }
  }
  return { failures };
}
