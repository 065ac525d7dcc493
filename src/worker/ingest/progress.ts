import { parentPort } from "node:worker_threads";
import type { SyncProgress } from "../../protocol/messages.js";

/** Tells the main thread how far a sync is. */
export function postProgress(progress: SyncProgress): void {
  parentPort?.postMessage(progress);
}
