import type { Repository } from "../../model/repository.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { RepositoryFilter, RepositoryNamePlan, SearchPlan } from "../../query/plan/plan.js";
import { rowsByName } from "./repository-choice.js";
import type { Resolution } from "./repository-resolver.js";
import type { FoundResult } from "../source/search-source.js";
import { resultAtOnce } from "../../base/yielding.js";
import { toJson } from "../../base/text.js";
import type { StreamRange } from "../../model/stream-events.js";
import type { RangeSink } from "../../regexp/analysis/plain-form.js";
import { compileRegexp, type Matcher } from "../../regexp/match/matcher.js";
import { TrawlError } from "../../base/errors.js";

/** Makes results of repositories. */
export class RepositoryWriter {
  readonly #plan: SearchPlan;
  readonly #repositories: () => RepositoryTable;
  readonly #idBase: number;
  #highlighter: NameHighlighter | undefined;

  /** `repositories` returns all repositories that exist for the search. `idBase` is added to their ids. */
  constructor(plan: SearchPlan, repositories: () => RepositoryTable, idBase: number) {
    this.#plan = plan;
    this.#idBase = idBase;
    this.#repositories = repositories;
  }

  /** Prepares, in steps, what the first result needs. */
  *prepare(): Generator<undefined, void> {
    this.#highlighter ??= yield* NameHighlighter.make(this.#plan);
  }

  /** Undefined if the repository does not exist any more. */
  find(repositoryId: number, revision: string | undefined, optionsIndex: number): FoundResult | undefined {
    const repository = this.#repositories().byId(repositoryId);
    if (repository === undefined) return undefined;
    const id = this.#idBase + repositoryId;
    return {
      key: `${id}@${revision ?? ""}`,
      optionsIndex,
      repositoryId: id,
      repository: repository.name,
      revision: revision ?? "",
      kind: "repository",
      json: () => {
        this.#highlighter ??= resultAtOnce(NameHighlighter.make(this.#plan));
        return repositoryMatch(id, repository, revision, this.#highlighter);
      },
    };
  }
}

/** Passes on the repositories that are results themselves. Yields between steps. */
export function* repositoryResults(
  { basicQueries, resultOptions }: SearchPlan,
  resolutions: readonly Resolution[],
  table: RepositoryTable,
  writer: RepositoryWriter,
  onFound: (found: FoundResult, basicQuery: number, repository: Repository) => void,
): Generator<undefined, void> {
  for (const [i, { repositoryNames, optionsIndex }] of basicQueries.entries()) {
    const { select } = resultOptions[optionsIndex];
    if (repositoryNames === undefined || (select !== undefined && select !== "repo")) continue;
    const {
      repositories,
      selection: { revisions },
    } = resolutions[i];
    const chosen = yield* repositoriesByName(repositoryNames, table, repositories);
    if (chosen.length > 0) yield* writer.prepare();
    for (const repository of chosen) {
      const typed = revisions?.get(repository.id)?.map((choice) => choice.typed) ?? [undefined];
      for (const revision of typed) {
        const found = writer.find(repository.id, revision, optionsIndex);
        if (found !== undefined) onFound(found, i, repository);
      }
      yield;
    }
  }
}

/**
 * The repositories whose name matches the plan, in their order. Yields between steps, because a query may have
 * thousands of patterns.
 */
function* repositoriesByName(
  plan: RepositoryNamePlan,
  table: RepositoryTable,
  repositories: readonly Repository[],
): Generator<undefined, readonly Repository[]> {
  if (plan.sources.length + plan.exclude.length + plan.groups.length === 0) return repositories;
  const { places, rows } = findRows(table, repositories);
  const kept = new Set(yield* filterRows(plan, table, rows));
  // Most words that are searched for are in no name.
  return kept.size === 0 ? [] : repositories.filter((_, i) => kept.has(places[i]));
}

/** Where the repositories of a list are in a table. */
interface ListedRows {
  readonly table: RepositoryTable;
  /** The row of each, -1 for one that does not exist any more. */
  readonly places: readonly number[];
  /** Those that exist. */
  readonly rows: readonly number[];
}

/** By a list of a resolution: searches that choose the same repositories share it, and there may be thousands in it. */
const knownRows = new WeakMap<readonly Repository[], ListedRows>();

function findRows(table: RepositoryTable, repositories: readonly Repository[]): ListedRows {
  const known = knownRows.get(repositories);
  if (known?.table === table) return known;
  const places = repositories.map(({ id }) => table.findRow(id) ?? -1);
  const found = { table, places, rows: places.filter((row) => row >= 0) };
  knownRows.set(repositories, found);
  return found;
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
  return found.size === 0 ? [] : rows.filter((row) => found.has(row));
}

/** The rows whose name matches any of the sources; if `wanted` is false, those that match none. */
function* keepMatching(
  sources: readonly string[],
  wanted: boolean,
  { foldCase }: RepositoryNamePlan,
  table: RepositoryTable,
  rows: readonly number[],
): Generator<undefined, readonly number[]> {
  if (rows.length === 0 || sources.length === 0) return wanted ? [] : rows;
  const unions = yield* buildUnions(sources, foldCase);
  if (unions.length === 1) {
    yield;
    return yield* rowsByName(table, unions[0], foldCase, wanted, rows);
  }
  const marks = new Uint8Array(table.count);
  for (const union of unions) {
    for (const row of yield* rowsByName(table, union, foldCase, true, rows)) marks[row] = 1;
    yield;
  }
  return rows.filter((row) => (marks[row] === 1) === wanted);
}

/** Ranges in names and descriptions that the patterns and predicates of a search match, for highlighting. */
export class NameHighlighter {
  readonly #names: readonly Matcher[];
  readonly #descriptions: readonly Matcher[];

  private constructor(names: readonly Matcher[], descriptions: readonly Matcher[]) {
    this.#names = names;
    this.#descriptions = descriptions;
  }

  /** Yields between steps: thousands of patterns take 50 ms. */
  static *make({ basicQueries }: SearchPlan): Generator<undefined, NameHighlighter> {
    const plans = basicQueries.flatMap(({ repositoryNames }) => repositoryNames ?? []);
    const matchers: Matcher[] = [];
    for (const foldCase of [true, false]) {
      const sources = new Set(plans.flatMap((plan) => allSources(plan, foldCase)));
      // In a union the first alternative that matches wins, so longer sources come before their prefixes.
      const ordered = [...sources].sort((a, b) => b.length - a.length);
      for (const union of yield* buildUnions(ordered, foldCase)) {
        matchers.push(compileRegexp(union, foldCase));
        yield;
      }
    }
    const descriptions: Matcher[] = [];
    for (const source of new Set(basicQueries.flatMap(({ repositories }) => descriptionSources(repositories)))) {
      descriptions.push(compileRegexp(source, true));
      yield;
    }
    return new NameHighlighter(matchers, descriptions);
  }

  nameRanges(name: string): StreamRange[] {
    return findRanges(this.#names, Buffer.from(name));
  }

  /** Lines count from 0, and end after a newline. */
  descriptionRanges(description: string): StreamRange[] {
    return this.#descriptions.length === 0 ? [] : findRanges(this.#descriptions, Buffer.from(description));
  }
}

function descriptionSources({ predicates }: RepositoryFilter): string[] {
  return predicates.flatMap(({ negated, test }) => (!negated && test.kind === "description" ? [test.source] : []));
}

/** Sorted and disjoint; of two overlapping ranges the earlier one, then the longer one, is kept. */
function findRanges(matchers: readonly Matcher[], text: Buffer): StreamRange[] {
  const pairs: [number, number][] = [];
  const sink: RangeSink = { push: (start, end) => pairs.push([start, end]) };
  for (const matcher of matchers) matcher.findAll(text, 0, sink);
  pairs.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  const ranges: StreamRange[] = [];
  let last = -1;
  for (const [start, end] of pairs) {
    if (start < last) continue;
    ranges.push({ start: locate(text, start), end: locate(text, end) });
    last = end;
  }
  return ranges;
}

function locate(text: Buffer, offset: number): StreamRange["start"] {
  const lines = text.subarray(0, offset).toString().split("\n");
  return { offset, line: lines.length - 1, column: [...(lines.at(-1) ?? "")].length };
}

/** One `repo` match object as JSON. `revision` is undefined if the query specified none. */
export function repositoryMatch(
  id: number,
  repository: Repository,
  revision: string | undefined,
  highlighter: NameHighlighter,
): string {
  const ranges = highlighter.nameRanges(repository.name);
  const descriptionRanges = highlighter.descriptionRanges(repository.description);
  return toJson({
    type: "repo",
    repositoryID: id,
    repository: repository.name,
    repositoryMatches: ranges.length > 0 ? ranges : undefined,
    branches: revision === undefined || revision === "" ? undefined : [revision],
    repoStars: repository.stars > 0 ? repository.stars : undefined,
    repoLastFetched: repository.lastFetched === "" ? undefined : repository.lastFetched,
    description: repository.description === "" ? undefined : repository.description,
    descriptionMatches: descriptionRanges.length > 0 ? descriptionRanges : undefined,
    fork: repository.fork || undefined,
    archived: repository.archived || undefined,
    private: repository.private || undefined,
    metadata: Object.keys(repository.metadata).length > 0 ? repository.metadata : undefined,
    topics: repository.topics.length > 0 ? repository.topics : undefined,
  });
}

function allSources(plan: RepositoryNamePlan, foldCase: boolean): string[] {
  return [
    ...(plan.foldCase === foldCase ? plan.sources : []),
    ...plan.groups.flatMap((group) => allSources(group, foldCase)),
  ];
}

/**
 * Up to `apartCountMax` regexps remain separate; more are combined into unions of at most `unionCountMax` sources or
 * `unionLengthMax` characters.
 */
const apartCountMax = 32;
const unionCountMax = 64;
const unionLengthMax = 4096;

/** Regexps that together match whatever any of the sources matches: about a hundred for thousands of sources. */
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

/** Regexps that compile individually may be too large together. */
function isCompilable(source: string, foldCase: boolean): boolean {
  try {
    compileRegexp(source, foldCase);
    return true;
  } catch (error) {
    if (error instanceof TrawlError) return false;
    throw error;
  }
}
