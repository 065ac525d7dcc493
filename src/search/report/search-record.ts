import { isSymbolFault } from "../../model/symbol-failure.js";
import type { BuiltHistory } from "../../protocol/history-messages.js";
import type { ExcludedFile, FinishedWork } from "../../protocol/messages.js";
import { addStats, noStats } from "../../protocol/search-options.js";
import type { MissingRevision } from "../repositories/revision-resolver.js";
import type { HistoryGaps } from "./progress.js";
import type { ExcludedRepository } from "./omissions.js";
import { ReceiptCoverage } from "./search-receipt.js";

/**
 * What is known about the course of a search, apart from its results: what it cost, what it covers, and what was left
 * out and why. Plain state: the parts of the search add to it, and the report is made from it.
 */
export class SearchRecord {
  readonly stats = noStats();
  /** What the slices cover; used if there is a receipt. */
  readonly coverage = new ReceiptCoverage();
  /** Sentences, one per failure. */
  readonly failures: string[] = [];
  /** Repositories about which information could not be obtained. */
  readonly excluded: ExcludedRepository[] = [];
  /** Revisions that do not exist, found out while the search runs. */
  readonly missingRevisions: MissingRevision[] = [];
  /** Commits and files of histories that were not searched completely. */
  readonly historyGaps: HistoryGaps = {
    repositories: new Set(),
    cutRepositories: new Set(),
    brokenCommits: 0,
    largeFiles: 0,
    cutMessages: 0,
  };
  /** Names of repositories in which git objects of commits that are not indexed are missing. */
  readonly incompleteRevisions = new Set<string>();
  /** Files that take too much work, by shard and document, without duplicates. */
  readonly costlyFiles = new Map<string, ExcludedFile>();
  /** Files for which ctags has failed, likewise. */
  readonly failedFiles = new Map<string, ExcludedFile>();
  /** Why symbols of revisions that are not indexed could not be extracted. */
  readonly symbolFaults = new Set<string>();
  /** Shards that could not be searched for symbols yet. */
  shardsWithoutSymbols = 0;
  /** Shards that were still being searched when the search ended. */
  unfinishedShards: readonly number[] = [];
  /** Why the query cannot be executed; undefined if it can. */
  queryError: string | undefined;
  /** Why the client's budget ended the search; undefined if it did not. */
  budgetError: string | undefined;
  /** Whether the whole search has timed out. */
  isTimedOut = false;
  /** Result options, by index, whose timeout has expired. */
  readonly timedOutOptions = new Set<number>();

  /** Adds everything but the failures, which may concern the query itself. */
  addWork({ stats, excluded, shardsWithoutSymbols = 0, coverage }: FinishedWork): void {
    addStats(this.stats, stats);
    this.shardsWithoutSymbols += shardsWithoutSymbols;
    for (const file of excluded) {
      const files = isSymbolFault(file.reason) ? this.failedFiles : this.costlyFiles;
      files.set(`${file.shardId}:${file.document}`, file);
    }
    if (coverage !== undefined) this.coverage.add(coverage);
  }

  /** The history of the repository, which is searched, is cut off. */
  addCut(repository: string): void {
    this.historyGaps.cutRepositories.add(repository);
  }

  addHistory(repository: string, counts: Omit<BuiltHistory, "shard" | "next">): void {
    const { brokenCount, largeFileCount, cutMessageCount } = counts;
    if (brokenCount + largeFileCount + cutMessageCount > 0) this.historyGaps.repositories.add(repository);
    this.historyGaps.brokenCommits += brokenCount;
    this.historyGaps.largeFiles += largeFileCount;
    this.historyGaps.cutMessages += cutMessageCount;
  }

  get hasTimedOut(): boolean {
    return this.isTimedOut || this.timedOutOptions.size > 0;
  }

  /** Why the search has not the results that it should have: of the query, or of the client's budget. */
  get fatalError(): string | undefined {
    return this.queryError ?? this.budgetError;
  }

  /** Whether something was not searched, without the time limits and the limit on results. */
  get hasGaps(): boolean {
    const { repositories, cutRepositories } = this.historyGaps;
    return (
      this.shardsWithoutSymbols +
        this.failures.length +
        this.excluded.length +
        this.costlyFiles.size +
        this.failedFiles.size +
        repositories.size +
        cutRepositories.size >
      0
    );
  }
}
