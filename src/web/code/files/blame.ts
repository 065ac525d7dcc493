import type { PagePath } from "../../../model/page-path.js";
import { graphql } from "../../api/graphql.js";
import { signatureFields, type Signature } from "../person.js";

/** Lines from one commit; `startLine` is 1-based and `endLine` exclusive. */
export interface BlameHunk {
  readonly startLine: number;
  readonly endLine: number;
  readonly message: string;
  readonly author: Signature;
  readonly commit: { readonly abbreviatedOID: string; readonly canonicalURL: string };
}

const blameQuery = `query FileBlame($name: String!, $revision: String!, $path: String!, $endLine: Int!) {
  repository(name: $name) {
    commit(rev: $revision) {
      blob(path: $path) {
        blame(startLine: 1, endLine: $endLine) {
          startLine endLine message author ${signatureFields} commit { abbreviatedOID canonicalURL }
        }
      }
    }
  }
}`;

/** The commit that changed each line last. */
export async function readBlame({ name, revision, path }: PagePath, lineCount: number): Promise<readonly BlameHunk[]> {
  const variables = { name, revision, path, endLine: Math.max(1, lineCount) };
  const { repository } = await graphql("FileBlame", blameQuery, variables);
  return repository?.commit?.blob?.blame ?? [];
}
