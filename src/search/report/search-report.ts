import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { Alert, ExplainedCost, Filter, Progress, Receipt, Skipped } from "../../model/stream-events.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import { quoteValue } from "../../query/syntax/quote.js";
import { ReceiptCoverage, type ReceiptSource, type SearchReceipt } from "./search-receipt.js";
import {
  type ExcludedRepository,
  type HistoryGaps,
  listExcluded,
  makeSkipped,
  type NotSearched,
  type OmissionSource,
  visibleMs,
} from "./omissions.js";
import { chooseAlert, queryErrorAlert } from "./alerts.js";
import type { MissingRevision, Resolution } from "../repositories/repository-resolver.js";
import type { SearchLimits } from "../limits/search-limits.js";
import type { ResultCounts } from "../results/search-results.js";
import type { Repository } from "../../model/repository.js";
import { isSymbolFault } from "../../model/symbol-failure.js";
import type { BuiltHistory } from "../../protocol/history-messages.js";
import type { ExcludedFile, FinishedWork, Lane } from "../../protocol/messages.js";
import { addStats, noStats, type SearchStats } from "../../protocol/search-options.js";
import type { SearchChanges } from "../revisions/revision-changes.js";
import type { HistoryTally, Tally } from "../../protocol/result-batch.js";
import { fileKinds } from "../../model/file-kind.js";
import { escapeRegexp } from "../../base/text.js";

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
      digestedMatches: counts.digest.matchCount,
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
      displayLimit: this.#withholds ? limits.displayCountMax : undefined,
    };
  }

  /** Whether the client asked for fewer matches than were found, and not for their number only. */
  get #withholds(): boolean {
    const { limits, counts } = this.#search;
    return counts.groups === undefined && limits.displayCountMax < counts.countedMatches;
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
    if (counts.matchCount > 0 && this.#isWhole) return undefined;
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

  /** Of a search with results, only what it lacks is worth an alert. */
  get #isWhole(): boolean {
    const { counts, record, repositories } = this.#search;
    return (
      record.excluded.length + record.missingRevisions.length + counts.tally.unownedResults === 0 &&
      this.#resolutions.every(({ missingRevisions }) => missingRevisions.length === 0) &&
      repositories().count > 0
    );
  }

  /** Whether everything that may contain a match was searched. */
  get isComplete(): boolean {
    const { counts, record } = this.#search;
    return !counts.isLimitHit && !record.hasTimedOut && record.fatalError === undefined && !record.hasGaps;
  }

  /** Whether also every repository and revision that the query chooses was there, as a whole. */
  get coversAll(): boolean {
    const { missing, cloning, timedOut, quarantined, incomplete, missingRevisions } = this.#excluded(() => "");
    const left = [missing, cloning, timedOut, quarantined, incomplete, missingRevisions];
    return this.isComplete && this.#search.record.symbolFaults.size === 0 && left.every(({ length }) => length === 0);
  }

  filters(final: boolean): Filter[] {
    const { counts, repositories } = this.#search;
    return makeFilters(
      {
        plan: this.#search.plan,
        tally: counts.tally,
        history: counts.history,
        repositoryResultCount: counts.repositoryCount,
        ...this.#excludedCounts(),
        nameOf: (id) => repositories().byId(id)?.name ?? "",
      },
      final && this.isComplete,
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
      displayLimitHit: done && this.#withholds ? limits.displayCountMax : undefined,
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

/**
 * What is known about the course of a search, apart from its results: what it cost, what it covers, and what was left
 * out and why. Plain state: the parts of the search add to it, and the report is made from it.
 */
export class SearchRecord {
  readonly stats = noStats();
  /** What the slices cover; undefined if there is no receipt. */
  coverage: ReceiptCoverage | undefined;
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
    if (coverage === undefined) return;
    this.coverage ??= new ReceiptCoverage();
    this.coverage.add(coverage);
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

/** How a search ended. */
export type SearchOutcome = "complete" | "limit" | "timeout" | "cancelled" | "failed";

export interface SearchEnd {
  readonly lane: Lane;
  readonly outcome: SearchOutcome;
  readonly matchCount: number;
  readonly durationMs: number;
  /** Milliseconds until the first matches event; undefined if there was none. */
  readonly firstMatchesMs: number | undefined;
  /**
   * Milliseconds from the moment when no more results were wanted until the end of the last slice; undefined if the
   * search was completed.
   */
  readonly stoppingMs: number | undefined;
  /** Time of the search workers. */
  readonly workerMs: number;
  readonly stats: SearchStats;
  readonly shardFailures: readonly string[];
  readonly notSearched: NotSearched;
  /**
   * Whether the query has these results as long as the catalog does not change: they depend on nothing else, such as a
   * mirror or a clock, and on no failure.
   */
  readonly isRepeatable: boolean;
  /** Undefined if the client did not ask for it, or left. */
  readonly receipt: SearchReceipt | undefined;
  /** What a search for changes compared; undefined for any other search. */
  readonly changes: SearchChanges | undefined;
}

/** Maximum number of repository filters, and of other filters. */
const filterCountMax = 1000;

const importantKinds = new Set<Filter["kind"]>(["utility", "type"]);

export interface FilterSource {
  readonly plan: SearchPlan;
  readonly tally: Tally;
  readonly history: HistoryTally;
  readonly repositoryResultCount: number;
  readonly excludedForkCount: number;
  readonly excludedArchivedCount: number;
  readonly nameOf: (repositoryId: number) => string;
}

/** The filters for the results so far: important kinds first, then by count, then by value. */
function makeFilters(source: FilterSource, exhaustive: boolean): Filter[] {
  const all = [
    ...utilityFilters(source),
    ...typeFilters(source),
    ...languageFilters(source),
    ...repositoryFilters(source),
    ...fileFilters(source),
    ...symbolFilters(source),
    ...authorFilters(source),
    ...ageFilters(source),
  ].map(({ value, label, count, kind }) => ({ value, label, count, kind, exhaustive, limitHit: !exhaustive }));
  all.sort(
    (a, b) =>
      Number(importantKinds.has(b.kind)) - Number(importantKinds.has(a.kind)) ||
      b.count - a.count ||
      compare(a.value, b.value),
  );
  let repositoryCount = 0;
  let otherCount = 0;
  return all.filter((filter) => (filter.kind === "repo" ? ++repositoryCount : ++otherCount) <= filterCountMax);
}

type Suggestion = Pick<Filter, "value" | "label" | "count" | "kind">;

function utilityFilters(source: FilterSource): Suggestion[] {
  const suggestions: Suggestion[] = [
    { value: "fork:yes", label: "Include forked repos", count: source.excludedForkCount, kind: "utility" },
    { value: "archived:yes", label: "Include archived repos", count: source.excludedArchivedCount, kind: "utility" },
  ];
  return suggestions.filter((suggestion) => suggestion.count > 0);
}

/** Whether the number of files with a match in their path is that of the results of the query with `type:path`. */
function knowsPaths({ basicQueries }: SearchPlan, { contentMatches, symbolMatches }: Tally): boolean {
  if (contentMatches + symbolMatches === 0) return true;
  // A range in the path may be of a filter, or of one of several patterns, which need not all match in the path.
  return basicQueries.every(
    ({ text }) =>
      text === undefined ||
      (text.path &&
        text.leaves.length === 1 &&
        text.fileFilters.every((filter) => filter.kind !== "path" || filter.negated || !filter.highlighted)),
  );
}

function typeFilters({ plan, tally, history, repositoryResultCount }: FilterSource): Suggestion[] {
  const suggestions: Suggestion[] = [
    { value: "type:file", label: "Code", count: tally.contentMatches, kind: "type" },
    { value: "type:symbol", label: "Symbols", count: tally.symbolMatches, kind: "type" },
    { value: "type:path", label: "Paths", count: knowsPaths(plan, tally) ? tally.pathMatches : 0, kind: "type" },
    { value: "type:repo", label: "Repositories", count: repositoryResultCount, kind: "type" },
    { value: "type:commit", label: "Commits", count: history.commitMatches, kind: "type" },
    { value: "type:diff", label: "Diffs", count: history.diffMatches, kind: "type" },
  ];
  return suggestions.filter((suggestion) => suggestion.count > 0);
}

function languageFilters({ tally }: FilterSource): Suggestion[] {
  return [...tally.languages].map(([label, count]) => {
    return { value: `lang:${quoteValue(label.toLowerCase())}`, label, count, kind: "lang" };
  });
}

function repositoryFilters({ tally, nameOf }: FilterSource): Suggestion[] {
  return [...tally.repositories].map(([key, count]) => {
    const at = key.indexOf("@");
    const name = nameOf(Number(key.slice(0, at)));
    const revision = key.slice(at + 1);
    return {
      value: `repo:${quoteValue(`^${escapeRegexp(name)}$${revision === "" ? "" : `@${revision}`}`)}`,
      label: name,
      count,
      kind: "repo",
    };
  });
}

function fileFilters({ tally }: FilterSource): Suggestion[] {
  return fileKinds.flatMap((kind, i): Suggestion[] =>
    tally.fileKinds[i] > 0 ? [{ value: kind.value, label: kind.label, count: tally.fileKinds[i], kind: "file" }] : [],
  );
}

function symbolFilters({ tally }: FilterSource): Suggestion[] {
  return [...tally.symbolKinds].map(([kind, count]) => {
    const label = kind.replace(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
    return { value: `select:symbol.${kind}`, label, count, kind: "symbol type" };
  });
}

function authorFilters({ history }: FilterSource): Suggestion[] {
  return [...history.authors].map(([email, { name, count }]) => {
    return { value: `author:${quoteValue(escapeRegexp(email))}`, label: name, count, kind: "author" };
  });
}

const ageSuggestions = [
  { value: "after:yesterday", label: "Last 24 hours" },
  { value: 'before:"1 week ago"', label: "Last week" },
  { value: 'before:"1 month ago"', label: "Last month" },
  { value: 'before:"2 months ago"', label: "Older than 2 months" },
] as const;

function ageFilters({ history }: FilterSource): Suggestion[] {
  return ageSuggestions.flatMap((suggestion, i): Suggestion[] =>
    history.ages[i] > 0 ? [{ ...suggestion, count: history.ages[i], kind: "commit date" }] : [],
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
