import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { Alert, ExplainedCost, Filter, Progress, Receipt, Skipped } from "../../model/stream-events.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import type { ReceiptSource } from "./search-receipt.js";
import type { OmissionSource } from "./omissions.js";
import { chooseAlert, queryErrorAlert } from "./alerts.js";
import { makeFilters } from "./filters.js";
import { listExcluded, makeSkipped, type NotSearched, visibleMs } from "./progress.js";
import type { Resolution } from "../repositories/repository-resolver.js";
import type { SearchOutcome } from "./search-end.js";
import type { SearchRecord } from "./search-record.js";
import type { SearchLimits } from "../limits/search-limits.js";
import type { ResultCounts } from "../results/search-results.js";
import type { Repository } from "../../model/repository.js";

/** The constant properties of the reported search. */
export interface ReportedSearch {
  readonly queryText: string;
  readonly plan: SearchPlan;
  readonly limits: SearchLimits;
  readonly counts: ResultCounts;
  readonly record: SearchRecord;
  /** What was chosen to be searched so far, by basic query. */
  readonly resolutions: () => readonly Resolution[];
  /** All repositories that exist for this search. */
  readonly repositories: () => RepositoryTable;
  readonly startedMs: number;
  readonly traceUrl: string;
  /** Whether its viewer sees all repositories. */
  readonly seesAll: boolean;
}

/** What a search reports in addition to its matches, made from what it has found and recorded. */
export class SearchReport {
  readonly #search: ReportedSearch;
  /** Counts and names derived from resolutions, by kind: a hundred basic queries may each have all repositories. */
  #derived = { from: [] as readonly Resolution[], values: new Map<string, readonly string[] | number>() };
  /** The receipt of the last event, if the client asked for it. */
  receipt: Receipt | undefined;
  /** The costs for the last event, if the client asked for them. */
  explained: ExplainedCost | undefined;
  /** What may have been meant by a query that found nothing. */
  near: Alert | undefined;

  constructor(search: ReportedSearch) {
    this.#search = search;
  }

  get #resolutions(): readonly Resolution[] {
    return this.#search.resolutions();
  }

  /** What the receipt is made of. */
  receiptSource(): ReceiptSource {
    const { counts, repositories } = this.#search;
    return {
      resolutions: this.#resolutions,
      repositories: repositoriesOfAll(this.#resolutions),
      excluded: this.#excluded((id) => repositories().byId(id)?.name ?? ""),
      digest: counts.digest.sum,
      matchCount: counts.duplicates?.matchesInAllPlaces ?? counts.matchCount,
    };
  }

  #excluded(nameOf: (id: number) => string): OmissionSource {
    const { limits, counts, record } = this.#search;
    const idsOf = (find: (resolution: Resolution) => readonly number[]): readonly string[] => [
      ...new Set(this.#resolutions.flatMap(find).map(nameOf)),
    ];
    return {
      ...this.notSearched(),
      quarantined: this.#quarantinedNames(),
      incomplete: this.#incompleteNames(),
      forks: idsOf(({ excludedForks }) => excludedForks),
      archived: idsOf(({ excludedArchived }) => excludedArchived),
      excluded: record.excluded,
      missingRevisions: [...this.#resolutions.flatMap((one) => one.missingRevisions), ...record.missingRevisions],
      costlyFiles: [...record.costlyFiles.values()],
      filesWithoutSymbols: [...record.failedFiles.values()],
      historyGaps: record.historyGaps,
      budgetError: record.budgetError,
      failures: record.queryError === undefined ? record.failures : [record.queryError, ...record.failures],
      shardsWithoutSymbols: record.shardsWithoutSymbols,
      matchLimit: counts.isLimitHit ? limits.matchCountMax : undefined,
      displayLimit: limits.displayCountMax < counts.countedMatches ? limits.displayCountMax : undefined,
    };
  }

  get startedMs(): number {
    return this.#search.startedMs;
  }

  get durationMs(): number {
    return performance.now() - this.#search.startedMs;
  }

  outcome(isCancelled: boolean): SearchOutcome {
    if (isCancelled) return "cancelled";
    const { counts, record } = this.#search;
    if (record.hasTimedOut) return "timeout";
    if (record.failures.length > 0 || record.fatalError !== undefined) return "failed";
    return counts.isLimitHit ? "limit" : "complete";
  }

  alert(durationMs: number): Alert | undefined {
    const { queryText, plan, counts, record, repositories } = this.#search;
    if (record.queryError !== undefined) return queryErrorAlert(record.queryError);
    return chooseAlert({
      queryText,
      plan,
      resolutions: this.#resolutions,
      missingRevisions: record.missingRevisions,
      excluded: record.excluded,
      unownedResults: counts.tally.unownedResults,
      repositoryCount: repositories().count,
      hasResults: counts.matchCount > 0,
      timedOutAfterMs: record.hasTimedOut ? visibleMs(durationMs, this.#search.seesAll) : undefined,
      near: this.near,
    });
  }

  filters(final: boolean): Filter[] {
    const { counts, record, repositories } = this.#search;
    const isComplete =
      final && !counts.isLimitHit && !record.hasTimedOut && record.fatalError === undefined && !record.hasGaps;
    return makeFilters(
      {
        plan: this.#search.plan,
        tally: counts.tally,
        history: counts.history,
        repositoryResultCount: counts.repositoryCount,
        ...this.#excludedCounts(),
        nameOf: (id) => repositories().byId(id)?.name ?? "",
      },
      isComplete,
    );
  }

  progress(done: boolean): Progress {
    const { counts, traceUrl, seesAll } = this.#search;
    return {
      done,
      repositoriesCount: done ? counts.repositoryIds.size || undefined : undefined,
      matchCount: counts.matchCount,
      durationMs: visibleMs(Math.round(this.durationMs), seesAll),
      skipped: this.#skipped(done),
      trace: traceUrl,
      receipt: done ? this.receipt : undefined,
      explain: done ? this.explained : undefined,
      duplicates: counts.duplicates,
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
    const { limits, counts, record } = this.#search;
    const { missing, cloning, timedOut } = this.notSearched();
    const { excludedForkCount, excludedArchivedCount } = this.#excludedCounts();
    return makeSkipped({
      missing,
      isMissingWanted: missing.length > 0 && this.#isMissingWanted(),
      cloning,
      timedOut,
      limitHit: counts.isLimitHit,
      matchCountMax: limits.isSuggestible ? limits.matchCountMax : undefined,
      quarantined: done ? this.#quarantinedNames() : [],
      incomplete: done ? this.#incompleteNames() : [],
      shardFailures: record.failures,
      budgetError: record.budgetError,
      unfinishedShards: record.unfinishedShards,
      historyGaps: record.historyGaps,
      shardsWithoutSymbols: record.shardsWithoutSymbols,
      symbolFaults: [...record.symbolFaults],
      filesWithoutSymbols: listExcluded(record.failedFiles),
      costlyFiles: listExcluded(record.costlyFiles),
      excludedForkCount,
      excludedArchivedCount,
      displayLimitHit: done && limits.displayCountMax < counts.countedMatches ? limits.displayCountMax : undefined,
    });
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
    const { hasTimedOut, isTimedOut, timedOutOptions } = this.#search.record;
    if (!hasTimedOut) return [];
    return this.#once(isTimedOut ? "late" : `late by ${timedOutOptions.size} options`, () => {
      const late = this.#resolutions.filter(
        (_, i) => isTimedOut || timedOutOptions.has(this.#search.plan.basicQueries[i].optionsIndex),
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
    const { incompleteRevisions } = this.#search.record;
    return incompleteRevisions.size === 0 ? known : [...new Set([...known, ...incompleteRevisions])];
  }

  #once<T extends readonly string[] | number>(key: string, find: () => T): T {
    const from = this.#resolutions;
    if (this.#derived.from !== from) this.#derived = { from, values: new Map() };
    const found = (this.#derived.values.get(key) as T | undefined) ?? find();
    this.#derived.values.set(key, found);
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
    return this.#search.record.excluded.filter((one) => one.isLate === isLate).map(({ repository }) => repository);
  }
}

/** The union of the repositories of all resolutions. Alternatives with the same choice share their lists. */
function repositoriesOfAll(resolutions: readonly Resolution[]): readonly Repository[] {
  const [first = [], ...others] = new Set(resolutions.map(({ repositories }) => repositories));
  if (others.length === 0) return first;
  const seen: Uint8Array[] = [];
  const all: Repository[] = [];
  for (const list of [first, ...others]) {
    for (const repository of list) if (markNew(seen, repository.id)) all.push(repository);
  }
  return all;
}

/** The number of distinct ids in the lists, each of which contains no duplicates. */
function countIds(lists: readonly (readonly number[])[]): number {
  const [first = [], ...others] = new Set(lists);
  if (others.length === 0) return first.length;
  const seen: Uint8Array[] = [];
  let count = 0;
  for (const list of [first, ...others]) for (const id of list) if (markNew(seen, id)) count++;
  return count;
}

/** Marks by id, in pages: a `Set` of numbers takes ten times as long, and there may be millions of ids. */
const pageBits = 12;

/** Returns false if the id is already marked. */
function markNew(pages: Uint8Array[], id: number): boolean {
  const page = (pages[id >>> pageBits] ??= new Uint8Array(1 << pageBits));
  const at = id & (page.length - 1);
  if (page[at] === 1) return false;
  page[at] = 1;
  return true;
}

function namesIn(lists: readonly (readonly string[])[]): readonly string[] {
  if (lists.every(({ length }) => length === 0)) return [];
  const names = new Set<string>();
  for (const list of new Set(lists)) for (const name of list) names.add(name);
  return [...names];
}

function withMore(names: readonly string[], more: readonly string[]): readonly string[] {
  return more.length === 0 ? names : [...new Set([...names, ...more])];
}
