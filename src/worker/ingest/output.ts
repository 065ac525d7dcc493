import { ShardOutput } from "../../indexer/shard-output.js";
import type { IngestThread } from "./ingest-thread.js";

/** If the work fails, the shards that it has written are deleted. */
export async function withOutput<T>(
  { kernel, guardedStore }: IngestThread,
  shardIds: Int32Array,
  work: (output: ShardOutput) => Promise<T>,
): Promise<T> {
  const output = new ShardOutput(kernel, guardedStore, shardIds);
  try {
    return await work(output);
  } catch (error) {
    // On a full disk this may fail as well; then the next start deletes the shards that the catalog does not know.
    await guardedStore.remove(output.records.map((record) => record.id)).catch(() => undefined);
    throw error;
  }
}
