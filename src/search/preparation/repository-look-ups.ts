import type { BasicQueryPlan, SearchPlan } from "../../query/plan/plan.js";
import { applyConditions } from "../repositories/repository-conditions.js";
import { keepRevisions, type Resolution } from "../repositories/repository-resolver.js";
import { asksPeople, preparePeople } from "./people-look-ups.js";
import { commitAt, commitKey } from "../repositories/searched-commits.js";
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
 * Looks up information that is not in the index, or not directly: which repositories satisfy conditions on their
 * contents, then which satisfy those on their history, then the owners and authors of files that may be results. Each
 * step examines only what the previous one has left.
 */
export async function prepare(
  plan: SearchPlan,
  resolutions: readonly Resolution[],
  context: PrepareContext,
): Promise<Preparation> {
  const excluded = new ExcludedRepositories(resolutions);
  let left: readonly Resolution[] = await applyConditions(
    plan.basicQueries.map(({ repositories }) => repositories),
    resolutions,
    context,
  );
  left = await Promise.all(
    plan.basicQueries.map((basicQuery, i) => keepWithFiles(basicQuery, left[i], excluded, context)),
  );
  left = await Promise.all(
    plan.basicQueries.map((basicQuery, i) => keepCommittedAfter(basicQuery, left[i], excluded, context)),
  );
  if (!asksPeople(plan) || context.control.isStopped) {
    return {
      resolutions: left,
      selections: left.map(({ selection }) => selection),
      people: undefined,
      excluded: excluded.all,
    };
  }
  return { resolutions: left, ...(await preparePeople(plan, left, excluded, context)), excluded: excluded.all };
}

/** Keeps the commits that are not indexed and satisfy the conditions, which only the mirrors can determine. */
async function keepWithFiles(
  { repositories: { conditions } }: BasicQueryPlan,
  resolution: Resolution,
  excluded: ExcludedRepositories,
  context: PrepareContext,
): Promise<Resolution> {
  let left = resolution;
  for (const { file, negated } of conditions) {
    const unindexed = keepRevisions(left, (_, choice) => choice.unindexed !== undefined);
    if (unindexed.repositories.length === 0) return left;
    const path = file.fileFilters.flatMap((filter) => (filter.kind === "path" ? [filter.source] : []))[0] ?? "";
    const content = file.leaves.length === 0 ? "" : file.leaves[0].source;
    const attributes = await ask(
      { kind: "has-file", path, content, limits: context.limits },
      [unindexed],
      excluded,
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
 * The date of a history is that of the searched commit: like `git log --since`, which does not look beyond a commit
 * that is too old. Therefore a single date, which never changes, answers the question for every point in time.
 */
async function keepCommittedAfter(
  { repositories: { committedAfter } }: BasicQueryPlan,
  resolution: Resolution,
  excluded: ExcludedRepositories,
  context: PrepareContext,
): Promise<Resolution> {
  let left = resolution;
  for (const { unixSeconds, negated } of committedAfter) {
    const attributes = await ask({ kind: "commit-date" }, [left], excluded, context);
    left = keepRevisions(left, (repository, choice) => {
      const commit = commitAt(repository, choice);
      // A repository without commits has none after the date.
      if (commit === undefined) return negated;
      const attribute = attributes.get(commitKey(commit));
      return attribute?.unixSeconds !== undefined && attribute.unixSeconds > unixSeconds !== negated;
    });
  }
  return left;
}
