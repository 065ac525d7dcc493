import { createHash } from "node:crypto";
import { TrawlError } from "../../base/errors.js";
import type { RefState } from "../../git/mirror/refs.js";
import { branchCountMax, detachedName, type IndexedBranch } from "../../model/repository.js";

/** The default branch and those configured, as far as they exist. */
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
      `${wanted.size} branches are to be indexed; ${branchCountMax} is the most. Shorten \`branches\` of this repository.`,
    );
  }
  return wanted;
}

/** Whether they are indexed as they are. */
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

/** Names the branches and their commits. */
export function stateName(wanted: ReadonlyMap<string, string>): string {
  return createHash("sha1")
    .update(JSON.stringify([...wanted]))
    .digest("hex");
}
