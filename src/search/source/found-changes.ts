import type { Progress } from "../../model/stream-events.js";
import type { Repository } from "../../model/repository.js";

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

/** Those of several sources, each of which was asked for all repositories of the base and has some of them. */
export function mergeChanges(all: readonly FoundChanges[]): FoundChanges | undefined {
  if (all.length < 2) return all.at(0);
  const [first, ...others] = all.map(({ repositoriesGone }) => repositoriesGone);
  const gone = others.map((names) => new Set(names));
  return {
    changes: all.flatMap(({ changes }) => changes),
    repositoriesGone: first.filter((name) => gone.every((names) => names.has(name))),
    basesGone: all.flatMap(({ basesGone }) => basesGone),
  };
}
