import type { Log } from "../../base/log.js";
import type { ShardFailure } from "../../protocol/messages.js";

export interface ShardRepairs {
  readonly log: Log;
  /** Requests that the shard is built again. */
  readonly onShardFailure: (shardId: number) => void;
}

/** Logs that a shard could not be read, and requests a rebuild if that may help. */
export function recordShardFailure({ log, onShardFailure }: ShardRepairs, { shardId, error }: ShardFailure): void {
  log.error({ shard: shardId, code: error.code }, error.message);
  // Any other error is a bug in this program: a rebuild would not help, and every search would request another.
  if (error.code === "corrupt-shard" || error.code === "format-version") onShardFailure(shardId);
}
