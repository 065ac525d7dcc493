import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { Alert, ExplainedCost, Filter, Progress, Receipt, Skipped } from "../../model/stream-events.js";
import { isSymbolFault } from "../../model/symbol-failure.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import type { ExcludedFile, FinishedWork } from "../../protocol/messages.js";
import { ReceiptCoverage, type ReceiptSource } from "../receipt/search-receipt.js";
import type { OmissionSource } from "../receipt/omissions.js";
import { listExcluded } from "./excluded-files.js";
import { chooseAlert, queryErrorAlert } from "./alerts.js";
import { makeFilters } from "./filters.js";
import type { ExcludedRepository } from "../preparation-context.js";
import type { BuiltHistory } from "../../protocol/history-messages.js";
import type { HistoryGaps } from "./history-gaps.js";
import { makeSkipped, visibleMs, type NotSearched } from "./progress.js";
import { countIds, namesIn, repositoriesOfAll, withMore } from "./repository-sets.js";
import type { MissingRevision } from "../revisions/revision-resolver.js";
import type { Resolution } from "../repositories/repository-resolver.js";
import type { SearchOutcome } from "../search-environment.js";
import type { SearchLimits } from "../search-limits.js";
import type { SearchResults } from "./search-results.js";

/** The constant properties of the reported search. */
export interface ReportedSearch {
  readonly queryText: string;
  readonly plan: SearchPlan;
  readonly limits: SearchLimits;
  readonly results: SearchResults;
  /** All repositories that exist for this search. */
  readonly repositories: () => RepositoryTable;
  readonly startedMs: number;
  readonly traceUrl: string;
  /** Whether its viewer sees all repositories. */
  readonly seesAll: boolean;
}

/** What a search reports in addition to its matches: progress, exclusions and their reasons. */
export class SearchReport {
  #resolutions: readonly Resolution[];
  /** Counts and names derived from the resolutions, by kind: a hundred basic queries may each have all repositories. */
  #found = new Map<string, readonly string[] | number>();
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
  /** Sentences, one per failure. */
  readonly failures: string[] = [];
  /** Names of repositories in which git objects of commits that are not indexed are missing. */
  readonly incompleteRevisions = new Set<string>();
  /** Files that take too much work, by shard and document, without duplicates. */
  readonly #costlyFiles = new Map<string, ExcludedFile>();
  /** Files for which ctags has failed, likewise. */
  readonly #failedFiles = new Map<string, ExcludedFile>();
  /** Why symbols of revisions that are not indexed could not be extracted. */
  readonly symbolFaults = new Set<string>();
  /** Shards that could not be searched for symbols yet. */
  #shardsWithoutSymbols = 0;
  /** Shards that were still being searched when the search ended. */
  readonly unfinishedShards: number[] = [];
  /** What the slices cover; used if there is a receipt. */
  readonly coverage = new ReceiptCoverage();
  /** The receipt of the last event, if the client asked for it. */
  receipt: Receipt | undefined;
  /** The costs for the last event, if the client asked for them. */
  explained: ExplainedCost | undefined;
  /** What may have been meant by a query that found nothing. */
  near: Alert | undefined;
  /** Why the query cannot be executed; undefined if it can. */
  queryError: string | undefined;
  /** Why the client's budget ended the search; undefined if it did not. */
  budgetError: string | undefined;
  /** Whether the whole search has timed out. */
  isTimedOut = false;
  /** Result options, by index, whose timeout has expired. */
  readonly timedOutOptions = new Set<number>();
  readonly #search: ReportedSearch;

  constructor(search: ReportedSearch, resolutions: readonly Resolution[]) {
    this.#search = search;
    this.#resolutions = resolutions;
  }

  /** What was chosen to be searched, by basic query. */
  get resolutions(): readonly Resolution[] {
    return this.#resolutions;
  }

  set resolutions(resolutions: readonly Resolution[]) {
    this.#resolutions = resolutions;
    this.#found.clear();
  }

  recordWork({ excluded, shardsWithoutSymbols = 0, coverage }: FinishedWork): void {
    this.#shardsWithoutSymbols += shardsWithoutSymbols;
    for (const file of excluded) {
      const files = isSymbolFault(file.reason) ? this.#failedFiles : this.#costlyFiles;
      files.set(`${file.shardId}:${file.document}`, file);
    }
    if (coverage !== undefined) this.coverage.add(coverage);
  }

  /** What the receipt is made of. */
  receiptSource(): ReceiptSource {
    const { results, repositories } = this.#search;
    return {
      resolutions: this.#resolutions,
      repositories: repositoriesOfAll(this.#resolutions),
      excluded: this.#excluded((id) => repositories().byId(id)?.name ?? ""),
      digest: results.digest.sum,
      matchCount: results.duplicates?.matchesInAllPlaces ?? results.matchCount,
    };
  }

  #excluded(nameOf: (id: number) => string): OmissionSource {
    const { limits, results } = this.#search;
    const idsOf = (find: (resolution: Resolution) => readonly number[]): readonly string[] => [
      ...new Set(this.#resolutions.flatMap(find).map(nameOf)),
    ];
    return {
      ...this.notSearched(),
      quarantined: this.#quarantinedNames(),
      incomplete: this.#incompleteNames(),
      forks: idsOf(({ excludedForks }) => excludedForks),
      archived: idsOf(({ excludedArchived }) => excludedArchived),
      excluded: this.excluded,
      missingRevisions: [...this.#resolutions.flatMap((one) => one.missingRevisions), ...this.missingRevisions],
      costlyFiles: [...this.#costlyFiles.values()],
      filesWithoutSymbols: [...this.#failedFiles.values()],
      historyGaps: this.historyGaps,
      budgetError: this.budgetError,
      failures: this.queryError === undefined ? this.failures : [this.queryError, ...this.failures],
      shardsWithoutSymbols: this.#shardsWithoutSymbols,
      matchLimit: results.isLimitHit ? limits.matchCountMax : undefined,
      displayLimit: limits.displayCountMax < results.countedMatches ? limits.displayCountMax : undefined,
    };
  }

  /** The history of the repository, which is searched, is cut off. */
  recordCut(repository: string): void {
    this.historyGaps.cutRepositories.add(repository);
  }

  recordHistory(repository: string, counts: Omit<BuiltHistory, "shard" | "next">): void {
    const { brokenCount, largeFileCount, cutMessageCount } = counts;
    if (brokenCount + largeFileCount + cutMessageCount > 0) this.historyGaps.repositories.add(repository);
    this.historyGaps.brokenCommits += brokenCount;
    this.historyGaps.largeFiles += largeFileCount;
    this.historyGaps.cutMessages += cutMessageCount;
  }

  get durationMs(): number {
    return performance.now() - this.#search.startedMs;
  }

  outcome(isCancelled: boolean): SearchOutcome {
    if (isCancelled) return "cancelled";
    if (this.#hasTimedOut) return "timeout";
    if (this.failures.length > 0 || (this.queryError ?? this.budgetError) !== undefined) return "failed";
    return this.#search.results.isLimitHit ? "limit" : "complete";
  }

  alert(durationMs: number): Alert | undefined {
    const { queryText, plan, results, repositories } = this.#search;
    if (this.queryError !== undefined) return queryErrorAlert(this.queryError);
    return chooseAlert({
      queryText,
      plan,
      resolutions: this.resolutions,
      missingRevisions: this.missingRevisions,
      excluded: this.excluded,
      unownedResults: results.tally.unownedResults,
      repositoryCount: repositories().count,
      hasResults: results.matchCount > 0,
      timedOutAfterMs: this.#hasTimedOut ? visibleMs(durationMs, this.#search.seesAll) : undefined,
      near: this.near,
    });
  }

  filters(final: boolean): Filter[] {
    const { results, repositories } = this.#search;
    const isComplete =
      final &&
      !results.isLimitHit &&
      !this.#hasTimedOut &&
      (this.queryError ?? this.budgetError) === undefined &&
      this.#shardsWithoutSymbols +
        this.failures.length +
        this.excluded.length +
        this.#costlyFiles.size +
        this.#failedFiles.size +
        this.historyGaps.repositories.size +
        this.historyGaps.cutRepositories.size ===
        0;
    return makeFilters(
      {
        tally: results.tally,
        history: results.history,
        repositoryResultCount: results.repositoryCount,
        ...this.#excludedCounts(),
        nameOf: (id) => repositories().byId(id)?.name ?? "",
      },
      isComplete,
    );
  }

  progress(done: boolean): Progress {
    const { results, traceUrl, seesAll } = this.#search;
    return {
      done,
      repositoriesCount: done ? results.repositoryIds.size || undefined : undefined,
      matchCount: results.matchCount,
      durationMs: visibleMs(Math.round(this.durationMs), seesAll),
      skipped: this.#skipped(done),
      trace: traceUrl,
      receipt: done ? this.receipt : undefined,
      explain: done ? this.explained : undefined,
      duplicates: results.duplicates,
    };
  }

  notSearched(): NotSearched {
    return {
      missing: withMore(
        this.#once("missing", () => namesIn(this.#resolutions.map(({ missing }) => missing))),
        this.#excludedNames(false),
      ),
      cloning: this.#once("cloning", () => namesIn(this.#resolutions.map(({ cloning }) => cloning))),
      timedOut: withMore(this.#timedOutNames(), this.#excludedNames(true)),
    };
  }

  /** Without spread properties, after which V8 defines each property in a slow way: that took 40 µs of each search. */
  #skipped(done: boolean): Skipped[] {
    const { limits, results } = this.#search;
    const { missing, cloning, timedOut } = this.notSearched();
    const { excludedForkCount, excludedArchivedCount } = this.#excludedCounts();
    return makeSkipped({
      missing,
      isMissingWanted: missing.length > 0 && this.#isMissingWanted(),
      cloning,
      timedOut,
      limitHit: results.isLimitHit,
      matchCountMax: limits.isSuggestible ? limits.matchCountMax : undefined,
      quarantined: done ? this.#quarantinedNames() : [],
      incomplete: done ? this.#incompleteNames() : [],
      shardFailures: this.failures,
      budgetError: this.budgetError,
      unfinishedShards: this.unfinishedShards,
      historyGaps: this.historyGaps,
      shardsWithoutSymbols: this.#shardsWithoutSymbols,
      symbolFaults: [...this.symbolFaults],
      filesWithoutSymbols: listExcluded(this.#failedFiles),
      costlyFiles: listExcluded(this.#costlyFiles),
      excludedForkCount,
      excludedArchivedCount,
      displayLimitHit: done && limits.displayCountMax < results.countedMatches ? limits.displayCountMax : undefined,
    });
  }

  get #hasTimedOut(): boolean {
    return this.isTimedOut || this.timedOutOptions.size > 0;
  }

  #excludedCounts(): { readonly excludedForkCount: number; readonly excludedArchivedCount: number } {
    return {
      excludedForkCount: this.#once("forks", () =>
        countIds(this.#resolutions.map(({ excludedForks }) => excludedForks)),
      ),
      excludedArchivedCount: this.#once("archived", () =>
        countIds(this.#resolutions.map(({ excludedArchived }) => excludedArchived)),
      ),
    };
  }

  #timedOutNames(): readonly string[] {
    if (!this.#hasTimedOut) return [];
    return this.#once(this.isTimedOut ? "late" : `late by ${this.timedOutOptions.size} options`, () => {
      const late = this.#resolutions.filter(
        (_, i) => this.isTimedOut || this.timedOutOptions.has(this.#search.plan.basicQueries[i].optionsIndex),
      );
      return repositoriesOfAll(late).map(({ name }) => name);
    });
  }

  #quarantinedNames(): readonly string[] {
    return this.#once("quarantined", () =>
      repositoriesOfAll(this.#resolutions)
        .filter(({ quarantine }) => quarantine !== undefined)
        .map(({ name }) => name),
    );
  }

  #incompleteNames(): readonly string[] {
    const known = this.#once("incomplete", () =>
      repositoriesOfAll(this.#resolutions)
        .filter(({ skippedCounts }) => (skippedCounts["missing"] ?? 0) > 0)
        .map(({ name }) => name),
    );
    return this.incompleteRevisions.size === 0 ? known : [...new Set([...known, ...this.incompleteRevisions])];
  }

  #once<T extends readonly string[] | number>(key: string, find: () => T): T {
    const found = (this.#found.get(key) as T | undefined) ?? find();
    this.#found.set(key, found);
    return found;
  }

  /** Of the repositories that were never fetched, one is named in full, or the query chooses no others. */
  #isMissingWanted(): boolean {
    if (this.#excludedNames(false).length > 0) return true;
    const { basicQueries } = this.#search.plan;
    return this.#resolutions.some(({ missing, cloning, repositories }, i) => {
      if (missing.length === 0) return false;
      const named = basicQueries[i].repositories.include.map(({ exactName }) => exactName);
      return repositories.length === missing.length + cloning.length || missing.some((name) => named.includes(name));
    });
  }

  #excludedNames(isLate: boolean): readonly string[] {
    return this.excluded.filter((one) => one.isLate === isLate).map(({ repository }) => repository);
  }
}
