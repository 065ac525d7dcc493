import type { SearchRequest } from "../../model/search-request.js";
import type { FoundCommit } from "../../protocol/commit-page.js";
import type { Repository } from "../../model/repository.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import type { RankedDocument } from "../../protocol/rank-messages.js";
import type { MarkOptions, ResultBatch, SelectedResult } from "../../protocol/result-batch.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import type { SearchLimits } from "../limits/search-limits.js";
import type { FoundChanges } from "./found-changes.js";
import type { ReceiptPart } from "./receipt-part.js";
import type { SearchPart } from "./search-part.js";

/**
 * Where results of one search come from: some of the repositories, with their records, shards and mirrors. It chooses
 * what is searched, evaluates what the viewer may see, and searches. The root of the search counts, reports and sends.
 *
 * Contract:
 * - `run` is called once, and delivers to the root's listener until it resolves. It rejects only for a bug.
 * - `finish` is called once, when the last event is about to be made: nothing is delivered afterwards, although `run` may
 *   not have resolved. `release` is called when it has.
 * - `part` may be called at any time, and is called for the last time after `finish`: the root keeps what it returns then.
 *   `receipt` is called before `finish`.
 * - What a part, a receipt or a name tells is only about repositories that the viewer may see.
 * - No repository belongs to two sources of a search.
 */
export interface SearchSource {
  /** Finds everything. Resolves when nothing more comes. */
  run(): Promise<void>;
  /** Whether anything works for the search at this moment. */
  readonly isActive: boolean;
  /** Whether results that were found before the search was stopped wait for nothing but the main thread. */
  readonly isPassingOn: boolean;
  /** The client has read, or something has arrived: lets work that waits for the client continue. */
  goOn(): void;
  /** The search was stopped, as the control block says: abandons what is parked. */
  drop(): void;
  /** The client has left: batches are no longer wanted. */
  giveUp(): void;
  finish(): void;
  release(): void;
  /** Some of its lists are complete only if `isLast` is true. */
  part(late: LateQueries, isLast: boolean): SearchPart;
  receipt(late: LateQueries): Promise<ReceiptPart>;
  /** The name of a repository of this source; undefined if it has none with this id. */
  nameOf(repositoryId: number): string | undefined;
  /** Undefined unless the search is for changes, and the source knows them. Ids of repositories are those of this process. */
  readonly changes: FoundChanges | undefined;
  /** Whether it is a node. If one is lost that was asked for changes, the next search is told them. */
  readonly isNode?: boolean;
}

/** Basic queries that have run out of time: all of them, or those with some result options. */
export interface LateQueries {
  readonly all: boolean;
  readonly options: ReadonlySet<number>;
}

/** The search for which sources work. */
export interface SourcedSearch {
  readonly request: SearchRequest;
  readonly plan: SearchPlan;
  readonly limits: SearchLimits;
  /** Its results are counted here, whoever finds them. */
  readonly control: ControlBlock;
  /** Memory of `ContentClaims`; undefined unless results with the same content are grouped. */
  readonly claims: SharedArrayBuffer | undefined;
  /** On the clock of `performance.now()`. */
  readonly startedMs: number;
  /** Undefined unless another process may have to go on behind what was sent, or this one goes on behind another. */
  readonly marks?: MarkOptions | undefined;
  /** As in `SearchOptions`. */
  readonly batchBytesMax?: number | undefined;
  /** Ranked documents are kept for so many matches; absent for those that may be shown. */
  readonly rankedMatchesMax?: number | undefined;
  /** The number of the first change of a search for changes; absent for 0. */
  readonly sideFrom?: number | undefined;
}

/** What the root of a search gives its sources. */
export interface SourceRoot {
  readonly listener: SourceListener;
  readonly pace: ClientPace;
  /** Resolves when the search is stopped. */
  readonly stopped: Promise<undefined>;
  /** What has run out of time so far. */
  readonly late: LateQueries;
  /** Undefined if there is one source: then its results are in the right order. */
  readonly order?: SourceOrder;
}

/**
 * What a source tells about the order of its results, so that those of several can be put into one: repositories, then ranked
 * documents, then others as they are found, then histories.
 */
export interface SourceOrder {
  /** The next results are these repositories, which this basic query chooses; no repository of an earlier place follows. */
  repository(basicQuery: number, repository: Repository): void;
  /** Told how many shards of this source share the budget of ranking, resolves with how many of all sources do. */
  shareBudget(shardCount: number): Promise<number>;
  /** These documents are next. Their batches say which one they belong to, as indexes from `from` on. */
  ranked(documents: readonly RankedDocument[], from: number): void;
  /** No repositories and ranked documents follow. */
  others(): void;
  /** The next results are of the history of this repository; only histories follow. */
  history(repository: Repository): void;
}

/**
 * Who gets what the sources of one search find: its root, which counts, reports and sends.
 *
 * Contract, by what crosses:
 * - **Repositories** are named by their ids, which are the same at all sources, in tallies, found results and match
 *   objects alike.
 * - **Limits.** What a batch contains is counted already, in the search's control block: the root adds tallies, and
 *   counts only found results and commits, because several threads or sources may find the same one.
 * - **Credit.** The bytes of a batch were taken from the search's credit before they were sent. They belong to the root
 *   until it calls `release`; the source gives credit back as far as the client has read.
 * - What was searched, what it cost and what could not be searched is in the source's part.
 * - Batches come in any order; nothing comes after the source's run has ended.
 */
export interface SourceListener {
  batch(batch: SourcedBatch, release: () => void): void;
  /** A result beside the batches. */
  found(result: FoundResult): void;
  /** A commit or a diff; `sendCommits` is called before the source waits for anything. */
  commit(found: FoundCommit, repositoryId: number, nowMs: number): void;
  sendCommits(): void;
  /** The query cannot be executed, as only a source could tell: one sentence. */
  refused(sentence: string): void;
  /** Work has been scheduled, so the time of the search runs. */
  scheduled(): void;
  /** Something has arrived or waits: what waits should be asked to go on. */
  advanced(): void;
  /** Some work waits until the client has read. */
  parked(): void;
}

/** A batch of a worker, with results that have all that is sent of them. */
export interface SourcedBatch
  extends Pick<ResultBatch, "bytes" | "tally" | "digest" | "marks" | "contents" | "ranked"> {
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
  /** Work that produces results waits while this many bytes, or more, are unread. */
  readonly creditBytes: number;
}
