import { TrawlError } from "../base/errors.js";
import type { RepositoryTable } from "../catalog/repository-table.js";
import type { Repository } from "../model/repository.js";
import type { RepositoryNamePlan, SearchPlan } from "../query/plan.js";
import { compileRegexp } from "../regexp/compile.js";
import type { Matcher, RangeSink } from "../regexp/matcher.js";
import { placesByName } from "./repository-bitmaps.js";
import type { Resolution } from "./repository-resolver.js";
import type { SearchResults } from "./search-results.js";

/** Gives the results the repositories that the plan takes as such. Yields between pieces of work. */
export function* repositoryResults(
  { basicQueries: alternatives, rules: allRules }: SearchPlan,
  resolutions: readonly Resolution[],
  table: RepositoryTable,
  results: Pick<SearchResults, "addRepository" | "prepareRepositories">,
): Generator<undefined, void> {
  for (const [i, { repositoryNames, rules }] of alternatives.entries()) {
    const { select } = allRules[rules];
    if (repositoryNames === undefined || (select !== undefined && select !== "repo")) continue;
    const {
      repositories,
      selection: { revisions },
    } = resolutions[i];
    const chosen = yield* repositoriesByName(repositoryNames, table, repositories);
    if (chosen.length > 0) yield* results.prepareRepositories();
    for (const repository of chosen) {
      const typed = revisions?.get(repository.id)?.map((choice) => choice.typed) ?? [undefined];
      for (const revision of typed) results.addRepository(repository.id, revision, rules);
      yield;
    }
  }
}

/**
 * Those of the repositories whose name the plan takes, in their order. Yields between pieces of work, of which a query
 * of thousands of patterns makes many.
 */
function* repositoriesByName(
  plan: RepositoryNamePlan,
  table: RepositoryTable,
  repositories: readonly Repository[],
): Generator<undefined, readonly Repository[]> {
  if (plan.sources.length + plan.exclude.length + plan.groups.length === 0) return repositories;
  const rows = repositories.flatMap(({ id }) => table.placeOf(id) ?? []);
  const kept = new Set(yield* filterRows(plan, table, rows));
  return repositories.filter(({ id }) => kept.has(table.placeOf(id) ?? -1));
}

function* filterRows(
  plan: RepositoryNamePlan,
  table: RepositoryTable,
  rows: readonly number[],
): Generator<undefined, readonly number[]> {
  const hasPositive = plan.sources.length + plan.groups.length > 0;
  let kept = rows;
  if (plan.combine === "or" && hasPositive) {
    kept = yield* keepAny(plan, table, rows);
  } else {
    for (const source of plan.sources) kept = yield* keepMatching([source], true, plan, table, kept);
    for (const group of plan.groups) kept = yield* filterRows(group, table, kept);
  }
  return yield* keepMatching(plan.exclude, false, plan, table, kept);
}

function* keepAny(
  plan: RepositoryNamePlan,
  table: RepositoryTable,
  rows: readonly number[],
): Generator<undefined, readonly number[]> {
  const found = new Set(yield* keepMatching(plan.sources, true, plan, table, rows));
  for (const group of plan.groups) for (const row of yield* filterRows(group, table, rows)) found.add(row);
  return rows.filter((row) => found.has(row));
}

/** The places whose name any of the sources matches; with `wanted` false, those that none does. */
function* keepMatching(
  sources: readonly string[],
  wanted: boolean,
  { foldCase }: RepositoryNamePlan,
  table: RepositoryTable,
  rows: readonly number[],
): Generator<undefined, readonly number[]> {
  if (rows.length === 0 || sources.length === 0) return wanted ? [] : rows;
  const marks = new Uint8Array(table.count);
  for (const union of yield* buildUnions(sources, foldCase)) {
    for (const row of yield* placesByName(table, union, foldCase, true, rows)) marks[row] = 1;
    yield;
  }
  return rows.filter((row) => (marks[row] === 1) === wanted);
}

/** Ranges in names that the patterns of a search match, for highlights. */
export class NameHighlighter {
  readonly #matchers: readonly Matcher[];

  private constructor(matchers: readonly Matcher[]) {
    this.#matchers = matchers;
  }

  /** Yields between pieces of work: thousands of patterns take 50 ms. */
  static *make(plans: readonly RepositoryNamePlan[]): Generator<undefined, NameHighlighter> {
    const matchers: Matcher[] = [];
    for (const foldCase of [true, false]) {
      const sources = new Set(plans.flatMap((plan) => allSources(plan, foldCase)));
      // In a union the first that matches wins: the longer one before what it begins with.
      const ordered = [...sources].sort((a, b) => b.length - a.length);
      for (const union of yield* buildUnions(ordered, foldCase)) {
        matchers.push(compileRegexp(union, foldCase));
        yield;
      }
    }
    return new NameHighlighter(matchers);
  }

  /** Sorted and disjoint; of two that overlap the earlier one, then the longer one. */
  ranges(name: Buffer): NameRange[] {
    const pairs: [number, number][] = [];
    const sink: RangeSink = { push: (start, end) => pairs.push([start, end]) };
    for (const matcher of this.#matchers) matcher.findAll(name, 0, sink);
    pairs.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
    const location = (offset: number) => ({
      offset,
      line: 0 as const,
      column: [...name.subarray(0, offset).toString()].length,
    });
    const ranges: NameRange[] = [];
    let last = -1;
    for (const [start, end] of pairs) {
      if (start < last) continue;
      ranges.push({ start: location(start), end: location(end) });
      last = end;
    }
    return ranges;
  }
}

function allSources(plan: RepositoryNamePlan, foldCase: boolean): string[] {
  return [
    ...(plan.foldCase === foldCase ? plan.sources : []),
    ...plan.groups.flatMap((group) => allSources(group, foldCase)),
  ];
}

/** Few regexps stay by themselves; of many, so many of at most so many characters make one. */
const apartCountMax = 32;
const unionCountMax = 64;
const unionLengthMax = 4096;

/** Regexps that match where any of the sources does: thousands of them as about a hundred. */
function* buildUnions(sources: readonly string[], foldCase: boolean): Generator<undefined, readonly string[]> {
  if (sources.length <= apartCountMax) return sources;
  const unions: string[][] = [];
  let length = unionLengthMax;
  for (const source of sources) {
    length += source.length;
    const last = unions.at(-1);
    if (last === undefined || last.length >= unionCountMax || length >= unionLengthMax) {
      unions.push([source]);
      length = source.length;
    } else {
      last.push(source);
    }
  }
  const usable: string[] = [];
  for (const union of unions) {
    const joined = union.map((source) => `(?:${source})`).join("|");
    usable.push(...(union.length > 1 && isCompilable(joined, foldCase) ? [joined] : union));
    yield;
  }
  return usable;
}

/** Regexps that are good one by one may be too large together. */
function isCompilable(source: string, foldCase: boolean): boolean {
  try {
    compileRegexp(source, foldCase);
    return true;
  } catch (error) {
    if (error instanceof TrawlError) return false;
    throw error;
  }
}

/** One `repo` match object as JSON. `revision` is undefined when the query named none. */
export function repositoryMatch(
  repository: Repository,
  revision: string | undefined,
  highlighter: NameHighlighter,
): string {
  const ranges = highlighter.ranges(Buffer.from(repository.name));
  return JSON.stringify({
    type: "repo",
    repositoryID: repository.id,
    repository: repository.name,
    repositoryMatches: ranges.length > 0 ? ranges : undefined,
    branches: revision === undefined || revision === "" ? undefined : [revision],
    repoStars: repository.stars > 0 ? repository.stars : undefined,
    repoLastFetched: repository.lastFetched === "" ? undefined : repository.lastFetched,
    description: repository.description === "" ? undefined : repository.description,
    fork: repository.fork || undefined,
    archived: repository.archived || undefined,
    private: repository.private || undefined,
    metadata: Object.keys(repository.metadata).length > 0 ? repository.metadata : undefined,
    topics: repository.topics.length > 0 ? repository.topics : undefined,
  });
}

interface NameRange {
  readonly start: { readonly offset: number; readonly line: 0; readonly column: number };
  readonly end: { readonly offset: number; readonly line: 0; readonly column: number };
}
