import { setBit } from "../../base/bits.js";
import type { CommitSets, RepositorySelection, RevisionChoice } from "../../protocol/search-options.js";
import type { RevisionBatch } from "./revision-cache.js";

/** Restricts a selection to one repository, and to those of its revisions that are among these commits. */
export function narrowSelection(
  { revisions }: RepositorySelection,
  repositoryId: number,
  commits: readonly string[],
): RepositorySelection {
  const numbers = new Map(commits.map((commit, number) => [commit, number]));
  const choices = (revisions?.get(repositoryId) ?? []).flatMap(({ typed, bit, unindexed }): RevisionChoice[] => {
    const number = unindexed === undefined ? undefined : numbers.get(unindexed.commit);
    return unindexed === undefined || number === undefined
      ? []
      : [{ typed, bit, unindexed: { commit: unindexed.commit, number } }];
  });
  const repositoryIds = new Uint32Array((repositoryId >>> 5) + 1);
  if (choices.length > 0) setBit(repositoryIds, repositoryId);
  return { repositoryIds, revisions: new Map([[repositoryId, choices]]) };
}

/** Joins the commit sets of several shards in shared memory. */
export function joinSets({ setStarts, setRanges }: RevisionBatch, parts: readonly Uint32Array[]): CommitSets {
  const words = new Uint32Array(new SharedArrayBuffer(4 * parts.reduce((sum, { length }) => sum + length, 0)));
  const starts = new Uint32Array(parts.length);
  let at = 0;
  parts.forEach((part, i) => {
    starts[i] = at;
    words.set(part, at);
    at += part.length;
  });
  return { starts, words, setStarts, setRanges };
}
