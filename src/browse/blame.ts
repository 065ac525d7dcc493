import type { CommitData } from "../git/history/commits.js";
import type { RequestContext } from "./request-context.js";
import { CommitSource } from "./git-sources.js";

/** Consecutive lines from the same commit. Lines are 1-based, bytes are offsets in the file; ends are exclusive. */
export interface BlamedLines {
  readonly startLine: number;
  readonly endLine: number;
  readonly startByte: number;
  readonly endByte: number;
  readonly commit: CommitSource;
  readonly data: CommitData;
  /** The file's path in that commit. */
  readonly path: string;
}

export interface BlameWish {
  readonly path: string;
  readonly startLine: number;
  /** Lines past the end of the file are omitted. */
  readonly endLine: number;
  readonly ignoreWhitespace: boolean;
}

/** The origin of each line of a file, with the data of each of those commits. */
export async function readBlame(
  blamed: CommitSource,
  wish: BlameWish,
  { git }: RequestContext,
): Promise<readonly BlamedLines[]> {
  const { repository, oid } = blamed;
  const { path, startLine, endLine, ignoreWhitespace } = wish;
  const { hunks, startByte } = await git.blame(blamed, { commit: oid, path, startLine, endLine, ignoreWhitespace });
  const oids = [...new Set(hunks.map((hunk) => hunk.commit))];
  const commits = new Map(
    await Promise.all(
      oids.map(async (of) => [of, await git.commitData(new CommitSource(repository, of, undefined))] as const),
    ),
  );
  let byte = startByte;
  return hunks.flatMap(({ commit, startLine, lineCount, byteCount, path }) => {
    const data = commits.get(commit);
    const from = byte;
    byte += byteCount;
    if (data === undefined) return [];
    return [
      {
        startLine,
        endLine: startLine + lineCount,
        startByte: from,
        endByte: byte,
        commit: new CommitSource(repository, commit, undefined),
        data,
        path,
      },
    ];
  });
}
