import type { Catalog } from "../../catalog/catalog.js";
import { redactUrl } from "../../git/run/remote-url.js";
import type { HistoryStatus } from "../../model/history-record.js";
import { quarantineSentences } from "../../model/quarantine.js";
import { attributesIn, type Repository } from "../../model/repository.js";
import { type MissingSymbols, repositoryState, type RepositoryStatus } from "../../model/repository-status.js";
import { symbolFaults } from "../../model/shard-record.js";
import type { SyncActivities } from "../services/activity.js";
import type { HistoryIndexing } from "../housekeeping/history-indexing.js";
import type { LossJudge } from "../runner/loss.js";

/** Files without symbols that a status lists. */
const listedFilesMax = 100;

/** Who decides about the readers of a repository. */
export interface ReadersDescription {
  /** "" if the configuration or a command does. */
  readonly readersFrom: string;
  readonly warnings: readonly string[];
}

/** The status of a repository, as shown by `trawl repo list`. */
export function repositoryStatus(
  repository: Repository,
  moreWarnings: readonly string[],
  { readersFrom, warnings }: ReadersDescription,
  /** Why it is not fetched for some time; undefined if it may be. */
  wait: string | undefined,
  activities: SyncActivities,
  judge: LossJudge,
  historyIndex: HistoryStatus,
  missingSymbols: MissingSymbols,
  removalGraceMs: number,
): RepositoryStatus {
  const { removedAt } = repository;
  return {
    name: repository.name,
    url: redactUrl(repository.url),
    state: repositoryState(repository),
    activity: activities.current(repository.id) || (wait === undefined ? "" : `waiting: ${wait}`),
    error: repository.lastError,
    warnings: [...warnings, ...(repository.warnings ?? []), ...moreWarnings],
    readersFrom,
    deletedAfter: removedAt === "" ? "" : new Date(Date.parse(removedAt) + removalGraceMs).toISOString(),
    lastFetched: repository.lastFetched,
    branches: repository.indexedBranches.map(({ name, commit }) => ({ name, commit })),
    documentCount: repository.documentCount,
    contentBytes: repository.contentBytes,
    skippedCounts: repository.skippedCounts,
    quarantine: quarantineSentences(judge.current(repository)),
    historyIndex,
    missingSymbols,
    ...attributesIn(repository),
  };
}

/** What the symbols of a repository's shards lack; nothing if symbols are not indexed. */
export function missingSymbols(
  { id }: Repository,
  catalog: Pick<Catalog, "shardsForRepository">,
  isEnabled: boolean,
): MissingSymbols {
  const records = isEnabled ? catalog.shardsForRepository(id).map(({ record }) => record) : [];
  return {
    shardCount: records.filter(({ symbols }) => symbols === undefined).length,
    textCount: records.reduce((sum, { symbols }) => sum + (symbols?.failedCount ?? 0), 0),
    files: records
      .flatMap(({ symbols }) => symbols?.failures ?? [])
      .filter(({ repositoryId }) => repositoryId === id)
      .slice(0, listedFilesMax)
      .map(({ path, fault }) => ({ path, reason: `ctags ${symbolFaults[fault]}` })),
  };
}

/** How much of the history of a repository is indexed. */
export function historyStatus(
  repository: Repository,
  catalog: Pick<Catalog, "historyOf">,
  indexing: Pick<HistoryIndexing, "isUpToDate">,
): HistoryStatus {
  const { id, history, historyState, historyError } = repository;
  const isUpToDate = indexing.isUpToDate(repository);
  return {
    wanted: history,
    isUpToDate,
    reachableCount: historyState?.reachableCount ?? null,
    indexedCount: historyState?.indexedCount ?? 0,
    storedBytes: catalog.historyOf(id).reduce((sum, { storedBytes }) => sum + storedBytes, 0),
    error: isUpToDate ? "" : (historyError ?? ""),
  };
}
