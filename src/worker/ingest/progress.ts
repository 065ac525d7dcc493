import { parentPort } from "node:worker_threads";
import type { SyncProgress } from "../../protocol/ingest-messages.js";

/** Reports the progress of a sync to the main thread. */
export function postProgress(progress: SyncProgress): void {
  parentPort?.postMessage(progress);
}
