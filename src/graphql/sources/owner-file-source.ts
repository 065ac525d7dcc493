import type { OwnerFile } from "../../account/ownership/owner-files.js";
import { globalId } from "../../browse/ids.js";
import type { RequestContext } from "../../browse/request-context.js";
import { toRepositorySource, type RepositorySource } from "../../browse/repository-source.js";

/** Code owners that were set for a repository. */
export interface OwnerFileSource {
  readonly __typename: "CodeownersIngestedFile";
  readonly id: string;
  readonly contents: string;
  readonly repository: RepositorySource;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Null if there are none, or if the viewer may not see the repository. */
export function ownerFileSource(file: OwnerFile | undefined, { repositories }: RequestContext): OwnerFileSource | null {
  const repository = file === undefined ? undefined : repositories.byId(file.id);
  if (file === undefined || repository === undefined) return null;
  const { contents, createdAt, updatedAt } = file;
  return {
    __typename: "CodeownersIngestedFile",
    id: globalId("CodeownersIngestedFile", repository.id),
    contents,
    repository: toRepositorySource(repository),
    createdAt,
    updatedAt,
  };
}
