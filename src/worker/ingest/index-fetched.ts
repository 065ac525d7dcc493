import { errorMessage, TrawlError } from "../../base/errors.js";
import { type StopSignal, stopWhenSet } from "../../base/stop-signal.js";
import { contentLimitsFor } from "../../indexer/classify.js";
import { readCommitDate } from "../../git/history/commit-attributes.js";
import type { LfsContents } from "../../git/lfs/lfs-contents.js";
import type { Mirror } from "../../git/mirror/mirror.js";
import {
  type DocumentCounts,
  entriesOfBranches,
  type IndexContext,
  isRuleProblem,
  indexEntries,
  noCounts,
} from "../../indexer/index-repository.js";
import type { ShardOutput } from "../../indexer/shard-output.js";
import { detachedName, type IndexedBranch, type Repository } from "../../model/repository.js";
import type { SyncInput, SyncOutcome, SyncTask } from "../../protocol/ingest-messages.js";
import { type IngestThread, stepAllowanceMs, timeAllowance } from "./ingest-thread.js";
import { type Fetched, postProgress, requireExpected, wantedBranches } from "./mirror-fetch.js";
import { assignBranchBits, type ContentTreeMap, type Delta, findDelta } from "../../indexer/index-changes.js";
import type { ShardStore } from "../../store/shard-store.js";
import { createHash } from "node:crypto";
import type { RefState } from "../../git/objects/refs.js";

/** Indexes the state after a fetch, if it differs from what is indexed. */
export async function indexFetched(
  thread: IngestThread,
  given: SyncInput,
  { mirror, state, recreated, date, warnings: found, lfs, trees }: Fetched,
  task: SyncTask,
  output: ShardOutput,
): Promise<SyncOutcome> {
  const { repository } = given;
  const { contents } = lfs;
  // Without the list of before, or without contents, it is not known which documents have some.
  const loses = repository.lfsTree !== undefined && (contents === undefined || lfs.isLost);
  // A sync that ended before it indexed anything may have fetched what is missing in the index.
  const { identity } = mirror;
  const isOther = missingCount(repository) > 0 && given.indexedMirror !== "" && given.indexedMirror !== identity;
  const input = recreated || isOther || loses ? { ...given, rebuild: true } : given;
  const mayRefetch = given.mayRefetch && !recreated;
  const lacking = { kind: "lacking", repositoryId: repository.id } as const;
  requireExpected(given, state);
  const { cut } = mirror;
  const warnings = [...findWarnings(repository, state), ...found, ...lfs.warnings];
  if (cut !== "")
    warnings.push(
      "the history of the remote is cut off, as in a shallow clone: searches of commits and diffs lack the rest",
    );
  const defaultBranch = state.defaultBranch ?? (state.headCommit === null ? "" : detachedName);
  const wanted = wantedBranches(state, repository);
  if (
    !input.rebuild &&
    repository.generation > 0 &&
    contents?.tree === repository.lfsTree &&
    areIndexed(repository.indexedBranches, wanted, trees, repository.defaultBranch, defaultBranch)
  ) {
    // A restart may have interrupted the complete fetch.
    if (mayRefetch && lacksObjects(repository, mirror)) return lacking;
    // Those of the rules are found only when something is indexed.
    warnings.push(...(repository.warnings ?? []).filter(isRuleProblem));
    return { kind: "unchanged", repositoryId: repository.id, fetched: date, warnings, cut };
  }
  const name = stateName(wanted, trees);
  requireNoQuarantine(repository, name);
  thread.activity.enter("comparing", repository.id, name, stepAllowanceMs);
  const context = makeContext(thread, mirror.directory, contents, repository, task, output);
  const result =
    (await indexChanges(thread, input, wanted, trees, context)) ?? (await indexWhole(thread, wanted, trees, context));
  if (result === undefined || missingCount(result.counts) > 0) await requireAccess(mirror);
  if (result === undefined) {
    if (mayRefetch && !mirror.isIncomplete) return lacking;
    throw new TrawlError(
      "git",
      "none of the directories of the indexed branches can be read: the repository is damaged",
    );
  }
  const { branches, counts, replaces, tombstones, problems } = result;
  warnings.push(...problems.slice(0, problemsMax));
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
    lfsTree: contents?.tree,
    lacksObjects: lacks,
    mirror: identity,
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
function lacksObjects(counts: Pick<Repository, "skippedCounts">, mirror: Mirror): boolean {
  return missingCount(counts) > 0 && !mirror.isIncomplete;
}

function missingCount({ skippedCounts }: Pick<Repository, "skippedCounts">): number {
  return skippedCounts["missing"] ?? 0;
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
  contents: LfsContents | undefined,
  repository: Repository,
  task: SyncTask,
  output: ShardOutput,
): IndexContext {
  return {
    mirror,
    contents,
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
    withSubmodules: repository.submodules !== undefined,
  };
}

/**
 * If more paths than this, and more than this share of the documents, have changed, the whole repository is indexed.
 */
const deltaPathCountMax = 1_000;
const deltaPathShareMax = 0.3;

/**
 * Errors of a comparison after which everything is read from the mirror: the old commit no longer exists, or a shard is
 * unusable.
 */
const repairedByReading: ReadonlySet<string> = new Set(["git", "not-found", "corrupt-shard", "format-version"]);

export interface IndexResult {
  readonly branches: readonly IndexedBranch[];
  readonly counts: DocumentCounts;
  readonly replaces: boolean;
  readonly tombstones: ReadonlyMap<number, readonly number[]>;
  /** What is wrong with the rules of the commits. */
  readonly problems: readonly string[];
}

/** Problems with rules that are listed. */
const problemsMax = 20;

/** Indexes the differences from the last generation; undefined if that is impossible or not worthwhile. */
async function indexChanges(
  { store, activity }: IngestThread,
  input: SyncInput,
  wanted: ReadonlyMap<string, string>,
  trees: ContentTreeMap,
  context: IndexContext,
): Promise<IndexResult | undefined> {
  const { repository } = input;
  if (input.rebuild || repository.generation === 0) return undefined;
  // With contents of submodules, those without them have another reason.
  const hadTrees = repository.indexedBranches.map(({ contentTree }) => contentTree !== undefined);
  if (hadTrees.includes(trees.size === 0)) return undefined;
  const branches = assignBranchBits(repository.indexedBranches, wanted, trees);
  if (branches === undefined) return undefined;
  const delta = await findDeltaIfPossible(store, input, branches, context);
  if (
    delta === undefined ||
    delta.changedPathCount > Math.max(deltaPathCountMax, repository.documentCount * deltaPathShareMax)
  )
    return undefined;
  const counts: DocumentCounts = {
    documentCount: repository.documentCount - delta.dead.documentCount,
    contentBytes: Math.max(0, repository.contentBytes - delta.dead.contentBytes),
    skippedCounts: subtract(repository.skippedCounts, delta.dead.skippedCounts),
  };
  activity.enter("indexing", repository.id, stateName(wanted, trees), stepAllowanceMs);
  await indexEntries(delta.entries, context, counts);
  return { branches, counts, replaces: false, tombstones: delta.tombstones, problems: delta.problems };
}

/**
 * Undefined after a force-push that removed the old commit, or if a shard is damaged: everything is then read from the
 * mirror.
 */
async function findDeltaIfPossible(
  store: ShardStore,
  input: SyncInput,
  branches: readonly IndexedBranch[],
  context: IndexContext,
): Promise<Delta | undefined> {
  const snapshot = store.read();
  try {
    return await findDelta(
      context.mirror,
      input.repository.id,
      input.repository.indexedBranches,
      branches,
      input.shards,
      snapshot,
      (reader) => reader.verify("documents"),
      context.stop,
      { current: context.contents, areNew: context.contents?.tree !== input.repository.lfsTree },
    );
  } catch (error) {
    if (error instanceof TrawlError && repairedByReading.has(error.code)) return undefined;
    throw error;
  } finally {
    snapshot.close();
  }
}

function subtract(
  counts: Readonly<Record<string, number>>,
  less: Readonly<Record<string, number>>,
): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([reason, count]) => [reason, count - (less[reason] ?? 0)]));
}

/** Indexes all branches completely. Undefined if nothing can be read. */
async function indexWhole(
  { activity }: IngestThread,
  wanted: ReadonlyMap<string, string>,
  trees: ContentTreeMap,
  context: IndexContext,
): Promise<IndexResult | undefined> {
  const branches = [...wanted].map(([name, commit], bit) => ({ name, commit, bit, contentTree: trees.get(commit) }));
  const counts = noCounts();
  const { entries, missingTreeCount, problems } = await entriesOfBranches(
    context.mirror,
    branches,
    context.stop,
    context.contents,
  );
  if (entries.length === 0 && missingTreeCount > 0) return undefined;
  if (missingTreeCount > 0) counts.skippedCounts["missing"] = missingTreeCount;
  activity.enter("indexing", context.repositoryId, stateName(wanted, trees), stepAllowanceMs);
  await indexEntries(entries, context, counts);
  return { branches, counts, replaces: true, tombstones: new Map(), problems };
}

/** What of a repository is not indexed as its configuration or its remote might lead one to expect. */
function findWarnings({ branches }: Repository, state: RefState): string[] {
  const missing = branches.filter((name) => !state.branches.has(name));
  const warnings = missing.map(
    (name) => `the remote has no branch ${JSON.stringify(name)}, which the configuration lists in \`branches\``,
  );
  const { defaultBranch, headCommit, headRef, isHeadKnown } = state;
  if (headRef !== null)
    warnings.push(`HEAD of the remote is ${JSON.stringify(headRef)}, which is not a branch: its commit is indexed`);
  else if (!isHeadKnown && defaultBranch !== null)
    warnings.push(
      `HEAD of the remote names a branch that does not exist: ${JSON.stringify(defaultBranch)} is indexed in its place`,
    );
  else if (!isHeadKnown && headCommit === null && state.tags.size > 0)
    warnings.push("the remote has tags but no branch: nothing is indexed");
  if (state.branches.has(detachedName) && defaultBranch !== detachedName)
    warnings.push(
      "the remote has a branch called HEAD: `@HEAD` means the default branch, and `@refs/heads/HEAD` that branch",
    );
  return warnings;
}

/** Whether they are already indexed at their current commits, with what these have. */
function areIndexed(
  indexed: readonly IndexedBranch[],
  wanted: ReadonlyMap<string, string>,
  trees: ContentTreeMap,
  defaultBefore: string,
  defaultAfter: string,
): boolean {
  return (
    defaultBefore === defaultAfter &&
    indexed.length === wanted.size &&
    indexed.every(({ name, commit, contentTree }) => wanted.get(name) === commit && trees.get(commit) === contentTree)
  );
}

/** Identifies the branches, their commits and the contents of submodules. */
export function stateName(wanted: ReadonlyMap<string, string>, trees: ContentTreeMap): string {
  const named = trees.size === 0 ? [...wanted] : [...wanted, ...trees];
  return createHash("sha1").update(JSON.stringify(named)).digest("hex");
}
