import { countFileLines } from "../../git/history/file-diffs.js";
import { fileMode, listTree } from "../../git/objects/objects.js";
import { detectLanguage } from "../../indexer/detect-language.js";
import type { CountLanguages, GitReadAnswer } from "../../protocol/git-messages.js";
import { mirrorPath, type ReadContext } from "./context.js";

/** Languages of a commit's files, by their paths; the one with the most bytes first. */
export async function answerCountLanguages(
  { repositoryId, commit, withLines }: CountLanguages,
  context: ReadContext,
): Promise<GitReadAnswer<"count-languages">> {
  const mirror = mirrorPath(context, repositoryId);
  const [entries, lines] = await Promise.all([
    listTree(mirror, commit, "with-sizes", context.stop),
    withLines ? countFileLines(mirror, commit, context.stop) : new Map<string, number>(),
  ]);
  const counts = new Map<string, { name: string; byteCount: number; lineCount: number }>();
  for (const entry of entries) {
    if (entry.mode === fileMode.symlink || entry.mode === fileMode.gitlink) continue;
    const path = entry.path.toString("utf8");
    const name = detectLanguage(path, noBytes)?.name;
    if (name === undefined) continue;
    const count = counts.get(name) ?? { name, byteCount: 0, lineCount: 0 };
    count.byteCount += entry.size;
    count.lineCount += lines.get(path) ?? 0;
    counts.set(name, count);
  }
  return { languages: [...counts.values()].sort((a, b) => b.byteCount - a.byteCount || (a.name < b.name ? -1 : 1)) };
}

const noBytes = Buffer.alloc(0);
