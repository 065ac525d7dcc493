import { stopWhenSet } from "../base/stop-signal.js";
import { ignoredCommitsPath, parseIgnoredCommits } from "../git/history/blame.js";
import { streamBlame, type FoundHunk } from "../git/history/blame-stream.js";
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
 * known from before comes at once. `mirror` is its directory.
 */
export async function* streamOrigins(
  blamed: CommitSource,
  path: string,
  mirror: string,
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
  const limits = { timeoutMs: context.leftMs, stop: stopWhenSet(context.stop) };
  for await (const hunks of streamBlame(mirror, { commit: blamed.oid, path }, ignored, limits)) {
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
