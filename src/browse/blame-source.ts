import { type BlamePrevious, ignoredCommitsPath, parseIgnoredCommits } from "../git/history/blame.js";
import { type FoundHunk, parseBlameOutput } from "../git/history/blame-stream.js";
import type { CommitData } from "../git/history/commits.js";
import { BlobSource, CommitSource } from "./git-sources.js";
import type { RequestContext } from "./request-context.js";

/** A longer list of hunks is not kept. */
const keptHunksMax = 20_000;

/** Consecutive lines from the same commit. Lines are 1-based; the end is exclusive. */
export interface OriginOfLines {
  readonly startLine: number;
  readonly endLine: number;
  readonly commit: CommitSource;
  readonly data: CommitData;
  /** The file's path in that commit. */
  readonly path: string;
}

/**
 * The origin of each line of a file, as soon as git finds it: some hunks at a time, in no particular order. A list that is
 * known from before comes at once.
 */
export async function* streamOrigins(
  blamed: CommitSource,
  path: string,
  context: RequestContext,
): AsyncGenerator<readonly OriginOfLines[], void> {
  const { git } = context;
  const known = git.keptOrigins(blamed, path);
  if (known !== undefined) {
    yield await withCommits(known, blamed, context);
    return;
  }
  const all: FoundHunk[] = [];
  const ignored = await readIgnored(blamed, context);
  const wanted = { kind: "blame", commit: blamed.oid, path, ignored, timeoutMs: Math.ceil(context.leftMs) } as const;
  for await (const hunks of parseBlameOutput(await git.open(blamed.repository, wanted))) {
    if (all.length <= keptHunksMax) all.push(...hunks);
    yield await withCommits(hunks, blamed, context);
  }
  if (all.length <= keptHunksMax) git.keepOrigins(blamed, path, all);
}

async function readIgnored(commit: CommitSource, { git }: RequestContext): Promise<readonly string[]> {
  const entry = await git.entry(commit, ignoredCommitsPath);
  if (entry?.kind !== "file") return [];
  const source = new BlobSource(commit, ignoredCommitsPath, entry, undefined);
  const { text } = await git.file(source, { kind: "text" }, undefined, undefined);
  return parseIgnoredCommits(Buffer.from(text));
}

async function withCommits(
  hunks: readonly FoundHunk[],
  { repository }: CommitSource,
  { git }: RequestContext,
): Promise<readonly OriginOfLines[]> {
  return await Promise.all(
    hunks.map(async ({ startLine, lineCount, commit: oid, path }) => {
      const commit = new CommitSource(repository, oid, undefined);
      return { startLine, endLine: startLine + lineCount, commit, data: await git.commitData(commit), path };
    }),
  );
}

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
  /** The file before that commit; undefined if the commit added it. */
  readonly previous: BlamePrevious | undefined;
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
  return hunks.flatMap(({ commit, startLine, lineCount, byteCount, path, previous }) => {
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
        previous,
      },
    ];
  });
}
