import { readBlame } from "../../git/history/blame.js";
import { readBlobs } from "../../git/objects/read-blobs.js";
import { readEntries } from "../../git/objects/directories.js";
import type { GitReadAnswer, ReadBlame } from "../../protocol/git-messages.js";
import { mirrorPath, type ReadContext } from "./context.js";
import { blobOptions } from "./files.js";

/** The origin of each line, and the byte offset in the file at which it begins. */
export async function answerBlame(
  { repositoryId, blame }: ReadBlame,
  context: ReadContext,
): Promise<GitReadAnswer<"read-blame">> {
  const mirror = mirrorPath(context, repositoryId);
  const [hunks, startByte] = await Promise.all([
    readBlame(mirror, blame, context.stop),
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
  const [entry] = await readEntries(mirror, commit, [path], context.stop);
  if (entry === null || entry.kind !== "file") return 0;
  let start = 0;
  await readBlobs(blobOptions(mirror, context), [entry.oid], (_, outcome) => {
    if (outcome.kind !== "content") return;
    for (let feeds = 1; feeds < line; feeds++) start = outcome.content.indexOf(lineFeed, start) + 1;
  });
  return start;
}

const lineFeed = 10;
