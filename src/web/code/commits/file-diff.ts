export interface DiffHunk {
  readonly oldRange: { readonly startLine: number };
  readonly newRange: { readonly startLine: number };
  readonly section: string | null;
  readonly body: string;
}

export interface FileDiff {
  readonly oldPath: string | null;
  readonly newPath: string | null;
  readonly mostRelevantFile: { readonly url: string };
  readonly stat: { readonly added: number; readonly deleted: number } | null;
  readonly hunks: readonly DiffHunk[] | null;
}

export interface FileDiffList {
  readonly nodes: readonly FileDiff[] | null;
  readonly totalCount: number | null;
  readonly diffStat: { readonly added: number; readonly deleted: number } | null;
}

/** Fields of a `FileDiffList`, for queries. */
export const fileDiffFields = `{
  nodes {
    oldPath newPath mostRelevantFile { url } stat { added deleted }
    hunks { oldRange { startLine } newRange { startLine } section body }
  }
  totalCount
  diffStat { added deleted }
}`;
