import { TrawlError } from "../../base/errors.js";
import { assignBranchBits, findDelta, type Delta } from "../../indexer/index-changes.js";
import {
  entriesOfBranches,
  indexEntries,
  noCounts,
  type DocumentCounts,
  type IndexContext,
} from "../../indexer/index-repository.js";
import type { IndexedBranch } from "../../model/repository.js";
import type { SyncInput } from "../../protocol/ingest-messages.js";
import type { ShardStore } from "../../store/shard-store.js";
import { stepAllowanceMs } from "./allowances.js";
import type { IngestThread } from "./ingest-thread.js";
import { stateName } from "./wanted-branches.js";

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
}

/** Indexes the differences from the last generation; undefined if that is impossible or not worthwhile. */
export async function indexChanges(
  { store, activity }: IngestThread,
  input: SyncInput,
  wanted: ReadonlyMap<string, string>,
  context: IndexContext,
): Promise<IndexResult | undefined> {
  const { repository } = input;
  if (input.rebuild || repository.generation === 0) return undefined;
  const branches = assignBranchBits(repository.indexedBranches, wanted);
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
  activity.enter("indexing", repository.id, stateName(wanted), stepAllowanceMs);
  await indexEntries(delta.entries, context, counts);
  return { branches, counts, replaces: false, tombstones: delta.tombstones };
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
export async function indexWhole(
  { activity }: IngestThread,
  wanted: ReadonlyMap<string, string>,
  context: IndexContext,
): Promise<IndexResult | undefined> {
  const branches = [...wanted].map(([name, commit], bit) => ({ name, commit, bit }));
  const counts = noCounts();
  const { entries, missingTreeCount } = await entriesOfBranches(context.mirror, branches, context.stop);
  if (entries.length === 0 && missingTreeCount > 0) return undefined;
  if (missingTreeCount > 0) counts.skippedCounts["missing"] = missingTreeCount;
  activity.enter("indexing", context.repositoryId, stateName(wanted), stepAllowanceMs);
  await indexEntries(entries, context, counts);
  return { branches, counts, replaces: true, tombstones: new Map() };
}
