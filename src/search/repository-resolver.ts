import type { RepositoryTable } from "../catalog/repository-table.js";
import { defaultBranchBit, type Repository } from "../model/repository.js";
import type { RepositorySelection, RevisionChoice } from "../task/search-options.js";
import type { RepositoryFilter, RepositoryInclude } from "../query/plan.js";
import { chooseRepositories } from "./repository-choice.js";

/** What a repository filter chose, and what the user has to hear of. */
export interface Resolution {
  /** Those with more stars first, then the newer ones. */
  readonly repositories: readonly Repository[];
  /** The choice as workers take it. */
  readonly selection: RepositorySelection;
  /** Ids of repositories that matched but for being forks resp. archived, where the query says nothing of these. */
  readonly excludedForks: readonly number[];
  readonly excludedArchived: readonly number[];
  readonly missingRevisions: readonly { readonly repository: string; readonly revision: string }[];
  /** Chosen repositories that were never indexed, because no sync has ended, or none succeeded. */
  readonly cloning: readonly string[];
  readonly missing: readonly string[];
}

/** Chooses the repositories of one basic query, and the revisions to search of each. */
export function resolveRepositories(table: RepositoryTable, filter: RepositoryFilter): Resolution {
  const { repositories, excludedForks, excludedArchived } = chooseRepositories(table, filter);
  const { revisions, missingRevisions, withoutRevision } = resolveRevisions(repositories, filter.include);
  const chosen = withoutRevision.size === 0 ? repositories : repositories.filter((repository) => !withoutRevision.has(repository.id));
  const unindexed = chosen.filter(({ generation }) => generation === 0);
  return {
    repositories: chosen,
    selection: {
      repositoryIds: chosen.length === table.count ? undefined : bitsOf(chosen),
      revisions: revisions.size === 0 ? undefined : revisions,
    },
    excludedForks,
    excludedArchived,
    missingRevisions,
    cloning: unindexed.filter(({ lastError }) => lastError === "").map(({ name }) => name),
    missing: unindexed.filter(({ lastError }) => lastError !== "").map(({ name }) => name),
  };
}

/** The indexed branch that a revision names: a branch, a full ref, HEAD, or the commit itself; -1 when none does. */
export function bitOfRevision(repository: Repository, revision: string): number {
  if (revision === "" || revision === "HEAD") return defaultBranchBit(repository);
  const name = revision.replace(/^refs\/heads\//, "");
  const branch = repository.indexedBranches.find((indexed) => indexed.name === name || indexed.commit === revision.toLowerCase());
  return branch?.bit ?? -1;
}

/** Revisions by repository: those that every filter with revisions asks for. */
function resolveRevisions(repositories: readonly Repository[], includes: readonly RepositoryInclude[]): {
  revisions: Map<number, RevisionChoice[]>;
  missingRevisions: { repository: string; revision: string }[];
  withoutRevision: Set<number>;
} {
  const revisions = new Map<number, RevisionChoice[]>();
  const missingRevisions: { repository: string; revision: string }[] = [];
  const withoutRevision = new Set<number>();
  const asked = includes.filter((include) => include.revisions.length > 0).map((include) => include.revisions);
  if (asked.length === 0) return { revisions, missingRevisions, withoutRevision };
  const common = [...new Set(asked[0])].filter((revision) => asked.every((list) => list.includes(revision)));
  for (const repository of repositories) {
    const choices: RevisionChoice[] = [];
    for (const typed of common) {
      const bit = bitOfRevision(repository, typed);
      if (bit >= 0) choices.push({ typed, bit });
      else if (typed !== "HEAD" && repository.generation > 0) missingRevisions.push({ repository: repository.name, revision: typed });
    }
    if (common.length === 0) missingRevisions.push({ repository: repository.name, revision: asked.flat().join(":") });
    if (choices.length === 0) withoutRevision.add(repository.id);
    else revisions.set(repository.id, choices);
  }
  return { revisions, missingRevisions, withoutRevision };
}

/** The resolution less the revisions that fail, and the repositories that have no other. `bit` is -1 where nothing is indexed. */
export function keepRevisions(resolution: Resolution, holds: (repository: Repository, bit: number) => boolean): Resolution {
  const { selection } = resolution;
  const revisions = new Map<number, readonly RevisionChoice[]>();
  const repositories = resolution.repositories.filter((repository) => {
    const chosen = selection.revisions?.get(repository.id);
    if (chosen === undefined) return holds(repository, defaultBranchBit(repository));
    const left = chosen.filter(({ bit }) => holds(repository, bit));
    if (left.length > 0) revisions.set(repository.id, left);
    return left.length > 0;
  });
  return { ...resolution, repositories, selection: { repositoryIds: bitsOf(repositories), revisions: revisions.size === 0 ? undefined : revisions } };
}

/** The bits of the branches that are searched of a repository; -1 where nothing is indexed. */
export function searchedBits({ selection }: Resolution, repository: Repository): readonly number[] {
  return selection.revisions?.get(repository.id)?.map(({ bit }) => bit) ?? [defaultBranchBit(repository)];
}

/** A bit for each repository, by its id. */
export function bitsOf(repositories: readonly Repository[]): Uint32Array {
  const idMax = repositories.reduce((max, repository) => Math.max(max, repository.id), 0);
  const bits = new Uint32Array((idMax >>> 5) + 1);
  for (const { id } of repositories) bits[id >>> 5] |= 1 << (id & 31);
  return bits;
}
