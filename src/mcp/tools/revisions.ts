import { TrawlError } from "../../base/errors.js";
import { CommitSource } from "../../browse/git-sources.js";
import { toRepositorySource, type RepositorySource } from "../../browse/repository-source.js";
import type { RequestContext } from "../../browse/request-context.js";

/** The repository with this name. Throws `not-found`, also if the viewer may not see it. */
export function findRepository(name: string, { repositories }: RequestContext): RepositorySource {
  const record = repositories.byName(name);
  if (record !== undefined) return toRepositorySource(record);
  throw new TrawlError(
    "not-found",
    `there is no repository ${JSON.stringify(name)}; list_repos lists those that you can read`,
  );
}

/** The commit of a revision, "" for the default branch. Throws `not-found`. */
export async function findCommit(
  repository: RepositorySource,
  revision: string,
  { git }: RequestContext,
): Promise<CommitSource> {
  const oid = await git.resolve(repository, revision);
  if (oid !== null) return new CommitSource(repository, oid, revision);
  if (!repository.cloned)
    throw new TrawlError("not-found", `${repository.name} is not cloned yet; try again in a moment`);
  throw new TrawlError(
    "not-found",
    revision === ""
      ? `${repository.name} has no commits`
      : `${repository.name} has no branch, tag or commit ${JSON.stringify(revision)}`,
  );
}

/** Without slashes at its ends, where assistants like to write them. */
export function plainPath(path: string): string {
  let [from, to] = [0, path.length];
  while (from < to && path[from] === "/") from++;
  while (to > from && path[to - 1] === "/") to--;
  const plain = path.slice(from, to);
  return plain === "." ? "" : plain;
}
