import type { ShardFailure } from "../protocol/messages.js";
import type { SearchEnvironment } from "./search-environment.js";

/** Logs that a shard could not be read, and requests a rebuild if that may help. */
export function recordShardFailure(
  { log, onShardFailure }: Pick<SearchEnvironment, "log" | "onShardFailure">,
  { shardId, error }: ShardFailure,
): void {
  log.error({ shard: shardId, code: error.code }, error.message);
  // Any other error is a bug in this program: a rebuild would not help, and every search would request another.
  if (error.code === "corrupt-shard" || error.code === "format-version") onShardFailure(shardId);
}
