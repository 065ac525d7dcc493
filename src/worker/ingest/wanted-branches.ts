import { createHash } from "node:crypto";
import { TrawlError } from "../../base/errors.js";
import type { RefState } from "../../git/mirror/refs.js";
import { branchCountMax, detachedName, type IndexedBranch } from "../../model/repository.js";

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
