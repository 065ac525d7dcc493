import type { Repository } from "nodegit";

type Nodegit = typeof import("nodegit");

/** libgit2's error code for an unknown reference name. */
const notFound = -3;

/**
 * The commits of a mirror's branches, in the order of `branches`; null for a branch that does not exist. Undefined if
 * libgit2 cannot read the mirror, because it uses SHA-256 or is damaged, or if nodegit is not installed, which is an optional
 * dependency (docs/decisions/0029-libgit2-checks-references.md).
 *
 * They are read with libgit2, through nodegit, and not with git, which wrote them: a check is more meaningful if it
 * does not rely on the program that wrote the data. Only references are read. Objects from a remote are never read this
 * way, because libgit2 unpacks an object completely before its size is known.
 */
export async function readBranchTips(
  directory: string,
  branches: readonly string[],
): Promise<readonly (string | null)[] | undefined> {
  const nodegit = await loadNodegit();
  if (nodegit === undefined) return undefined;
  const repository = await nodegit.Repository.openBare(directory).catch(() => undefined);
  if (repository === undefined) return undefined;
  try {
    const tips: (string | null)[] = [];
    for (const branch of branches) tips.push(await readTip(nodegit, repository, branch));
    return tips;
  } catch {
    return undefined;
  } finally {
    repository.cleanup();
  }
}

async function loadNodegit(): Promise<Nodegit | undefined> {
  try {
    return ((await import("nodegit")) as unknown as { default: Nodegit }).default;
  } catch {
    return undefined;
  }
}

async function readTip(nodegit: Nodegit, repository: Repository, branch: string): Promise<string | null> {
  try {
    return (await nodegit.Reference.nameToId(repository, `refs/heads/${branch}`)).tostrS();
  } catch (error) {
    if ((error as { readonly errno?: number }).errno === notFound) return null;
    throw error;
  }
}
