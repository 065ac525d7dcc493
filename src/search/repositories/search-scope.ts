import type { Repository } from "../../model/repository.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import { toBitmap } from "./repository-choice.js";
import { type Resolution, resolveInSteps } from "./repository-resolver.js";

/** The parts of the resolutions that are about these repositories; all of them if `ids` is undefined. */
export function restrictTo(
  resolutions: readonly Resolution[],
  ids: ReadonlySet<number> | undefined,
): readonly Resolution[] {
  return ids === undefined ? resolutions : resolutions.map((resolution) => restrict(resolution, ids));
}

function restrict(resolution: Resolution, ids: ReadonlySet<number>): Resolution {
  const has = ({ id }: Repository): boolean => ids.has(id);
  const repositories = resolution.repositories.filter(has);
  const { revisions } = resolution.selection;
  const names = new Set(repositories.map(({ name }) => name));
  const open = resolution.open.filter(({ repository }) => has(repository));
  for (const { repository } of open) names.add(repository.name);
  return {
    ...resolution,
    repositories,
    selection: {
      repositoryIds: toBitmap(repositories.map(({ id }) => id)),
      revisions: revisions && new Map([...revisions].filter(([id]) => ids.has(id))),
    },
    excludedForks: [],
    excludedArchived: [],
    open,
    missingRevisions: resolution.missingRevisions.filter(({ repository }) => names.has(repository)),
    cloning: resolution.cloning.filter((name) => names.has(name)),
    missing: resolution.missing.filter((name) => names.has(name)),
  };
}

/** The repositories that a search chooses: their ids, ascending. */
export function* chooseIds({ basicQueries }: SearchPlan, table: RepositoryTable): Generator<void, readonly number[]> {
  const filters = basicQueries.map(({ repositories }) => repositories);
  const ids = new Set<number>();
  for (const { repositories, open } of yield* resolveInSteps(table, filters)) {
    for (const { id } of repositories) ids.add(id);
    for (const { repository } of open) ids.add(repository.id);
  }
  return [...ids].sort((a, b) => a - b);
}
