import { TrawlError } from "../../base/errors.js";
import { filterChanges } from "../../git/history/change-filter.js";
import { listCommits, listedOids, LargeBlobs } from "../../git/history/commit-list.js";
import { readPatches, usualPatchLimits, type PatchReader } from "../../git/history/patches.js";
import { resolveRevisions } from "../../git/history/revisions.js";
import { HistoryBuilder } from "../../history/history-builder.js";
import { FileLanguages } from "../../indexer/file-languages.js";
import type {
  BuildHistory,
  BuiltHistory,
  FilteredHistory,
  FilterHistory,
  ListCommits,
  ListedCommits,
} from "../../protocol/history-messages.js";
import { mirrorPath, type ReadContext } from "./context.js";

/**
 * A shard is full when its lines and messages have this many bytes. With 16 MiB, reading the history of git's repository takes
 * 80 MiB more memory, since several shards exist at a time, and 6 % less processor time.
 */
const textBytesMax = 4 << 20;

export async function answerListCommits(
  { repositoryId, from, fromHead, without }: ListCommits,
  context: ReadContext,
): Promise<ListedCommits> {
  const mirror = mirrorPath(context, repositoryId);
  const names = [...(fromHead ? ["HEAD"] : []), ...without];
  const { revisions, missing, ambiguous, malformed } = await resolveRevisions(
    mirror,
    names.map((typed) => ({ kind: "name", typed })),
    context.stop,
  );
  const commitOf = new Map(revisions.map(({ typed, commit }) => [typed, commit]));
  const excluded = without.flatMap((typed) => commitOf.get(typed) ?? []);
  const head = fromHead ? commitOf.get("HEAD") : undefined;
  return {
    list: await listCommits(mirror, head === undefined ? from : [...from, head], excluded, context.stop),
    missing: [...missing, ...malformed],
    ambiguous,
  };
}

export function answerFilterHistory(
  { repositoryId, list, from, to, literals }: FilterHistory,
  context: ReadContext,
): FilteredHistory {
  return { candidates: filterChanges(mirrorPath(context, repositoryId), list, from, to, literals, context.stop) };
}

export async function answerBuildHistory(
  { repositoryId, list, from, to, headersOnly, withLanguages }: BuildHistory,
  context: ReadContext,
): Promise<BuiltHistory> {
  const builder = new HistoryBuilder(context.kernel, list.oidBytes);
  let brokenCount = 0;
  let largeFileCount = 0;
  let cutMessageCount = 0;
  const largeBlobs = new LargeBlobs();
  const languages = new FileLanguages();
  const reader: PatchReader = {
    commit: (commit) => {
      if (commit.isMessageCut) cutMessageCount++;
      builder.addCommit(commit);
    },
    file: (file) => {
      if (file.isTooLarge) largeFileCount++;
      largeBlobs.add(file, builder.fileCount);
      if (withLanguages) languages.add(file, builder);
      else builder.addFile(file, "");
    },
    endCommit: (isComplete) => {
      if (!isComplete) brokenCount++;
      builder.endCommit(isComplete);
      return builder.textBytes < textBytesMax;
    },
    missing: () => {
      brokenCount++;
    },
  };
  const directory = mirrorPath(context, repositoryId);
  const readCount = await readPatches(
    {
      directory,
      commits: listedOids(list, from, to),
      headersOnly,
      limits: usualPatchLimits,
      stop: context.stop,
    },
    reader,
  );
  if (readCount === 0) throw new TrawlError("git", "no commit was read");
  const large = await largeBlobs.find(directory, context.stop);
  largeFileCount += large.length;
  builder.markTooLarge(large);
  await languages.find(directory, builder, context.stop);
  const shard =
    builder.commitCount === 0
      ? undefined
      : builder.build("without-postings", (byteCount) => Buffer.from(new SharedArrayBuffer(byteCount)));
  return { shard, next: from + readCount, brokenCount, largeFileCount, cutMessageCount };
}
