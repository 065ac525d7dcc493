import { serializeError, TrawlError } from "../../base/errors.js";
import { RateLimitError } from "../../base/rate-limit.js";
import type { ShardOutput } from "../../indexer/shard-output.js";
import type { SyncInput, SyncOutcome, SyncTask, SyncTaskResult } from "../../protocol/ingest-messages.js";
import { stepAllowanceMs } from "./allowances.js";
import { indexFetched } from "./index-fetched.js";
import { indexWhileFetching, mayIndexEarly } from "./index-while-fetching.js";
import type { IngestThread } from "./ingest-thread.js";
import { withOutput } from "./output.js";
import { RunningFetch, type FetchOutcome } from "./running-fetch.js";
import { VanishedError } from "./vanished.js";

/**
 * Number of mirrors that are fetched while earlier repositories of the task are indexed, because a fetch mostly waits,
 * for git and for the network. With small repositories on the same disk, 50 per second are indexed, and 38 without
 * this.
 */
const fetchAheadCount = 3;

/**
 * A fetch that takes longer would delay the other repositories of its task: it is stopped, and repeated in a task of
 * its own, on a thread for slow remotes. If several have done so, the rest get less time. A repository that is alone in
 * its task also gets less, because it keeps the thread from other tasks and can be restarted cheaply.
 */
const fetchPatienceMs = 10_000;
const fetchPatienceMsMin = 3_000;
const lateCountMax = 2;

/** Syncs the repositories one after another into common shards; a failure of one does not affect the others. */
export async function runSync(thread: IngestThread, task: SyncTask): Promise<SyncTaskResult> {
  const fetches: RunningFetch[] = [];
  try {
    return (await indexEarly(thread, task, fetches)) ?? (await indexInTurn(thread, task, fetches));
  } finally {
    // Nothing accesses a mirror after its task has ended.
    await Promise.all(fetches.map((fetch) => fetch.end()));
  }
}

/** Indexes a repository that a client waits for while git still verifies what it has received, if that is possible. */
async function indexEarly(
  thread: IngestThread,
  task: SyncTask,
  fetches: RunningFetch[],
): Promise<SyncTaskResult | undefined> {
  const { repositories } = task;
  if (repositories.length !== 1 || !mayIndexEarly(repositories[0])) return undefined;
  const fetch = new RunningFetch(thread.dataFolder, repositories[0], task);
  fetches.push(fetch);
  return await indexWhileFetching(thread, repositories[0], task, fetch, patience(task, 0));
}

function indexInTurn(thread: IngestThread, task: SyncTask, fetches: RunningFetch[]): Promise<SyncTaskResult> {
  return withOutput(thread, task.shardIds, async (output) => {
    const { repositories } = task;
    const outcomes: SyncOutcome[] = [];
    let lateCount = 0;
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
    await output.flush();
    return { outcomes, shards: output.records };
  });
}

/** Time limit for the next fetch of a task. */
function patience({ isPatient, repositories }: SyncTask, lateCount: number): number {
  if (isPatient) return Infinity;
  return repositories.length > 1 && lateCount < lateCountMax ? fetchPatienceMs : fetchPatienceMsMin;
}

/**
 * If a repository failed, documents of it may be in the open shard or in written shards: the main thread hides them. If
 * a shard could not be written, the whole task fails, because the shard contains documents of other repositories as
 * well.
 */
async function tryToIndex(
  thread: IngestThread,
  input: SyncInput,
  outcome: FetchOutcome,
  task: SyncTask,
  output: ShardOutput,
): Promise<SyncOutcome> {
  // A mirror that cannot be read or written is a matter of one repository.
  const failed = (error: unknown): SyncOutcome => {
    const vanished = error instanceof VanishedError ? error.kind : undefined;
    const limited =
      error instanceof RateLimitError ? { host: error.host, waitMs: error.waitMs, isAsked: error.isAsked } : undefined;
    return { kind: "failed", repositoryId: input.repository.id, error: serializeError(error), vanished, limited };
  };
  if (outcome.kind === "failed") return failed(outcome.error);
  try {
    return await indexFetched(thread, input, outcome.fetched, task, output);
  } catch (error) {
    if (error instanceof TrawlError && error.code === "storage") throw error;
    return failed(error);
  }
}
