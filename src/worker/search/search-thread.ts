import { TrawlError } from "../../base/errors.js";
import type { Kernel } from "../../native/kernel/kernel.js";
import type { Lane } from "../../protocol/messages.js";
import type { BatchBuffers } from "../batch-buffers.js";
import type { HistoryOpener } from "./history-opener.js";
import type { ShardOpener } from "./shard-opener.js";

/** What the slices of one thread share. */
export interface SearchThread {
  readonly kernel: Kernel;
  readonly shards: ShardOpener;
  readonly histories: HistoryOpener;
  readonly buffers: BatchBuffers;
  /** The number of slices that wait for a worker, in shared memory. */
  readonly pressure: Int32Array;
}

/** A slice yields to waiting ones after this long. */
const sliceMs = { interactive: 8, exhaustive: 2 } as const;

/** Whether a slice that began at `startedMs` must yield to others that wait. */
export function isOverdue({ pressure }: SearchThread, startedMs: number, lane: Lane): boolean {
  return Atomics.load(pressure, 0) > 0 && performance.now() - startedMs > sliceMs[lane];
}

/** Whether an error means that the search was stopped, which is not a failure of the shard. */
export function isCancelled(error: unknown): boolean {
  return error instanceof TrawlError && error.code === "cancelled";
}
