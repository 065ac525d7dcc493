import { TrawlError } from "../../base/errors.js";
import type { Kernel } from "../../native/kernel/kernel.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import type { Lane } from "../../protocol/messages.js";
import { pressureWords } from "../../protocol/pressure.js";
import type { BatchBuffers } from "./batch-buffers.js";
import type { HistoryOpener } from "./history-opener.js";
import type { ShardOpener } from "./shard-opener.js";

/** What the slices of one thread share. */
export interface SearchThread {
  readonly kernel: Kernel;
  readonly shards: ShardOpener;
  readonly histories: HistoryOpener;
  readonly buffers: BatchBuffers;
  /** The numbers of slices that wait for a worker, at `pressureWords`. */
  readonly pressure: Int32Array;
}

/** A slice yields to waiting ones after this long. */
const sliceMs = { interactive: 8, exhaustive: 2 } as const;

/** Whether a slice that began at `startedMs` must yield to others that wait. */
export function isOverdue({ pressure }: SearchThread, startedMs: number, lane: Lane): boolean {
  return Atomics.load(pressure, pressureWords.all) > 0 && performance.now() - startedMs > sliceMs[lane];
}

/**
 * Whether a slice that is alone may ask for others: only if there are shards that no slice has taken. An interactive slice
 * does not ask while interactive searches wait: it would stay alone (`mustStayAlone`), and the message costs both threads
 * more than examining a few contents.
 */
export function mayAskForHelp(
  { pressure }: SearchThread,
  { lane, rows }: { readonly lane: Lane; readonly rows: Uint32Array },
  control: ControlBlock,
): boolean {
  if (control.takenShardCount >= rows.length) return false;
  return lane !== "interactive" || Atomics.load(pressure, pressureWords.interactive) === 0;
}

/** Whether an error means that the search was stopped, which is not a failure of the shard. */
export function isCancelled(error: unknown): boolean {
  return error instanceof TrawlError && error.code === "cancelled";
}
