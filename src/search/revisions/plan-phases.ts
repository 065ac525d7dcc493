import type { Repository } from "../../model/repository.js";
import type { RepositorySelection } from "../../protocol/search-options.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import type { Resolution } from "../repositories/repository-resolver.js";
import { hasUnindexed, revisionPhases } from "./revision-phases.js";
import type { PhaseContext, SearchPhase } from "./search-phase.js";

const noRepositories: RepositorySelection = { repositoryIds: new Uint32Array(0), revisions: undefined };

/**
 * The phases that search the commits of a plan that are not indexed, or undefined when all are indexed. `selections` and
 * `resolutions` are by basic query of the plan.
 */
export function phasesOfPlan(
  plan: SearchPlan,
  selections: readonly RepositorySelection[],
  resolutions: readonly Resolution[],
  context: Omit<PhaseContext, "texts" | "repositories">,
): AsyncGenerator<SearchPhase, undefined> | undefined {
  const texts = plan.basicQueries.map(({ text }) => text);
  const searched = selections.map((selection, i) => (texts[i] === undefined ? noRepositories : selection));
  if (!hasUnindexed(searched)) return undefined;
  const records = new Map<number, Repository>();
  for (const { repositories, selection } of resolutions) {
    const chosen = selection.revisions;
    if (chosen === undefined) continue;
    for (const repository of repositories) if (chosen.has(repository.id)) records.set(repository.id, repository);
  }
  return revisionPhases(searched, { ...context, texts, repositories: { byId: (id) => records.get(id) } });
}
