import { assert } from "../../base/assert.js";
import { serializeError, TrawlError } from "../../base/errors.js";
import { RateLimitError } from "../../base/rate-limit.js";
import type { ShardOutput } from "../../indexer/shard-output.js";
import type { SyncInput, SyncOutcome, SyncTask, SyncTaskResult } from "../../protocol/ingest-messages.js";
import { type IngestThread, stepAllowanceMs, withOutput } from "./ingest-thread.js";
import { indexFetched, stateName } from "./index-fetched.js";
import { type Fetched, type FetchOutcome, RunningFetch, VanishedError, wantedBranches } from "./mirror-fetch.js";
import { monotonicMs, sleep } from "../../base/deadline.js";
import { stopWhenSet } from "../../base/stop-signal.js";
import type { RefState } from "../../git/objects/refs.js";
import { hasChanges } from "../../git/objects/objects.js";

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
  const ids = new Set(task.repositories.map(({ repository }) => repository.id));
  assert(ids.size > 0 && ids.size === task.repositories.length, "a sync has each of its repositories once");
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
    assert(outcomes.length === repositories.length, "a sync has an outcome for each of its repositories");
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

/** First time between two checks whether git has written what it received. A check takes half a millisecond. */
const checkMs = 2;

/** The time between two checks grows to this share of the fetch so far, so that a long fetch costs little. */
const checkShare = 1 / 16;

type UnfinishedFetch = Pick<RunningFetch, "listed" | "isEnded" | "within">;

/** Whether only differences from what is indexed must be read. */
export function mayIndexEarly({ repository, isRequested, rebuild, recreate }: SyncInput): boolean {
  return isRequested && !rebuild && !recreate && repository.generation > 0;
}

/**
 * Indexes what the remote has listed as soon as git has written the objects, while git verifies that none is missing,
 * which for a large repository takes longer than indexing a small commit. Returns nothing before git has succeeded and
 * the mirror has just what was indexed. Undefined if anything is otherwise: what was written is deleted, and the caller
 * indexes what was fetched, or reports why nothing was.
 */
export async function indexWhileFetching(
  thread: IngestThread,
  input: SyncInput,
  task: SyncTask,
  fetch: UnfinishedFetch,
  patienceMs: number,
): Promise<SyncTaskResult | undefined> {
  thread.activity.enter("fetching", input.repository.id, "", stepAllowanceMs);
  // Called first, because it stops a fetch that takes too long, also one whose remote does not answer.
  const ended = fetch.within(patienceMs);
  try {
    const listed = await fetch.listed;
    if (listed === undefined || !(await areReceived(input, listed, task, fetch))) return undefined;
    return await withOutput(thread, task.shardIds, async (output) => {
      const outcome = await indexFetched(thread, input, listed, task, output);
      await output.flush();
      thread.activity.enter("fetching", input.repository.id, "", stepAllowanceMs);
      const fetched = await ended;
      if (outcome.kind !== "changed" || outcome.lacksObjects || fetched?.kind !== "fetched") throw notAsListed();
      const { state, recreated } = fetched.fetched;
      if (recreated || !isSameState(listed.state, state, input)) throw notAsListed();
      return { outcomes: [outcome], shards: output.records };
    });
  } catch {
    // What is wrong with the fetch or the mirror is found again, and reported, when what was fetched is indexed.
    return undefined;
  }
}

function notAsListed(): TrawlError {
  return new TrawlError("git", "the mirror is not as the remote has listed it");
}

/** Resolves when the changes of all branches can be read; false if the fetch ends before, or they are many. */
async function areReceived(
  { repository }: SyncInput,
  { mirror, state }: Fetched,
  task: SyncTask,
  fetch: UnfinishedFetch,
): Promise<boolean> {
  const stop = stopWhenSet(task.stop);
  const wanted = wantedBranches(state, repository);
  const changed = repository.indexedBranches.flatMap(({ name, commit }) => {
    const newCommit = wanted.get(name);
    return newCommit === undefined || newCommit === commit ? [] : [{ oldCommit: commit, newCommit }];
  });
  // Renamed and new branches are left to the usual way.
  if (changed.length === 0 || wanted.size !== repository.indexedBranches.length) return false;
  const startMs = monotonicMs();
  while (!fetch.isEnded) {
    if (changed.every(({ oldCommit, newCommit }) => hasChanges(mirror.directory, oldCommit, newCommit, stop)))
      return true;
    await sleep(Math.max(checkMs, (monotonicMs() - startMs) * checkShare));
  }
  return false;
}

function isSameState(listed: RefState, fetched: RefState, { repository }: SyncInput): boolean {
  const nameOf = (state: RefState): string => stateName(wantedBranches(state, repository), new Map());
  return listed.defaultBranch === fetched.defaultBranch && nameOf(listed) === nameOf(fetched);
}
