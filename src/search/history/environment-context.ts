import type { HistoryView } from "../../catalog/history-shards.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import type { ReadPool } from "../../pool/read-pool.js";
import type { SearchPool } from "../../pool/search-pool.js";
import type { BuiltHistory, HistoryTask } from "../../protocol/history-messages.js";
import type { MissingRevision } from "../repositories/revision-resolver.js";
import type { SliceScheduler } from "../slices/slice-scheduler.js";
import type { CommitLists } from "./commit-lists.js";
import type { HistoryContext } from "./history-context.js";
import { toStoredHistories } from "./stored-histories.js";

/** The services of the daemon that searches of histories use. */
export interface HistoryServices {
  readonly pool: Pick<SearchPool, "coverHistory" | "searchHistory">;
  readonly scheduler: Pick<SliceScheduler, "run">;
  readonly revisions: { readonly reads: Pick<ReadPool, "run"> };
  /** The commits of histories that were searched recently. */
  readonly commitLists: CommitLists;
  readonly maxTimeoutMs: number;
  readonly onShardFailure: (shardId: number) => void;
}

/** What is recorded about histories besides results. */
export interface HistoryRecord {
  readonly missingRevisions: MissingRevision[];
  addCut(repository: string): void;
  addHistory(repository: string, counts: Omit<BuiltHistory, "shard" | "next">): void;
}

/** What all searches of histories in one search have in common. */
export interface HistoryRequest extends Pick<HistoryTask, "diffType" | "lane" | "nowMs" | "useIndex"> {
  readonly client: string;
  readonly control: ControlBlock;
  /** The number of matches that may still be sent. */
  readonly matchesLeft: () => number;
  readonly record: HistoryRecord;
}

/** Searches histories with the threads of `environment`, and the history shards of `view`, which stays open. */
export function contextOfEnvironment(
  { pool, scheduler, revisions, commitLists, maxTimeoutMs, onShardFailure }: HistoryServices,
  view: HistoryView,
  { client, control, lane, nowMs, diffType, useIndex, matchesLeft, record }: HistoryRequest,
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
      record.missingRevisions.push({ repository, revision, isAmbiguous }),
    onCut: (repository) => record.addCut(repository),
    onBuilt: (repository, built) => record.addHistory(repository, built),
  };
}
