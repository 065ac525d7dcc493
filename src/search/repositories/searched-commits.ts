import type { Repository } from "../../model/repository.js";
import type { RevisionChoice } from "../../protocol/search-options.js";
import type { CommitOfRepository } from "../../protocol/read-messages.js";
import { searchedChoices, type Resolution } from "./repository-resolver.js";

/** Equal for equal commits of the same repository. */
export function commitKey({ repositoryId, commit }: CommitOfRepository): string {
  return `${repositoryId}@${commit}`;
}

/** The commits that are searched, without duplicates. */
export function collectCommits(resolutions: readonly Resolution[]): readonly CommitOfRepository[] {
  const commits = new Map<string, CommitOfRepository>();
  for (const resolution of resolutions) {
    for (const repository of resolution.repositories) {
      for (const choice of searchedChoices(resolution, repository)) {
        const commit = commitAt(repository, choice);
        if (commit !== undefined) commits.set(commitKey(commit), commit);
      }
    }
  }
  return [...commits.values()];
}

export function commitAt(
  { id, indexedBranches }: Repository,
  { bit, unindexed }: RevisionChoice,
): CommitOfRepository | undefined {
  const commit = unindexed?.commit ?? indexedBranches.find((branch) => branch.bit === bit)?.commit;
  return commit === undefined ? undefined : { repositoryId: id, commit };
}
