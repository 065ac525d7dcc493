import type { ReadLimits, ReadPool } from "../../pool/read-pool.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import type {
  BuiltHistory,
  CoverResult,
  CoverTask,
  HistoryTask,
  HistoryTaskResult,
  StoredHistory,
} from "../../protocol/history-messages.js";
import { type CommitLists, toStoredHistories } from "./history-choice.js";
import type { HistoryView } from "../../catalog/history-shards.js";
import type { SearchPool } from "../../pool/search-pool.js";
import type { MissingRevision } from "../source/search-part.js";
import type { SliceScheduler } from "../slices/search-slices.js";

/** What the search of one history uses. */
export interface HistoryContext {
  readonly reads: Pick<ReadPool, "run">;
  readonly lists: Pick<CommitLists, "list">;
  readonly readLimits: ReadLimits;
  readonly control: ControlBlock;
  /** The history shards of a repository, the oldest first. */
  readonly storedHistories: (repositoryId: number) => readonly StoredHistory[];
  /** Finds commits in history shards, in a search worker. Rejects if the worker crashes. */
  readonly cover: (task: Pick<CoverTask, "list" | "shards">) => Promise<CoverResult>;
  /** Called for a history shard that cannot be read. */
  readonly onShardFailure: (shardId: number) => void;
  /** Searches one shard in a search worker. Rejects if the worker crashes. */
  readonly search: (
    task: Pick<HistoryTask, "shard" | "plans" | "repository" | "from" | "jsonBytesMax">,
  ) => Promise<HistoryTaskResult>;
  readonly onMissingRevision: (repository: string, revision: string, isAmbiguous: boolean) => void;
  /** Called for a repository with a shallow source. */
  readonly onCut: (repository: string) => void;
  /** Called with what was read, which may be incomplete. */
  readonly onBuilt: (repository: string, built: Omit<BuiltHistory, "shard" | "next">) => void;
}

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
