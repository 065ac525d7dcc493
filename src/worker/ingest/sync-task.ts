import { serializeError, TrawlError } from "../../base/errors.js";
import type { ShardOutput } from "../../indexer/shard-output.js";
import type { SyncInput, SyncOutcome, SyncTask, SyncTaskResult } from "../../protocol/messages.js";
import { stepAllowanceMs } from "./allowances.js";
import { indexFetched } from "./index-fetched.js";
import type { IngestThread } from "./ingest-thread.js";
import { withOutput } from "./output.js";
import { RunningFetch, type FetchOutcome } from "./running-fetch.js";

/**
 * Mirrors are fetched while repositories before them in the task are indexed, as a fetch mostly waits, for git and for
 * the network. Of small repositories on the same disk 50 a second are indexed, 38 without this.
 */
const fetchAheadCount = 3;

/**
 * A fetch that takes longer keeps the other repositories of its task waiting: it is stopped, and done again in a task
 * of its own, on a thread for slow remotes. When some have done so, the rest get less, as has one that is alone in its
 * task, since it keeps the thread from other tasks and begins anew at little cost.
 */
const fetchPatienceMs = 10_000;
const fetchPatienceMsMin = 3_000;
const lateCountMax = 2;

/** Syncs the repositories one after the other into common shards; one that fails does not touch the others. */
export function runSync(thread: IngestThread, task: SyncTask): Promise<SyncTaskResult> {
  return withOutput(thread, task.shardIds, async (output) => {
    const { repositories } = task;
    const outcomes: SyncOutcome[] = [];
    const fetches: RunningFetch[] = [];
    let lateCount = 0;
    try {
      for (const [i, input] of repositories.entries()) {
        while (fetches.length < Math.min(repositories.length, i + 1 + fetchAheadCount))
          fetches.push(new RunningFetch(thread.dataFolder, repositories[fetches.length], task));
        thread.activity.enter("fetching", input.repository.id, "", stepAllowanceMs);
        const fetched = await fetches[i].within(patience(task, lateCount));
        if (fetched === undefined) lateCount++;
        outcomes.push(
          fetched === undefined
            ? { kind: "deferred", repositoryId: input.repository.id }
            : await tryToIndex(thread, input, fetched, task, output),
        );
      }
    } finally {
      // Nothing touches a mirror after its task.
      await Promise.all(fetches.map((fetch) => fetch.end()));
    }
    await output.flush();
    return { outcomes, shards: output.records };
  });
}

/** How long the next fetch of a task may take. */
function patience({ isPatient, repositories }: SyncTask, lateCount: number): number {
  if (isPatient) return Infinity;
  return repositories.length > 1 && lateCount < lateCountMax ? fetchPatienceMs : fetchPatienceMsMin;
}

/**
 * Documents of a repository that failed may lie in the open shard or in written ones: the main thread hides them. A
 * shard that could not be written is different, as it holds documents of others too: then the whole task fails.
 */
async function tryToIndex(
  thread: IngestThread,
  input: SyncInput,
  outcome: FetchOutcome,
  task: SyncTask,
  output: ShardOutput,
): Promise<SyncOutcome> {
  try {
    if (outcome.kind === "failed") throw outcome.error;
    return await indexFetched(thread, input, outcome.fetched, task, output);
  } catch (error) {
    if (error instanceof TrawlError && error.code === "storage") throw error;
    return { kind: "failed", repositoryId: input.repository.id, error: serializeError(error) };
  }
}
