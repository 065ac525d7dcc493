import { ignoredCommitsPath, parseIgnoredCommits, readBlame } from "../../git/history/blame.js";
import { readBlobs } from "../../git/objects/read-blobs.js";
import { readEntries } from "../../git/objects/directories.js";
import type { GitReadAnswer, ReadBlame } from "../../protocol/git-messages.js";
import { textOfBlob } from "../../indexer/encoding/blob-text.js";
import { mirrorPath, type ReadContext } from "./context.js";
import { blobOptions } from "./files.js";

/**
 * The origin of each line, and the byte offset in the file at which it begins. The commits that the blamed commit's tree
 * lists as ignored are passed over.
 */
export async function answerBlame(
  { repositoryId, blame }: ReadBlame,
  context: ReadContext,
): Promise<GitReadAnswer<"read-blame">> {
  const mirror = mirrorPath(context, repositoryId);
  const ignored = (await withFile(mirror, blame.commit, ignoredCommitsPath, parseIgnoredCommits, context)) ?? [];
  const [hunks, startByte] = await Promise.all([
    readBlame(mirror, blame, ignored, context.stop),
    blame.startLine === 1 ? 0 : byteOfLine(mirror, blame.commit, blame.path, blame.startLine, context),
  ]);
  return { hunks, startByte };
}

async function byteOfLine(
  mirror: string,
  commit: string,
  path: string,
  line: number,
  context: ReadContext,
): Promise<number> {
  return (await withFile(mirror, commit, path, (content) => startOfLine(textOfBlob(content).text, line), context)) ?? 0;
}

function startOfLine(content: Buffer, line: number): number {
  let start = 0;
  for (let feeds = 1; feeds < line; feeds++) start = content.indexOf(lineFeed, start) + 1;
  return start;
}

/** What `use` makes of a file's content; undefined if there is no such file, or if it is too large. */
async function withFile<T>(
  mirror: string,
  commit: string,
  path: string,
  use: (content: Buffer) => T,
  context: ReadContext,
): Promise<T | undefined> {
  const [entry] = await readEntries(mirror, commit, [path], context.stop);
  if (entry === null || entry.kind !== "file") return undefined;
  let result: T | undefined;
  await readBlobs(blobOptions(mirror, context), [entry.oid], (_, outcome) => {
    if (outcome.kind === "content") result = use(outcome.content);
  });
  return result;
}

const lineFeed = 10;
