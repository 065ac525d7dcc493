import type { Alert, ExplainedCost, Filter, Progress, Receipt, Skipped } from "../../model/stream-events.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import { quoteValue } from "../../query/syntax/quote.js";
import type { SearchReceipt } from "./search-receipt.js";
import { makeSkipped, type NotSearched, visibleMs } from "./omissions.js";
import { chooseAlert, queryErrorAlert } from "./alerts.js";
import type { SearchLimits } from "../limits/search-limits.js";
import type { ResultCounts } from "../results/search-results.js";
import type { Lane } from "../../protocol/messages.js";
import type { SearchStats } from "../../protocol/search-options.js";
import type { SearchChanges } from "../source/found-changes.js";
import { listOmissions, type OmissionGroup } from "../source/receipt-part.js";
import { hasGaps, join, type Listed, listed, type SearchPart, sentencesMax } from "../source/search-part.js";
import type { HistoryTally, Tally } from "../../protocol/result-batch.js";
import { fileKinds } from "../../model/file-kind.js";
import { escapeRegexp } from "../../base/text.js";

/** The constant properties of the reported search. */
export interface ReportedSearch {
  readonly queryText: string;
  readonly plan: SearchPlan;
  readonly limits: SearchLimits;
  readonly counts: ResultCounts;
  readonly course: SearchCourse;
  /** What the sources say so far, as one part. */
  readonly part: (isLast: boolean) => SearchPart;
  /** The name of a repository that has a result; "" if it does not exist any more. */
  readonly nameOf: (repositoryId: number) => string;
  readonly startedMs: number;
  readonly traceUrl: string;
}

/** What a search reports in addition to its matches, made from what it has found and what its sources say. */
export class SearchReport {
  readonly #search: ReportedSearch;
  /** Defined when the sources have finished. */
  #lastPart: SearchPart | undefined;
  /** The filters that were made last, and what they were made from. */
  #suggested: { readonly key: string; readonly all: readonly Suggestion[] } | undefined;
  /** The receipt of the last event, if the client asked for it. */
  receipt: Receipt | undefined;
  /** The costs for the last event, if the client asked for them. */
  explained: ExplainedCost | undefined;
  /** What may have been meant by a query that found nothing. */
  near: Alert | undefined;

  constructor(search: ReportedSearch) {
    this.#search = search;
  }

  /** The sources have finished: what they say does not change any more. */
  end(): void {
    this.#lastPart = this.#search.part(true);
  }

  /** What the sources say, with all lists. */
  get wholePart(): SearchPart {
    return this.#lastPart ?? this.#search.part(true);
  }

  get #part(): SearchPart {
    return this.#lastPart ?? this.#search.part(false);
  }

  /** What the root of the search left out, besides its sources. */
  omissions(): readonly OmissionGroup[] {
    const { limits, counts, course } = this.#search;
    const { shardsWithoutSymbols } = this.#part;
    const limit = (reason: string, count: number | undefined): OmissionGroup =>
      listOmissions(reason, count === undefined ? [] : [count], (countMax) => ({ detail: `${countMax} matches` }));
    const sentences = (reason: string, all: readonly string[]): OmissionGroup =>
      listOmissions(reason, all, (detail) => ({ detail }));
    return [
      limit("match-limit", counts.isLimitHit ? limits.matchCountMax : undefined),
      limit("display-limit", this.#withholds ? limits.displayCountMax : undefined),
      sentences("budget", course.budgetError === undefined ? [] : [course.budgetError]),
      sentences("failure", course.queryError === undefined ? course.failures : [course.queryError, ...course.failures]),
      sentences("symbols", shardsWithoutSymbols === 0 ? [] : [`${shardsWithoutSymbols} shards`]),
    ];
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
    const { counts, course } = this.#search;
    if (course.hasTimedOut) return "timeout";
    if (this.#failures(this.#part).count > 0 || course.fatalError !== undefined) return "failed";
    return counts.isLimitHit ? "limit" : "complete";
  }

  alert(durationMs: number): Alert | undefined {
    const { queryText, plan, counts, course } = this.#search;
    if (course.queryError !== undefined) return queryErrorAlert(course.queryError);
    const part = this.wholePart;
    if (counts.matchCount > 0 && this.#isWhole(part)) return undefined;
    return chooseAlert({
      queryText,
      plan,
      part,
      unownedResults: counts.tally.unownedResults,
      hasResults: counts.matchCount > 0,
      timedOutAfterMs: course.hasTimedOut ? visibleMs(durationMs, part.seesAll) : undefined,
      near: this.near,
    });
  }

  /** Of a search with results, only what it lacks is worth an alert. */
  #isWhole({ excluded, missingRevisions, visibleCount }: SearchPart): boolean {
    const { unownedResults } = this.#search.counts.tally;
    return excluded.count + missingRevisions.count + unownedResults === 0 && visibleCount > 0;
  }

  /** Whether everything that may contain a match was searched. */
  #isComplete(part: SearchPart): boolean {
    const { counts, course } = this.#search;
    return (
      !counts.isLimitHit &&
      !course.hasTimedOut &&
      course.fatalError === undefined &&
      course.failures.length === 0 &&
      !hasGaps(part)
    );
  }

  /** Whether also every repository and revision that the query chooses was there, as a whole. */
  get coversAll(): boolean {
    const part = this.wholePart;
    const { missing, cloning, timedOut, partlyIndexedCount, missingRevisions, symbolFaults } = part;
    const leftOutCount = missing.count + cloning.count + timedOut.count + partlyIndexedCount + missingRevisions.count;
    return this.#isComplete(part) && leftOutCount + symbolFaults.length === 0;
  }

  filters(final: boolean): Filter[] {
    const { counts } = this.#search;
    const part = this.#part;
    const { excludedForkCount, excludedArchivedCount } = part;
    const key = `${counts.version} ${excludedForkCount} ${excludedArchivedCount}`;
    // Most searches have one batch, so that the last filters are the first ones.
    if (this.#suggested?.key !== key) this.#suggested = { key, all: this.#suggest(part) };
    const exhaustive = final && this.#isComplete(part);
    return this.#suggested.all.map(({ value, label, count, kind }) => {
      return { value, label, count, kind, exhaustive, limitHit: !exhaustive };
    });
  }

  #suggest({ excludedForkCount, excludedArchivedCount }: SearchPart): readonly Suggestion[] {
    const { plan, counts, nameOf } = this.#search;
    return suggestFilters({
      plan,
      tally: counts.tally,
      history: counts.history,
      repositoryResultCount: counts.repositoryCount,
      excludedForkCount,
      excludedArchivedCount,
      nameOf,
    });
  }

  /** Without spread properties, after which V8 defines each property in a slow way: that took 40 µs of each search. */
  progress(done: boolean): Progress {
    const { counts, traceUrl } = this.#search;
    const part = this.#part;
    return {
      done,
      repositoriesCount: done ? counts.repositoryIds.size || undefined : undefined,
      matchCount: counts.matchCount,
      durationMs: visibleMs(Math.round(this.durationMs), part.seesAll),
      skipped: this.#skipped(done, part),
      trace: traceUrl,
      receipt: done ? this.receipt : undefined,
      explain: done ? this.explained : undefined,
      duplicates: counts.duplicates,
    };
  }

  notSearched(): NotSearched {
    const { missing, cloning, timedOut } = this.#part;
    return { missing: missing.first, cloning: cloning.first, timedOut: timedOut.first };
  }

  /** Sentences about what failed. */
  get failures(): readonly string[] {
    const { count, first } = this.#failures(this.#part);
    return count === first.length ? first : [...first, `${count - first.length} more`];
  }

  #failures(part: SearchPart): Listed<string> {
    const own = this.#search.course.failures;
    return own.length === 0 ? part.failures : join(part.failures, listed(own, sentencesMax), sentencesMax);
  }

  #skipped(done: boolean, part: SearchPart): Skipped[] {
    const { limits, counts, course } = this.#search;
    return makeSkipped({
      part,
      isMissingWanted: part.missing.count > 0 && this.#isMissingWanted(part),
      limitHit: counts.isLimitHit,
      matchCountMax: limits.isSuggestible ? limits.matchCountMax : undefined,
      failures: this.#failures(part),
      budgetError: course.budgetError,
      displayLimitHit: done && this.#withholds ? limits.displayCountMax : undefined,
    });
  }

  /** Of the repositories that were never fetched, one is named in full, or the query chooses no others. */
  #isMissingWanted({ excluded, choices }: SearchPart): boolean {
    if (excluded.first.some(({ isLate }) => !isLate)) return true;
    return choices.some(
      ({ chosen, missing, cloning, namesMissing }) => missing > 0 && (namesMissing || chosen === missing + cloning),
    );
  }
}

/** What the root of a search knows about its course, besides its results and what its sources say. */
export class SearchCourse {
  /** Why the search was ended: sentences. */
  readonly failures: string[] = [];
  /** Why the query cannot be executed; undefined if it can. */
  queryError: string | undefined;
  /** Why the client's budget ended the search; undefined if it did not. */
  budgetError: string | undefined;
  /** The basic queries that have timed out. */
  readonly late = { all: false, options: new Set<number>() };

  get hasTimedOut(): boolean {
    return this.late.all || this.late.options.size > 0;
  }

  /** Why the search has not the results that it should have: of the query, or of the client's budget. */
  get fatalError(): string | undefined {
    return this.queryError ?? this.budgetError;
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

type Suggestion = Pick<Filter, "value" | "label" | "count" | "kind">;

/** The filters for the results so far: important kinds first, then by count, then by value. */
function suggestFilters(source: FilterSource): readonly Suggestion[] {
  const all: Suggestion[] = [];
  addUtilities(all, source);
  addTypes(all, source);
  addLanguages(all, source);
  addRepositories(all, source);
  addFileKinds(all, source);
  addSymbolKinds(all, source);
  addAuthors(all, source);
  addAges(all, source);
  all.sort(
    (a, b) =>
      Number(importantKinds.has(b.kind)) - Number(importantKinds.has(a.kind)) ||
      b.count - a.count ||
      compare(a.value, b.value),
  );
  if (all.length <= filterCountMax) return all;
  let repositoryCount = 0;
  let otherCount = 0;
  return all.filter((filter) => (filter.kind === "repo" ? ++repositoryCount : ++otherCount) <= filterCountMax);
}

function addIfAny(all: Suggestion[], value: string, label: string, count: number, kind: Filter["kind"]): void {
  if (count > 0) all.push({ value, label, count, kind });
}

function addUtilities(all: Suggestion[], { excludedForkCount, excludedArchivedCount }: FilterSource): void {
  addIfAny(all, "fork:yes", "Include forked repos", excludedForkCount, "utility");
  addIfAny(all, "archived:yes", "Include archived repos", excludedArchivedCount, "utility");
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

function addTypes(all: Suggestion[], { plan, tally, history, repositoryResultCount }: FilterSource): void {
  addIfAny(all, "type:file", "Code", tally.contentMatches, "type");
  addIfAny(all, "type:symbol", "Symbols", tally.symbolMatches, "type");
  addIfAny(all, "type:path", "Paths", knowsPaths(plan, tally) ? tally.pathMatches : 0, "type");
  addIfAny(all, "type:repo", "Repositories", repositoryResultCount, "type");
  addIfAny(all, "type:commit", "Commits", history.commitMatches, "type");
  addIfAny(all, "type:diff", "Diffs", history.diffMatches, "type");
}

function addLanguages(all: Suggestion[], { tally }: FilterSource): void {
  for (const [label, count] of tally.languages)
    all.push({ value: `lang:${quoteValue(label.toLowerCase())}`, label, count, kind: "lang" });
}

function addRepositories(all: Suggestion[], { tally, nameOf }: FilterSource): void {
  for (const [key, count] of tally.repositories) {
    const at = key.indexOf("@");
    const name = nameOf(Number(key.slice(0, at)));
    const revision = key.slice(at + 1);
    const value = `repo:${quoteValue(`^${escapeRegexp(name)}$${revision === "" ? "" : `@${revision}`}`)}`;
    all.push({ value, label: name, count, kind: "repo" });
  }
}

function addFileKinds(all: Suggestion[], { tally }: FilterSource): void {
  fileKinds.forEach(({ value, label }, i) => {
    addIfAny(all, value, label, tally.fileKinds[i], "file");
  });
}

function addSymbolKinds(all: Suggestion[], { tally }: FilterSource): void {
  for (const [kind, count] of tally.symbolKinds) {
    const label = kind.replace(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
    all.push({ value: `select:symbol.${kind}`, label, count, kind: "symbol type" });
  }
}

function addAuthors(all: Suggestion[], { history }: FilterSource): void {
  for (const [email, { name, count }] of history.authors)
    all.push({ value: `author:${quoteValue(escapeRegexp(email))}`, label: name, count, kind: "author" });
}

const ageLabels = [
  ["after:yesterday", "Last 24 hours"],
  ['before:"1 week ago"', "Last week"],
  ['before:"1 month ago"', "Last month"],
  ['before:"2 months ago"', "Older than 2 months"],
] as const;

function addAges(all: Suggestion[], { history }: FilterSource): void {
  ageLabels.forEach(([value, label], i) => {
    addIfAny(all, value, label, history.ages[i], "commit date");
  });
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
