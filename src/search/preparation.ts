import type { BasicQueryPlan, SearchPlan } from "../query/plan/plan.js";
import { commitKey } from "./revisions/commit-attributes.js";
import { applyConditions } from "./repositories/repository-conditions.js";
import { keepRevisions, type Resolution } from "./repositories/repository-resolver.js";
import { asksPeople, preparePeople } from "./preparation-people.js";
import { commitAt } from "./searched-commits.js";
import { type PrepareContext, type Preparation, ask, ExcludedRepositories } from "./preparation-context.js";

export function needsPreparation(plan: SearchPlan): boolean {
  return (
    asksPeople(plan) ||
    plan.basicQueries.some(
      ({ repositories }) => repositories.conditions.length + repositories.committedAfter.length > 0,
    )
  );
}

/**
 * Finds out what the index alone does not say, or not at once: which repositories meet the conditions on what they
 * hold, then which meet those on their history, then who owns and who wrote the files that may be results. Each step
 * asks about what the one before has left.
 */
export async function prepare(
  plan: SearchPlan,
  resolutions: readonly Resolution[],
  context: PrepareContext,
): Promise<Preparation> {
  const leftOut = new ExcludedRepositories(resolutions);
  let left: readonly Resolution[] = await applyConditions(
    plan.basicQueries.map(({ repositories }) => repositories),
    resolutions,
    context,
  );
  left = await Promise.all(
    plan.basicQueries.map((basicQuery, i) => keepWithFiles(basicQuery, left[i], leftOut, context)),
  );
  left = await Promise.all(
    plan.basicQueries.map((basicQuery, i) => keepCommittedAfter(basicQuery, left[i], leftOut, context)),
  );
  if (!asksPeople(plan) || context.control.isStopped) {
    return {
      resolutions: left,
      selections: left.map(({ selection }) => selection),
      people: undefined,
      leftOut: leftOut.all,
    };
  }
  return { resolutions: left, ...(await preparePeople(plan, left, leftOut, context)), leftOut: leftOut.all };
}

/** Of the commits that are not indexed those that meet the conditions, which only the mirrors can tell. */
async function keepWithFiles(
  { repositories: { conditions } }: BasicQueryPlan,
  resolution: Resolution,
  leftOut: ExcludedRepositories,
  context: PrepareContext,
): Promise<Resolution> {
  let left = resolution;
  for (const { file, negated } of conditions) {
    const unindexed = keepRevisions(left, (_, choice) => choice.unindexed !== undefined);
    if (unindexed.repositories.length === 0) return left;
    const path = file.pathFilters.length === 0 ? "" : file.pathFilters[0].source;
    const content = file.leaves.length === 0 ? "" : file.leaves[0].source;
    const attributes = await ask(
      { kind: "has-file", path, content, limits: context.limits },
      [unindexed],
      leftOut,
      context,
    );
    left = keepRevisions(left, (repository, choice) => {
      const commit = commitAt(repository, choice);
      const attribute =
        choice.unindexed === undefined || commit === undefined ? undefined : attributes.get(commitKey(commit));
      return choice.unindexed === undefined || (attribute !== undefined && attribute.holds !== negated);
    });
  }
  return left;
}

/**
 * A history is as young as the commit that is searched: like `git log --since`, which looks no further than a commit
 * that is too old. So one date, which never changes, answers for every moment.
 */
async function keepCommittedAfter(
  { repositories: { committedAfter } }: BasicQueryPlan,
  resolution: Resolution,
  leftOut: ExcludedRepositories,
  context: PrepareContext,
): Promise<Resolution> {
  let left = resolution;
  for (const { unixSeconds, negated } of committedAfter) {
    const attributes = await ask({ kind: "commit-date" }, [left], leftOut, context);
    left = keepRevisions(left, (repository, choice) => {
      const commit = commitAt(repository, choice);
      // A repository without a commit has none that is younger.
      if (commit === undefined) return negated;
      const attribute = attributes.get(commitKey(commit));
      return attribute?.unixSeconds !== undefined && attribute.unixSeconds > unixSeconds !== negated;
    });
  }
  return left;
}
