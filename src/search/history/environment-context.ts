import type { HistoryView } from "../../catalog/history-shards.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import type { HistoryTask } from "../../protocol/history-messages.js";
import type { SearchEnvironment } from "../search-environment.js";
import type { SearchReport } from "../stream/search-report.js";
import type { HistoryContext } from "./history-context.js";
import { toStoredHistories } from "./stored-histories.js";

/** What all searches of histories in one search have in common. */
export interface HistoryRequest extends Pick<HistoryTask, "diffType" | "lane" | "nowMs" | "useIndex"> {
  readonly client: string;
  readonly control: ControlBlock;
  /** The number of matches that may still be sent. */
  readonly matchesLeft: () => number;
  readonly report: Pick<SearchReport, "missingRevisions" | "recordCut" | "recordHistory">;
}

/** Searches histories with the threads of `environment`, and the history shards of `view`, which stays open. */
export function contextOfEnvironment(
  { pool, scheduler, revisions, commitLists, maxTimeoutMs, onShardFailure }: SearchEnvironment,
  view: HistoryView,
  { client, control, lane, nowMs, diffType, useIndex, matchesLeft, report }: HistoryRequest,
): HistoryContext {
  const memory = control.memory;
  return {
    reads: revisions.reads,
    lists: commitLists,
    readLimits: { stop: memory, timeoutMs: maxTimeoutMs, client },
    control,
    storedHistories: (id) => toStoredHistories(view.shards.get(id) ?? []),
    cover: (task) =>
      commitLists.cover(task, control, () =>
        scheduler.run(lane, client, () => pool.coverHistory({ ...task, control: memory })),
      ),
    onShardFailure,
    search: (task) =>
      scheduler.run(lane, client, () => {
        const matchCountMax = Math.max(0, matchesLeft());
        return pool.searchHistory({ ...task, lane, nowMs, diffType, useIndex, matchCountMax, control: memory });
      }),
    onMissingRevision: (repository, revision, isAmbiguous) =>
      report.missingRevisions.push({ repository, revision, isAmbiguous }),
    onCut: (repository) => report.recordCut(repository),
    onBuilt: (repository, built) => report.recordHistory(repository, built),
  };
}
