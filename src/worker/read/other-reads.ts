import type { ReadAnswer, ReadKind, ReadRequest } from "../../protocol/read-messages.js";
import { answerCommitAttributes } from "./commit-attributes.js";
import { type ReadContext, mirrorPath } from "./context.js";
import { answerCompareMatches } from "./compare-matches.js";
import { answerConvertResults } from "./convert-results.js";
import { answerExtractSymbols } from "./symbol-reads.js";
import { answerGitRead } from "./answer-git-read.js";
import { answerHighlightTexts } from "./highlight.js";
import { answerRenderMarkdown } from "./markdown.js";
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

/** The reads that a search of the texts of revisions does not need. */
export type OtherRead = Exclude<
  ReadRequest,
  { readonly kind: "resolve-revisions" | "find-documents" | "cache-documents" }
>;

export async function answerOtherRead(request: OtherRead, context: ReadContext): Promise<ReadAnswer<ReadKind>> {
  switch (request.kind) {
    case "commit-attributes":
      return answerCommitAttributes(request, context);
    case "compare-matches":
      return answerCompareMatches(request, context);
    case "convert-results":
      return answerConvertResults(request, context);
    case "highlight-texts":
      return answerHighlightTexts(request, context);
    case "extract-symbols":
      return answerExtractSymbols(request, context);
    case "render-markdown":
      return answerRenderMarkdown(request);
    case "list-commits":
      return answerListCommits(request, context);
    case "build-history":
      return answerBuildHistory(request, context);
    case "filter-history":
      return answerFilterHistory(request, context);
    default:
      return answerGitRead(request, context);
  }
}

/**
 * A shard is full when its lines and messages have this many bytes. With 16 MiB, reading the history of git's repository takes
 * 80 MiB more memory, since several shards exist at a time, and 6 % less processor time.
 */
const textBytesMax = 4 << 20;

async function answerListCommits(
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

function answerFilterHistory(
  { repositoryId, list, from, to, literals }: FilterHistory,
  context: ReadContext,
): FilteredHistory {
  return { candidates: filterChanges(mirrorPath(context, repositoryId), list, from, to, literals, context.stop) };
}

async function answerBuildHistory(
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
