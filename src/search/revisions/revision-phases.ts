import { errorMessage } from "../../base/errors.js";
import type { RepositorySelection } from "../../protocol/search-options.js";
import { RevisionBatches } from "./revision-batches.js";
import type { PhaseContext, SearchPhase } from "./search-phase.js";

/** Commits that are searched together: the commit sets of documents are computed for them. */
const commitsPerBatch = 1024;

/**
 * The phases of a search in commits that are not indexed. Repositories are searched one at a time, their commits in
 * batches: first the existing shards for all commits of the batch, then each shard that is built of missing texts,
 * which are read while earlier shards are searched. So each text is searched once for all commits of a batch that have
 * it.
 *
 * A failure skips the rest of its repository. The phases end early when the search is stopped.
 */
export async function* revisionPhases(
  selections: readonly RepositorySelection[],
  context: PhaseContext,
): AsyncGenerator<SearchPhase, undefined> {
  for (const [repositoryId, commits] of commitsByRepository(selections)) {
    const repository = context.repositories.byId(repositoryId);
    if (repository === undefined) continue;
    try {
      for (let left = commits; left.length > 0 && !context.control.isStopped; ) {
        const covered: ReadonlySet<string> = yield* new RevisionBatches(repository, selections, context).search(
          left.slice(0, commitsPerBatch),
        );
        left = left.filter((commit) => !covered.has(commit));
      }
    } catch (error) {
      if (!context.control.isStopped)
        context.problems.failures.push(`revisions of ${repository.name} could not be read: ${errorMessage(error)}`);
    }
  }
}

/** Describes for each batch what exists and what would be read, without reading it. */
export async function explainPhases(
  selections: readonly RepositorySelection[],
  context: PhaseContext,
): Promise<string[]> {
  const lines: string[] = [];
  for (const [repositoryId, commits] of commitsByRepository(selections)) {
    const repository = context.repositories.byId(repositoryId);
    if (repository === undefined) continue;
    const batches = new RevisionBatches(repository, selections, context);
    for (let left: readonly string[] = commits; left.length > 0 && !context.control.isStopped; ) {
      const { line, covered } = await batches.explain(left.slice(0, commitsPerBatch));
      lines.push(line);
      left = left.filter((commit) => !covered.has(commit));
    }
  }
  return lines;
}

/** Whether some revision is not indexed. */
export function hasUnindexed(selections: readonly RepositorySelection[]): boolean {
  return selections.some(({ revisions }) =>
    [...(revisions?.values() ?? [])].some((choices) => choices.some(({ unindexed }) => unindexed !== undefined)),
  );
}

/** Distinct commits that are not indexed, in the order asked. */
function commitsByRepository(selections: readonly RepositorySelection[]): Map<number, string[]> {
  const commits = new Map<number, Set<string>>();
  for (const { revisions } of selections) {
    for (const [id, choices] of revisions ?? []) {
      for (const { unindexed } of choices)
        if (unindexed !== undefined) commits.set(id, (commits.get(id) ?? new Set()).add(unindexed.commit));
    }
  }
  return new Map([...commits].map(([id, set]) => [id, [...set]]));
}
