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
import type { CommitLists } from "./commit-lists.js";

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
