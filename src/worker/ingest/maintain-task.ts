import { stopWhenSet } from "../../base/stop-signal.js";
import type { MaintainTask } from "../../protocol/ingest-messages.js";
import { openMirror } from "./open-mirror.js";

/** Repacks a mirror. */
export async function runMaintain(dataFolder: string, task: MaintainTask): Promise<void> {
  const mirror = await openMirror(dataFolder, task.repository, task.fetch, []);
  await mirror.maintain(stopWhenSet(task.stop));
}
