import { eachInSteps } from "../../base/yielding.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { BaseRevisions } from "../../model/match-change.js";
import type { Progress } from "../../model/stream-events.js";
import type { Repository } from "../../model/repository.js";
import { type Resolution, searchedChoices } from "../repositories/repository-resolver.js";
import { commitAt } from "../repositories/searched-commits.js";

/** A searched revision that is at another commit than before. */
export interface RevisionChange {
  readonly repository: Repository;
  /** As typed. */
  readonly revision: string;
  /** The earlier commit; undefined if nothing was searched. */
  readonly base: string | undefined;
  /** The commit as of the search; undefined if the revision does not exist any more. */
  readonly commit: string | undefined;
  /** Indexes of the basic queries that search it. */
  readonly basicQueries: Set<number>;
}

export interface RevisionChanges {
  readonly changes: readonly RevisionChange[];
  /** Names of repositories that were searched and are not chosen any more. */
  readonly repositoriesGone: readonly string[];
}

/** What a search for changes compares. */
export interface FoundChanges extends RevisionChanges {
  /** Changes whose earlier commit does not exist any more; complete when the search has ended. */
  readonly basesGone: readonly RevisionChange[];
}

/** The outcome of a search for changes, apart from its matches. */
export interface SearchChanges extends FoundChanges {
  /** The last progress of the search. */
  readonly progress: () => Progress;
}

/**
 * Compares what a search chooses with what an earlier one covered. In steps, because there may be a million
 * repositories.
 *
 * Sound: the text of a revision depends only on its commit, so revisions at the same commit have the same results.
 */
export function* findRevisionChanges(
  resolutions: readonly Resolution[],
  base: BaseRevisions,
  table: Pick<RepositoryTable, "byName">,
): Generator<void, RevisionChanges> {
  const changes = new Map<string, RevisionChange>();
  const chosen = new Set<string>();
  const add = (repository: Repository, revision: string, commit: string | undefined, basicQuery: number): void => {
    const earlier = base.get(repository.name)?.get(revision);
    const baseCommit = earlier === "" ? undefined : earlier;
    if (baseCommit === commit) return;
    const key = `${repository.id} ${revision}`;
    const known = changes.get(key);
    if (known !== undefined) known.basicQueries.add(basicQuery);
    else
      changes.set(key, { repository, revision, base: baseCommit, commit, basicQueries: new Set<number>([basicQuery]) });
  };
  for (const [i, resolution] of resolutions.entries()) {
    yield* eachInSteps(resolution.repositories, (repository) => {
      chosen.add(repository.name);
      for (const choice of searchedChoices(resolution, repository))
        add(repository, choice.typed, commitAt(repository, choice)?.commit, i);
    });
    yield* eachInSteps(resolution.missingRevisions, ({ repository: name, revision }) => {
      const repository = base.has(name) ? table.byName(name) : undefined;
      if (repository === undefined) return;
      chosen.add(name);
      add(repository, revision, undefined, i);
    });
  }
  const repositoriesGone = [...base.keys()].filter((name) => !chosen.has(name));
  return { changes: [...changes.values()], repositoriesGone };
}
