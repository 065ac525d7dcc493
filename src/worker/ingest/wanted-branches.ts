import { createHash } from "node:crypto";
import { TrawlError } from "../../base/errors.js";
import type { RefState } from "../../git/objects/refs.js";
import { branchCountMax, detachedName, type IndexedBranch, type Repository } from "../../model/repository.js";

/** The default branch and the configured branches, if they exist. */
export function wantedBranches(state: RefState, configured: readonly string[]): Map<string, string> {
  const wanted = new Map<string, string>();
  for (const name of [state.defaultBranch ?? "", ...configured]) {
    const commit = state.branches.get(name);
    if (commit !== undefined) wanted.set(name, commit);
  }
  if (state.defaultBranch === null && state.headCommit !== null) wanted.set(detachedName, state.headCommit);
  if (wanted.size > branchCountMax) {
    throw new TrawlError(
      "bad-config",
      `${wanted.size} branches would be indexed, but the limit is ${branchCountMax}. Reduce \`branches\` of this repository.`,
    );
  }
  return wanted;
}

/** What of a repository is not indexed as its configuration or its remote might lead one to expect. */
export function findWarnings({ branches }: Repository, state: RefState): string[] {
  const missing = branches.filter((name) => !state.branches.has(name));
  const warnings = missing.map(
    (name) => `the remote has no branch ${JSON.stringify(name)}, which the configuration lists in \`branches\``,
  );
  const { defaultBranch, headCommit, headRef, isHeadKnown } = state;
  if (headRef !== null)
    warnings.push(`HEAD of the remote is ${JSON.stringify(headRef)}, which is not a branch: its commit is indexed`);
  else if (!isHeadKnown && defaultBranch !== null)
    warnings.push(
      `HEAD of the remote names a branch that does not exist: ${JSON.stringify(defaultBranch)} is indexed in its place`,
    );
  else if (!isHeadKnown && headCommit === null && state.tags.size > 0)
    warnings.push("the remote has tags but no branch: nothing is indexed");
  if (state.branches.has(detachedName) && defaultBranch !== detachedName)
    warnings.push(
      "the remote has a branch called HEAD: `@HEAD` means the default branch, and `@refs/heads/HEAD` that branch",
    );
  return warnings;
}

/** Whether they are already indexed at their current commits. */
export function areIndexed(
  indexed: readonly IndexedBranch[],
  wanted: ReadonlyMap<string, string>,
  defaultBefore: string,
  defaultAfter: string,
): boolean {
  return (
    defaultBefore === defaultAfter &&
    indexed.length === wanted.size &&
    indexed.every((branch) => wanted.get(branch.name) === branch.commit)
  );
}

/** Identifies the branches and their commits. */
export function stateName(wanted: ReadonlyMap<string, string>): string {
  return createHash("sha1")
    .update(JSON.stringify([...wanted]))
    .digest("hex");
}
