import { monotonicMs, sleep } from "../../base/deadline.js";
import { TrawlError } from "../../base/errors.js";
import { stopWhenSet } from "../../base/stop-signal.js";
import type { RefState } from "../../git/objects/refs.js";
import { hasChanges } from "../../git/objects/objects.js";
import type { SyncInput, SyncTask, SyncTaskResult } from "../../protocol/ingest-messages.js";
import { stepAllowanceMs } from "./allowances.js";
import { indexFetched } from "./index-fetched.js";
import type { IngestThread } from "./ingest-thread.js";
import { withOutput } from "./output.js";
import type { Fetched, RunningFetch } from "./running-fetch.js";
import { stateName, wantedBranches } from "./wanted-branches.js";

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
  const wanted = wantedBranches(state, repository.branches);
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

function isSameState(listed: RefState, fetched: RefState, { repository: { branches } }: SyncInput): boolean {
  const nameOf = (state: RefState): string => stateName(wantedBranches(state, branches));
  return listed.defaultBranch === fetched.defaultBranch && nameOf(listed) === nameOf(fetched);
}
