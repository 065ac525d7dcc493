import { errorMessage, TrawlError } from "../../base/errors.js";
import { stopWhenSet, type StopSignal } from "../../base/stop-signal.js";
import { contentLimitsFor } from "../../indexer/classify.js";
import { readCommitDate } from "../../git/history/commit-attributes.js";
import type { Mirror } from "../../git/mirror/mirror.js";
import type { IndexContext } from "../../indexer/index-repository.js";
import type { ShardOutput } from "../../indexer/shard-output.js";
import { detachedName, type IndexedBranch, type Repository } from "../../model/repository.js";
import type { SyncInput, SyncOutcome, SyncTask } from "../../protocol/ingest-messages.js";
import { stepAllowanceMs, timeAllowance } from "./allowances.js";
import { indexChanges, indexWhole } from "./index-branches.js";
import type { IngestThread } from "./ingest-thread.js";
import { postProgress } from "./progress.js";
import type { Fetched } from "./running-fetch.js";
import { requireExpected } from "./vanished.js";
import { areIndexed, findWarnings, stateName, wantedBranches } from "./wanted-branches.js";

/** Indexes the state after a fetch, if it differs from what is indexed. */
export async function indexFetched(
  thread: IngestThread,
  given: SyncInput,
  { mirror, state, recreated, date }: Fetched,
  task: SyncTask,
  output: ShardOutput,
): Promise<SyncOutcome> {
  const { repository } = given;
  const input = recreated ? { ...given, rebuild: true } : given;
  const mayRefetch = given.mayRefetch && !recreated;
  const lacking = { kind: "lacking", repositoryId: repository.id } as const;
  requireExpected(given, state);
  const { cut } = mirror;
  const warnings = findWarnings(repository, state);
  if (cut !== "")
    warnings.push(
      "the history of the remote is cut off, as in a shallow clone: searches of commits and diffs lack the rest",
    );
  const defaultBranch = state.defaultBranch ?? (state.headCommit === null ? "" : detachedName);
  const wanted = wantedBranches(state, repository.branches);
  if (
    !input.rebuild &&
    repository.generation > 0 &&
    areIndexed(repository.indexedBranches, wanted, repository.defaultBranch, defaultBranch)
  ) {
    // A restart may have interrupted the complete fetch.
    if (mayRefetch && lacksObjects(repository, mirror)) return lacking;
    return { kind: "unchanged", repositoryId: repository.id, fetched: date, warnings, cut };
  }
  const name = stateName(wanted);
  requireNoQuarantine(repository, name);
  thread.activity.enter("comparing", repository.id, name, stepAllowanceMs);
  const context = makeContext(thread, mirror.directory, repository, task, output);
  const result = (await indexChanges(thread, input, wanted, context)) ?? (await indexWhole(thread, wanted, context));
  if (result === undefined || (result.counts.skippedCounts["missing"] ?? 0) > 0) await requireAccess(mirror);
  if (result === undefined) {
    if (mayRefetch && !mirror.isIncomplete) return lacking;
    throw new TrawlError(
      "git",
      "none of the directories of the indexed branches can be read: the repository is damaged",
    );
  }
  const { branches, counts, replaces, tombstones } = result;
  const lacks = lacksObjects(counts, mirror);
  if (lacks && mayRefetch && !input.rebuild && repository.generation > 0) return lacking;
  return {
    kind: "changed",
    repositoryId: repository.id,
    fetched: date,
    warnings,
    cut,
    defaultBranch,
    indexedBranches: await readDates(mirror.directory, branches, context.stop),
    ...counts,
    reads: context.reads,
    replaces,
    tombstones,
    lacksObjects: lacks,
  };
}

/** Reads when the commits were made. A commit that cannot be read has no date. */
async function readDates(
  directory: string,
  branches: readonly IndexedBranch[],
  stop: StopSignal,
): Promise<IndexedBranch[]> {
  const dated: IndexedBranch[] = [];
  for (const branch of branches) {
    const committedSeconds = await readCommitDate(directory, branch.commit, stop).catch((error: unknown) => {
      if (error instanceof TrawlError && error.code === "git") return undefined;
      throw error;
    });
    dated.push({ ...branch, committedSeconds });
  }
  return dated;
}

/** Like `Mirror.requireAccess`, but the task can go on with other repositories. */
async function requireAccess(mirror: Mirror): Promise<void> {
  await mirror.requireAccess().catch((error: unknown) => {
    throw new TrawlError("git", errorMessage(error), { cause: error });
  });
}

/** Whether the objects are missing only from the mirror, and not from its source. */
function lacksObjects({ skippedCounts }: Pick<Repository, "skippedCounts">, mirror: Mirror): boolean {
  return (skippedCounts["missing"] ?? 0) > 0 && !mirror.isIncomplete;
}

function requireNoQuarantine({ quarantine }: Repository, name: string): void {
  if (quarantine?.state !== name) return;
  throw new TrawlError(
    "quarantined",
    `not indexed until its branches or its configuration change: ${quarantine.stateReason}`,
  );
}

function makeContext(
  { kernel, activity }: IngestThread,
  mirror: string,
  repository: Repository,
  task: SyncTask,
  output: ShardOutput,
): IndexContext {
  return {
    mirror,
    repositoryId: repository.id,
    output,
    kernel,
    limits: contentLimitsFor(task.limits),
    stop: stopWhenSet(task.stop),
    reads: { blobCount: 0, byteCount: 0 },
    onProgress: (done, total) =>
      postProgress({ kind: "progress", repositoryId: repository.id, phase: "indexing", done, total }),
    onFile: (oid, path, byteCount) => activity.enterFile(oid, path, timeAllowance(byteCount)),
    quarantined: new Set(repository.quarantine?.files.map(({ oid }) => oid)),
  };
}
