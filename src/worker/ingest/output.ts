import { ShardOutput } from "../../indexer/shard-output.js";
import type { IngestThread } from "./ingest-thread.js";

/** When the work fails, the shards that it had written are deleted. */
export async function withOutput<T>(
  { kernel, guardedStore }: IngestThread,
  shardIds: Int32Array,
  work: (output: ShardOutput) => Promise<T>,
): Promise<T> {
  const output = new ShardOutput(kernel, guardedStore, shardIds);
  try {
    return await work(output);
  } catch (error) {
    // On a full disk this may fail as well; then the next start deletes what the catalog does not know.
    await guardedStore.remove(output.records.map((record) => record.id)).catch(() => undefined);
    throw error;
  }
}
