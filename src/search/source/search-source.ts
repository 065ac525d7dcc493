import type { FoundCommit } from "../../protocol/commit-page.js";
import type { FinishedWork } from "../../protocol/messages.js";
import type { ResultBatch, SelectedResult } from "../../protocol/result-batch.js";

/**
 * Who gets what a source of results produces for one search: the root of the search, which counts, reports and sends.
 * All sources deliver here: the slices on the threads of this process, and whatever else may search a part of the
 * repositories.
 *
 * Contract, by what crosses:
 * - **Repositories** are named by the ids of the catalog's repository table, in tallies, found results and match
 *   objects alike.
 * - **Limits.** What a batch contains is counted already, in the search's control block: the root adds tallies, and
 *   counts only found results and commits, because several sources may find the same one.
 * - **Credit.** The bytes of a batch were taken from the search's credit before they were sent. They belong to the root
 *   until it calls `release`; the source gives credit back as far as the client has read.
 * - **Coverage**, costs, excluded files and failures come with `work`, once for each part of the work.
 * - Batches and work come in any order; nothing comes after the source's run has ended.
 */
export interface SourceListener {
  batch(batch: SourcedBatch, release: () => void): void;
  /** A result beside the batches. */
  found(result: FoundResult): void;
  /** A commit or a diff; `sendCommits` is called before the source waits for anything. */
  commit(found: FoundCommit, repositoryId: number, nowMs: number): void;
  sendCommits(): void;
  work(work: FinishedWork): void;
  /** Something could not be searched: one sentence. */
  failed(sentence: string): void;
  /** Work has been scheduled, so the time of the search runs. */
  scheduled(): void;
  /** Something has arrived or waits: what waits should be asked to go on. */
  advanced(): void;
  /** No slice runs, and some wait until the client has read. */
  parked(): void;
}

/** A batch of a worker, with results that have all that is sent of them. */
export interface SourcedBatch extends Pick<ResultBatch, "bytes" | "tally" | "digest"> {
  readonly selected: readonly FoundResult[];
}

/** A result that several threads or sources may find: the first one with its key is kept, and counted. */
export interface FoundResult
  extends Pick<SelectedResult, "key" | "optionsIndex" | "repositoryId" | "revision" | "kind"> {
  /** The name of the repository. */
  readonly repository: string;
  /** The match object. It is asked for only if it is sent. */
  readonly json: () => string;
}

/** How far the client of a search is behind. */
export interface ClientPace {
  /** Bytes of results that the client has not read: those that were passed to it, and those that wait to be. */
  readonly unreadBytes: number;
  /** Those that were passed to it. */
  readonly pendingBytes: number;
}
