import type { ShardFailure } from "../protocol/messages.js";
import type { SearchEnvironment } from "./search-environment.js";

/** Logs that a shard could not be read, and has it rebuilt if that may help. */
export function recordShardFailure(
  { log, onShardFailure }: Pick<SearchEnvironment, "log" | "onShardFailure">,
  { shardId, error }: ShardFailure,
): void {
  log.error({ shard: shardId, code: error.code }, error.message);
  // Any other error is a defect of this program: rebuilding the shard would not help, and each search would repeat it.
  if (error.code === "corrupt-shard" || error.code === "format-version") onShardFailure(shardId);
}
