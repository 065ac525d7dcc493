import type { Repository } from "../../model/repository.js";
import type { HistoryPlanWithOptions } from "../../protocol/history-messages.js";
import type { SearchPlan, YesNoOnly } from "../../query/plan/plan.js";
import { searchedChoices, type Resolution } from "../repositories/repository-resolver.js";

/** What to search in the history of one repository. */
export interface HistoryChoice {
  readonly repository: Repository;
  readonly groups: readonly HistoryGroup[];
}

/** Plans that search the same commits. */
export interface HistoryGroup {
  /** Oids of the commits where the history begins. */
  readonly from: readonly string[];
  /** Whether it begins at the HEAD of the mirror, because no branch is indexed. */
  readonly fromHead: boolean;
  /** Revisions whose history is left out. */
  readonly without: readonly string[];
  /** "only" excludes commits that are not indexed, "no" searches without the index. */
  readonly index: YesNoOnly;
  readonly plans: readonly HistoryPlanWithOptions[];
}

/** One basic query that searches history. */
interface HistoryQuery {
  readonly resolution: Resolution;
  readonly without: readonly string[];
  readonly index: YesNoOnly;
  readonly plans: readonly HistoryPlanWithOptions[];
}

export function searchesHistory({ basicQueries }: SearchPlan): boolean {
  return basicQueries.some(({ history }) => history.length > 0);
}

/** The repositories whose history is searched, in the order of their results: more stars first, then newer ones. */
export function* chooseHistories(plan: SearchPlan, resolutions: readonly Resolution[]): Generator<HistoryChoice, void> {
  const queries = plan.basicQueries.flatMap(({ history, repositories, optionsIndex }, i): HistoryQuery[] =>
    history.length === 0
      ? []
      : [
          {
            resolution: resolutions[i],
            without: [...new Set(repositories.include.flatMap(({ withoutHistoryOf }) => withoutHistoryOf))],
            index: repositories.index,
            plans: history.map((one) => ({ plan: one, optionsIndex })),
          },
        ],
  );
  for (const { repository, queriesOfIt } of repositoriesOfAll(queries)) {
    // It is reported as being cloned, or missing.
    if (repository.generation === 0) continue;
    const groups = new Map<string, HistoryGroup>();
    for (const query of queriesOfIt) {
      const group = makeGroup(query, repository);
      const key = JSON.stringify([group.from, group.fromHead, group.without, group.index]);
      const known = groups.get(key);
      groups.set(key, known === undefined ? group : { ...known, plans: [...known.plans, ...group.plans] });
    }
    yield { repository, groups: [...groups.values()] };
  }
}

function makeGroup({ resolution, without, index, plans }: HistoryQuery, repository: Repository): HistoryGroup {
  const commits = searchedChoices(resolution, repository).map(
    ({ bit, unindexed }) =>
      unindexed?.commit ?? repository.indexedBranches.find((branch) => branch.bit === bit)?.commit,
  );
  const from = [...new Set(commits.filter((commit) => commit !== undefined))].sort();
  return { from, fromHead: commits.includes(undefined), without, index, plans };
}

interface QueriedRepository {
  readonly repository: Repository;
  readonly queriesOfIt: HistoryQuery[];
}

/** Each list is in the order of results already. */
function repositoriesOfAll(queries: readonly HistoryQuery[]): Iterable<QueriedRepository> {
  const [first, ...others] = queries;
  if (others.length === 0)
    return first.resolution.repositories.map((repository) => ({ repository, queriesOfIt: [first] }));
  const byId = new Map<number, QueriedRepository>();
  for (const query of queries) {
    for (const repository of query.resolution.repositories) {
      const known = byId.get(repository.id);
      if (known === undefined) byId.set(repository.id, { repository, queriesOfIt: [query] });
      else known.queriesOfIt.push(query);
    }
  }
  return [...byId.values()].sort(
    (a, b) => b.repository.stars - a.repository.stars || b.repository.id - a.repository.id,
  );
}
