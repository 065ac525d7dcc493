import type { Repository } from "../../model/repository.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { RepositoryNamePlan, SearchPlan } from "../../query/plan/plan.js";
import { buildUnions } from "./name-unions.js";
import { rowsByName } from "../repositories/repository-bitmaps.js";
import type { Resolution } from "../repositories/repository-resolver.js";
import type { SearchResults } from "./search-results.js";

/** Adds the repositories that are results themselves. Yields between steps. */
export function* repositoryResults(
  { basicQueries, resultOptions }: SearchPlan,
  resolutions: readonly Resolution[],
  table: RepositoryTable,
  results: Pick<SearchResults, "addRepository" | "prepareRepositories">,
): Generator<undefined, void> {
  for (const [i, { repositoryNames, optionsIndex }] of basicQueries.entries()) {
    const { select } = resultOptions[optionsIndex];
    if (repositoryNames === undefined || (select !== undefined && select !== "repo")) continue;
    const {
      repositories,
      selection: { revisions },
    } = resolutions[i];
    const chosen = yield* repositoriesByName(repositoryNames, table, repositories);
    if (chosen.length > 0) yield* results.prepareRepositories();
    for (const repository of chosen) {
      const typed = revisions?.get(repository.id)?.map((choice) => choice.typed) ?? [undefined];
      for (const revision of typed) results.addRepository(repository.id, revision, optionsIndex);
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
  const rows = repositories.flatMap(({ id }) => table.findRow(id) ?? []);
  const kept = new Set(yield* filterRows(plan, table, rows));
  return repositories.filter(({ id }) => kept.has(table.findRow(id) ?? -1));
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

/** The rows whose name matches any of the sources; if `wanted` is false, those that match none. */
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
    for (const row of yield* rowsByName(table, union, foldCase, true, rows)) marks[row] = 1;
    yield;
  }
  return rows.filter((row) => (marks[row] === 1) === wanted);
}
