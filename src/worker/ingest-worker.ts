import { setPriority } from "node:os";
import { workerData } from "node:worker_threads";
import { callEvery } from "../base/deadline.js";
import type { IngestTask, WorkerSettings } from "../protocol/messages.js";
import { readSettings } from "../protocol/settings.js";
import { TaskActivity } from "../protocol/task-activity.js";
import { IdleCollector } from "./idle-collector.js";
import { stepAllowanceMs } from "./ingest/allowances.js";
import { runBackup } from "./ingest/backup-task.js";
import { runCheck } from "./ingest/check-task.js";
import { runCompact } from "./ingest/compact-task.js";
import { collectIfGrown } from "./ingest/grown-heap.js";
import { IngestThread } from "./ingest/ingest-thread.js";
import { runMaintain } from "./ingest/maintain-task.js";
import { runSync } from "./ingest/sync-task.js";
import { serveTasks } from "./serve.js";

/** While this thread waits, for git say, it beats so often. One that hangs does not, as its event loop stands still. */
const beatMs = 500;

/** Searches go first: this thread and the git processes that it starts run at this nice value. */
const ingestNiceness = 10;

// On Linux this changes the calling thread alone.
setPriority(ingestNiceness);

const thread = new IngestThread(readSettings<WorkerSettings>(workerData));
const rest = new IdleCollector(() => undefined);
export default serveTasks({ ingest: runIngestTask });

async function runIngestTask({
  task,
  activity,
}: {
  readonly task: IngestTask;
  readonly activity: SharedArrayBuffer;
}): Promise<unknown> {
  thread.activity = new TaskActivity(activity);
  thread.activity.enter("starting", 0, "", stepAllowanceMs);
  const beats = callEvery(beatMs, () => thread.activity.beat());
  try {
    return await run(task);
  } finally {
    beats.cancel();
    collectIfGrown();
    rest.recordTask();
  }
}

function run(task: IngestTask): Promise<unknown> {
  switch (task.kind) {
    case "sync":
      return runSync(thread, task);
    case "maintain":
      return runMaintain(thread.dataFolder, task);
    case "compact":
      return runCompact(thread, task);
    case "check":
      return runCheck(thread, task);
    case "remove":
      return thread.guardedStore.remove(task.shardIds);
    case "backup":
      return runBackup(thread, task);
  }
}
