import { readEntries } from "../../git/directories.js";
import { readBlobs } from "../../git/read-blobs.js";
import type { GitReadAnswer, ReadSubmodules } from "../git-messages.js";
import { mirrorOf, type ReadContext } from "./context.js";
import { blobOptions } from "./files.js";

/** Where `.gitmodules` says that submodules are, by path. */
export async function answerReadSubmodules({ repositoryId, commit }: ReadSubmodules, context: ReadContext): Promise<GitReadAnswer<"read-submodules">> {
  const mirror = mirrorOf(context, repositoryId);
  const [entry] = await readEntries(mirror, commit, [".gitmodules"], context.stop);
  let text = "";
  if (entry?.kind === "file") {
    await readBlobs(blobOptions(mirror, context), [entry.oid], (_, outcome) => {
      if (outcome.kind === "content") text = outcome.content.toString("utf8");
    });
  }
  return { urls: parseSubmodules(text) };
}

/** Sections with `path = …` and `url = …`; what is quoted or continued otherwise is left out. */
function parseSubmodules(text: string): Map<string, string> {
  const sections = text.split(/^\s*\[submodule .*\]\s*$/m).slice(1);
  return new Map(sections.flatMap((section) => {
    const path = /^\s*path\s*=\s*(.+?)\s*$/m.exec(section)?.[1];
    const url = /^\s*url\s*=\s*(.+?)\s*$/m.exec(section)?.[1];
    return path === undefined || url === undefined ? [] : [[path, url] as const];
  }));
}
