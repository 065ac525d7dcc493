import type { Repository } from "nodegit";

type Nodegit = typeof import("nodegit");

/** What libgit2 answers for a name that no reference has. */
const notFound = -3;

/**
 * The commits that branches of a mirror name, in the order of `branches`; null for one that is not there. Undefined
 * where libgit2 does not read the mirror: one of SHA-256, or a damaged one.
 *
 * It is libgit2 that reads them, through nodegit, and not git, which wrote them: a check has more worth when it does
 * not trust the writer. Only references are read. An object of a remote is never read this way, as libgit2 unpacks it
 * whole before its size is known.
 */
export async function readBranchTips(
  directory: string,
  branches: readonly string[],
): Promise<readonly (string | null)[] | undefined> {
  const { default: nodegit } = (await import("nodegit")) as unknown as { default: Nodegit };
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

async function readTip(nodegit: Nodegit, repository: Repository, branch: string): Promise<string | null> {
  try {
    return (await nodegit.Reference.nameToId(repository, `refs/heads/${branch}`)).tostrS();
  } catch (error) {
    if ((error as { readonly errno?: number }).errno === notFound) return null;
    throw error;
  }
}
