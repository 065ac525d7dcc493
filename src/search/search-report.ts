import type { RepositoryTable } from "../catalog/repository-table.js";
import type { SearchPlan } from "../query/plan.js";
import type { LeftOutFile } from "../worker/messages.js";
import { chooseAlert, queryErrorAlert } from "./alerts.js";
import type { Progress } from "./event-stream.js";
import { makeFilters, type Filter } from "./filters.js";
import type { LeftOut } from "./preparation.js";
import { makeSkipped, type NotSearched, type Skipped } from "./progress.js";
import type { Resolution } from "./repository-resolver.js";
import type { SearchOutcome } from "./search-environment.js";
import type { SearchLimits } from "./search-limits.js";
import type { SearchResults } from "./search-results.js";

/** What stays the same of the search that is reported on. */
export interface ReportedSearch {
  readonly queryText: string;
  readonly plan: SearchPlan;
  readonly limits: SearchLimits;
  readonly results: SearchResults;
  /** All that there is for this search. */
  readonly repositories: () => RepositoryTable;
  readonly startedMs: number;
  readonly traceUrl: string;
}

/** What a search says beside its matches: how far it is, what it leaves out and why. */
export class SearchReport {
  /** What was chosen to be searched, by alternative. */
  resolutions: readonly Resolution[];
  /** Repositories of which something could not be found out. */
  readonly leftOut: LeftOut[] = [];
  /** Sentences, one for each thing that went wrong. */
  readonly failures: string[] = [];
  /** Files that take too much work, by shard and document, each once. */
  readonly #costlyFiles = new Map<string, string>();
  /** Shards that were still being searched when the search ended. */
  readonly unfinishedShards: number[] = [];
  /** Why the query cannot be run; undefined when it can. */
  queryError: string | undefined;
  /** Whether the time of the whole search is over. */
  isTimedOut = false;
  /** Rules whose time is over. */
  readonly timedOutRules = new Set<number>();
  readonly #search: ReportedSearch;

  constructor(search: ReportedSearch, resolutions: readonly Resolution[]) {
    this.#search = search;
    this.resolutions = resolutions;
  }

  noteLeftOut(files: readonly LeftOutFile[]): void {
    for (const file of files) this.#costlyFiles.set(`${file.shardId}:${file.document}`, describeLeftOut(file));
  }

  get durationMs(): number {
    return performance.now() - this.#search.startedMs;
  }

  outcome(isCancelled: boolean): SearchOutcome {
    if (isCancelled) return "cancelled";
    if (this.#hasTimedOut) return "timeout";
    if (this.failures.length > 0 || this.queryError !== undefined) return "failed";
    return this.#search.results.isLimitHit ? "limit" : "complete";
  }

  alert(durationMs: number): ReturnType<typeof chooseAlert> {
    const { queryText, plan, results, repositories } = this.#search;
    if (this.queryError !== undefined) return queryErrorAlert(this.queryError);
    return chooseAlert({
      queryText, plan, resolutions: this.resolutions, leftOut: this.leftOut,
      unownedResults: results.tally.unownedResults,
      repositoryCount: repositories().count, hasResults: results.matchCount > 0,
      timedOutAfterMs: this.#hasTimedOut ? durationMs : undefined,
    });
  }

  filters(final: boolean): Filter[] {
    const { results, repositories } = this.#search;
    const isComplete = final && !results.isLimitHit && !this.#hasTimedOut && this.queryError === undefined
      && this.failures.length + this.leftOut.length + this.#costlyFiles.size === 0;
    return makeFilters({
      tally: results.tally,
      repositoryResultCount: results.repositoryCount,
      ...this.#excludedCounts(),
      nameOf: (id) => repositories().byId(id)?.name ?? "",
    }, isComplete);
  }

  progress(done: boolean): Progress {
    const { results, traceUrl } = this.#search;
    const repositoriesCount = results.repositoryIds.size;
    return {
      done,
      ...(done && repositoriesCount > 0 ? { repositoriesCount } : {}),
      matchCount: results.matchCount,
      durationMs: Math.round(this.durationMs),
      skipped: this.#skipped(done),
      trace: traceUrl,
    };
  }

  notSearched(): NotSearched {
    return {
      missing: unique([...this.resolutions.flatMap(({ missing }) => missing), ...this.#leftOutNames(false)]),
      cloning: unique(this.resolutions.flatMap(({ cloning }) => cloning)),
      timedOut: unique([...this.#timedOutNames(), ...this.#leftOutNames(true)]),
    };
  }

  #skipped(done: boolean): Skipped[] {
    const { limits, results } = this.#search;
    return makeSkipped({
      ...this.notSearched(),
      limitHit: results.isLimitHit,
      matchCountMax: limits.isSuggestible ? limits.matchCountMax : undefined,
      quarantined: done ? this.#quarantinedNames() : [],
      shardFailures: this.failures,
      unfinishedShards: this.unfinishedShards,
      costlyFiles: { count: this.#costlyFiles.size, names: [...this.#costlyFiles.values()] },
      ...this.#excludedCounts(),
      displayLimitHit: done && limits.displayCountMax < results.matchCount ? limits.displayCountMax : undefined,
    });
  }

  get #hasTimedOut(): boolean {
    return this.isTimedOut || this.timedOutRules.size > 0;
  }

  #excludedCounts(): { readonly excludedForkCount: number; readonly excludedArchivedCount: number } {
    return {
      excludedForkCount: countOfAll(this.resolutions, ({ excludedForks }) => excludedForks),
      excludedArchivedCount: countOfAll(this.resolutions, ({ excludedArchived }) => excludedArchived),
    };
  }

  #timedOutNames(): string[] {
    if (!this.#hasTimedOut) return [];
    const late = this.resolutions.filter((_, i) => this.isTimedOut || this.timedOutRules.has(this.#search.plan.alternatives[i].rules));
    return late.flatMap(({ repositories }) => repositories.map(({ name }) => name));
  }

  #quarantinedNames(): string[] {
    return unique(this.resolutions.flatMap(({ repositories }) => repositories.filter(({ quarantine }) => quarantine !== undefined).map(({ name }) => name)));
  }

  #leftOutNames(isLate: boolean): readonly string[] {
    return this.leftOut.filter((one) => one.isLate === isLate).map(({ repository }) => repository);
  }
}

export function describeLeftOut({ repository, path, reason }: LeftOutFile): string {
  return `\`${repository}\` ${path}: ${reason === "work" ? "looking for the pattern reads the text too often" : "too many matches on one line"}`;
}

/** How many repositories are in the lists of all resolutions together. */
function countOfAll(resolutions: readonly Resolution[], listOf: (resolution: Resolution) => readonly number[]): number {
  return resolutions.length === 1 ? listOf(resolutions[0]).length : new Set(resolutions.flatMap(listOf)).size;
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}
