import { setPriority } from "node:os";
import { workerData } from "node:worker_threads";
import { callEvery } from "../base/deadline.js";
import { collectGarbage, heapBytes } from "../base/garbage.js";
import { releaseMemory } from "../native/memory/memory.js";
import type { WorkerSettings } from "../protocol/messages.js";
import type { BringObjectTask, IngestTask, StoreObjectTask } from "../protocol/ingest-messages.js";
import { readSettings } from "../protocol/task-message.js";
import { TaskActivity } from "../protocol/task-activity.js";
import { IdleCollector, ingestGrowthMax, serveTasks } from "./serve.js";
import { stepAllowanceMs, IngestThread } from "./ingest/ingest-thread.js";
import { runBackup, runCheck, runCompact, runMaintain } from "./ingest/upkeep-tasks.js";
import { runHistory } from "./ingest/history-task.js";
import { runBuildPrecise } from "./ingest/precise-task.js";
import { runSymbols } from "./ingest/symbols-task.js";
import { runSync } from "./ingest/sync-task.js";

/**
 * Interval of beats while this thread waits, for example for git. A hanging thread sends none, because its event loop
 * is blocked.
 */
const beatMs = 500;

/** Searches have priority: this thread and its git processes run with this nice value. */
const ingestNiceness = 10;

// On Linux this affects only the calling thread.
setPriority(ingestNiceness);

const thread = new IngestThread(readSettings<WorkerSettings>(workerData));
// When the garbage has been collected, which frees the memory of buffers.
const rest = new IdleCollector(ingestGrowthMax, () => setImmediate(releaseMemory), 0);
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
  if ("stop" in task) thread.stop = task.stop;
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
    case "history":
      return runHistory(thread, task);
    case "check":
      return runCheck(thread, task);
    case "remove":
      return thread.guardedStore.remove(task.shardIds);
    case "symbols":
      return runSymbols(thread, task);
    case "backup":
      return runBackup(thread, task);
    case "precise":
      return runBuildPrecise(thread, task);
    case "store-object":
    case "bring-object":
      return runObject(task);
  }
}

/** A single host does not load what a fleet needs. */
async function runObject(task: StoreObjectTask | BringObjectTask): Promise<unknown> {
  const { runBringObject, runStoreObject } = await import("./ingest/object-tasks.js");
  return task.kind === "store-object" ? runStoreObject(thread, task) : runBringObject(thread, task);
}

/** Heap growth since the last collection above which a worker collects garbage after a task. */
const grownBytesMin = 32 * 1024 * 1024;

let keptBytes = 0;

/**
 * Frees the buffers of a shard, which are outside V8's heap, and objects that pipes to git leave inside it, 200 KB per
 * repository: V8 by itself would let a thread accumulate several hundred megabytes first. Runs after the result of the
 * task has been sent.
 */
function collectIfGrown(): void {
  if (heapBytes() < keptBytes + grownBytesMin) return;
  setImmediate(() => {
    collectGarbage();
    keptBytes = heapBytes();
  });
}
