import { readEntries } from "../../git/objects/directories.js";
import { readBlobs } from "../../git/objects/read-blobs.js";
import type { GitReadAnswer, ReadSubmodules } from "../../protocol/git-messages.js";
import { mirrorPath, type ReadContext } from "./context.js";
import { blobOptions } from "./files.js";
import { parseSubmodules, submodulesBytesMax } from "./parse-submodules.js";

/** The URLs of submodules according to `.gitmodules`, by path; a file larger than `submodulesBytesMax` is ignored. */
export async function answerReadSubmodules(
  { repositoryId, commit }: ReadSubmodules,
  context: ReadContext,
): Promise<GitReadAnswer<"read-submodules">> {
  const mirror = mirrorPath(context, repositoryId);
  const [entry] = await readEntries(mirror, commit, [".gitmodules"], context.stop);
  let text = "";
  if (entry?.kind === "file") {
    await readBlobs(
      { ...blobOptions(mirror, context), contentBytesMax: submodulesBytesMax },
      [entry.oid],
      (_, outcome) => {
        if (outcome.kind === "content") text = outcome.content.toString("utf8");
      },
    );
  }
  return { urls: parseSubmodules(text) };
}
